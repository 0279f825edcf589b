"""`fleet run` and what follows it: refusals and statuses of the verbs that change boards.

Boards are simulated up to where a verb comes in; what the verb itself then does needs no board.
"""

import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from speccompose.fleet.lock import LOCK, operator_lock, this_process
from speccompose.fleet.operate import read_state
from tests.cli.fleet_folder import GONE, failing, fleet_text, killed_at, simulated
from tests.cli.harness import assert_refusal_shape

CHANGING = ("run", "abort", "rollback", "catch-up")


@pytest.fixture
def rollout(cli):
    """A sealed rollout of four boards that nobody has begun."""
    (cli.here / "fleet.yaml").write_text(fleet_text())
    assert cli("fleet", "plan").status == 0
    (folder,) = (cli.here / "rollouts").glob("r-*")
    return folder


def phases(folder):
    return {name: board.phase for name, board in read_state(folder).boards.items()}


def refused(answer, status, *words):
    assert answer.status == status, answer
    assert all(word in answer.err for word in words), answer.err
    assert_refusal_shape(answer.err)


@contextmanager
def locked(folder, **changes) -> Iterator[None]:
    """Somebody else carries this rollout out."""
    owner = msgspec.structs.replace(this_process(folder.name, "canary", "noon"), **changes)
    with operator_lock(folder.parent, owner):
        yield


@pytest.mark.parametrize("verb", CHANGING)
def test_without_yes_and_a_terminal_nothing_is_changed(cli, rollout, verb):
    if verb != "run":
        simulated(rollout, troubles={"a3": GONE})
    before = sorted(str(path) for path in rollout.rglob("*"))
    answer = cli("fleet", verb, *(("--rollout", rollout.name) if verb == "abort" else ()))
    refused(answer, 2, "--yes")
    assert sorted(str(path) for path in rollout.rglob("*")) == before


def test_somebody_at_a_terminal_is_asked_and_can_say_no(cli, rollout):
    master, slave = pty.openpty()
    os.write(master, b"n\n")
    kept = sys.stdin
    with os.fdopen(slave, "r") as terminal:
        sys.stdin = terminal
        try:
            answer = cli("fleet", "run")
        finally:
            sys.stdin = kept
    os.close(master)
    assert answer.status == 130
    assert f"roll {rollout.name} out to 4 boards?" in answer.err
    assert "nothing was changed" in answer.err
    assert not (rollout / "journal.jsonl").exists()


@pytest.mark.parametrize("verb", ["catch-up", "rollback", "repair"])
def test_s29_11_an_open_rollout_comes_before_what_follows_an_older_one(cli, rollout, verb):
    assert simulated(rollout, watcher=killed_at("promoted", 0)) is None
    refused(cli("fleet", verb, "--yes"), 11, rollout.name, "resume")


def test_a_rollout_whose_controller_died_says_who_goes_on(cli, rollout):
    assert simulated(rollout, watcher=killed_at("promoted", 0)) is None
    assert "next: fleet resume --take-over" in cli("fleet", "status").out
    with locked(rollout):
        assert "next:" not in cli("fleet", "status").out


def test_s29_11_one_that_has_begun_is_resumed_and_not_run_again(cli, rollout):
    assert simulated(rollout, watcher=killed_at("promoted", 0)) is None
    refused(cli("fleet", "run", "--yes"), 11, "has begun already", "resume")


def test_s29_11_a_rollout_beside_one_that_is_not_over(cli, rollout):
    assert simulated(rollout, troubles={"off": GONE}) == 11
    (cli.here / "fleet.yaml").write_text(fleet_text(3))
    refused(cli("fleet", "run", "--yes"), 11, "another rollout", rollout.name)


def test_s29_10_an_abort_by_hand(cli, rollout):
    assert simulated(rollout, troubles={"off": GONE}) == 11
    answer = cli("fleet", "abort", "--yes", "--reason", "wrong model")
    assert answer.status == 10, answer
    assert "halted, and rolled back" in answer.out
    assert phases(rollout)["a4"] in ("waiting", "untouched")
    refused(cli("fleet", "resume"), 2, "nothing to resume", "finished")
    refused(cli("fleet", "abort", "--yes"), 2, "nothing to abort")
    refused(cli("fleet", "catch-up", "--yes", "--rollout", rollout.name), 2, "did not go through")


def test_s29_13_a_resumed_end_with_a_board_that_never_came(cli, rollout):
    troubles = {"a3": GONE}
    assert simulated(rollout, troubles=troubles, watcher=killed_at("promoted", 1)) is None
    answer = cli("fleet", "resume", "--json")
    assert answer.status == 13, answer
    assert answer.json["status"] == 13
    assert phases(rollout)["a3"] == "pending"
    refused(cli("fleet", "catch-up"), 2, "bring 1 board")


def test_s29_14_a_board_that_could_not_be_taken_back(cli, rollout):
    stuck = {"off": failing(rollout, stuck=True)}
    assert simulated(rollout, troubles=stuck, watcher=killed_at("aborting")) is None
    answer = cli("fleet", "resume")
    assert answer.status == 14, answer
    assert "not every board could be rolled back" in answer.out
    assert phases(rollout)["off"] == "stuck"


def test_s29_0_a_resumed_end_where_all_is_well(cli, rollout):
    assert simulated(rollout, watcher=killed_at("promoted", 1)) is None
    answer = cli("fleet", "resume", "--json")
    assert answer.status == 0, answer
    told = [msgspec.json.decode(line)["event"] for line in answer.err.splitlines()]
    assert told == ["resumed", "finished"]
    assert answer.json["mode"] == "finished"


@pytest.mark.parametrize("verb", ["run", "resume", "abort", "rollback", "catch-up", "skip"])
def test_s20_12_two_operators(cli, rollout, verb):
    simulated(rollout, troubles={"a3": GONE})
    words = {"skip": ("fleet.yaml", "a4"), "resume": ()}.get(verb, ("--yes",))
    named = () if verb == "run" else ("--rollout", rollout.name)
    with locked(rollout, user="ben", rollout="r-other"):
        answer = cli("fleet", verb, *words, *named, "--take-over")
    refused(answer, 12, "ben@", "r-other")
    assert not (rollout.parent / LOCK).exists()


def test_s20_a_lock_whose_owner_died_is_taken_only_when_asked(cli, rollout):
    simulated(rollout, watcher=killed_at("promoted", 1))
    with locked(rollout, user="ben", pid=2**22 + 7):
        refused(cli("fleet", "resume"), 12, "--take-over")
        assert cli("fleet", "resume", "--take-over").status == 0
    assert "ben@" in cli("fleet", "audit").out


def test_s20_a_lock_of_another_machine(cli, rollout):
    simulated(rollout, watcher=killed_at("promoted", 1))
    with locked(rollout, host="elsewhere"):
        refused(cli("fleet", "resume"), 12, "make sure on elsewhere")


def test_s22_requests_are_left_for_the_controller_that_runs(cli, rollout):
    simulated(rollout, troubles={"off": GONE})
    with locked(rollout):
        pause = cli("fleet", "pause")
        skip = cli("fleet", "skip", "a3")
        abort = cli("fleet", "abort", "--yes")
        refused(cli("fleet", "skip", "nobody"), 2, "no board nobody")
    assert (pause.status, skip.status, abort.status) == (0, 0, 0)
    assert "will pause" in pause.out
    assert "a3 will be skipped" in skip.out
    assert "will stop and take back" in abort.out
    assert len(list((rollout / "requests").glob("*.json"))) == 3


def test_s22_with_no_controller_a_skip_is_journaled_and_a_pause_is_nothing(cli, rollout):
    simulated(rollout, watcher=killed_at("promoted", 0))
    paused = cli("fleet", "pause")
    assert (paused.status, "nothing to pause" in paused.out) == (0, True)
    skipped = cli("fleet", "skip", "fleet.yaml", "a3", "--reason", "on loan")
    assert (skipped.status, "a3 is skipped" in skipped.out) == (0, True)
    assert phases(rollout)["a3"] == "skipped"
    refused(cli("fleet", "skip", "off"), 2, "cannot be skipped any more")
    refused(cli("fleet", "skip", "nobody"), 2, "no board nobody")
    refused(cli("fleet", "skip", "a", "b", "c"), 2, "one board")
    simulated(rollout, "resume")
    refused(cli("fleet", "pause"), 2, "nothing to pause")


def test_nothing_is_left_to_catch_up(cli, rollout):
    assert simulated(rollout) == 0
    refused(cli("fleet", "catch-up", "--yes"), 2, "no board", "left to catch-up")
    refused(cli("fleet", "run", "--rollout", "x"), 2, "no rollout x")


def test_s01_a_reviewed_plan_is_run_unless_the_fleet_has_changed(cli, rollout):
    (cli.here / "fleet.yaml").write_text(fleet_text(3))
    refused(cli("fleet", "run", "--yes", "--rollout", rollout.name), 19, "gone: ")


def test_only_the_last_release_is_taken_back(cli, rollout):
    assert simulated(rollout) == 0
    (cli.here / "fleet.yaml").write_text(fleet_text(3))
    cli("fleet", "plan")
    newer = next(p for p in rollout.parent.glob("r-*") if p != rollout)
    assert simulated(newer) == 0
    refused(
        cli("fleet", "rollback", "--yes", "--rollout", rollout.name), 2, f"that is {newer.name}"
    )
