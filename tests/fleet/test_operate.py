"""S18 to S22, S25, S26, S29: the verbs on a rollout's folder, with real files and a real lock."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from speccompose.errors import (
    DataError,
    ExitStatus,
    LockedError,
    MemoryFitError,
    MismatchError,
    PausedError,
    UsageError,
)
from speccompose.fleet.actions import Now
from speccompose.fleet.again import again, completed, late_boards, standing
from speccompose.fleet.audit import verify
from speccompose.fleet.deadlines import board_call
from speccompose.fleet.drift import check, drift_status, find_drift
from speccompose.fleet.known import KnownBoard, read_known, remembered, write_known
from speccompose.fleet.lock import LOCK, operator_lock, this_process
from speccompose.fleet.operate import (
    Operator,
    Tools,
    carry_out,
    read_state,
    request,
    unfinished,
)
from speccompose.fleet.plan_file import JOURNAL, bundle_hash, rollout_id, write_plan
from speccompose.fleet.requests import Requests, abort_request, ask, pause_request, skip_request
from speccompose.fleet.simulated_board import Trouble
from speccompose.fleet.simulator import NOON
from speccompose.fleet.status import log_rows, rollout_status
from speccompose.vocab.rendered import RenderedFile, RenderedStack
from speccompose.vocab.rollout_plan import BoardRefusal, PlannedBoard
from tests.fleet.histories import KilledError
from tests.fleet.made import NEW, OLD, PLAIN, World, plan, policy, stack

ANA = Operator(actor="ana@control")
GONE = Trouble(away=((0, 10**12),))


def sealed(folder, made):
    """A made-up plan, its bundles and ids as a real one has them."""
    rendered, stacks, names = {}, {}, {}
    for name, item in made.stacks.items():
        file = RenderedFile(path="compose.yaml", content=name.encode())
        folder_of = RenderedStack(name="chat", digest=item.digest, files=(file,))
        names[name] = bundle_hash(folder_of)
        rendered[names[name]] = folder_of
    for name, item in made.stacks.items():
        fallback = names.get(item.fallback) if item.fallback else None
        stacks[names[name]] = replace(item, bundle=names[name], fallback=fallback)
    boards = tuple(
        replace(board, stack=names[board.stack]) if board.stack in names else board
        for board in made.boards
    )
    made = replace(made, stacks=stacks, boards=boards)
    made = replace(made, rollout=rollout_id(made))
    return write_plan(folder / "rollouts", made, rendered), made


class Site:
    """A folder with a sealed plan, and a world of simulated boards for it."""

    def __init__(self, folder, made, troubles=None):
        self.folder, self.plan = sealed(folder, made)
        self.world = World(self.plan, troubles)

    def tools(self, **more):
        return Tools(engine=self.world.engine, clock=self.world.clock, nap_s=60.0, **more)

    def do(self, verb, **more):
        return carry_out(self.folder, verb, ANA, self.tools(**more))

    @property
    def state(self):
        return read_state(self.folder)

    @property
    def phases(self):
        return {name: board.phase for name, board in self.state.boards.items()}


def killer(lines):
    left = [lines]

    def watcher(entry):
        left[0] -= 1
        if not left[0]:
            raise KilledError

    return watcher


def test_s29_a_rollout_that_goes_through_ends_with_0(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"))
    assert site.do("run") == ExitStatus.DONE
    assert site.world.serving() == {"a1": NEW, "a2": NEW}
    assert verify(site.folder / JOURNAL, rollout=site.plan.rollout).ended
    known = read_known(site.folder.parent)
    assert known.last == site.plan.rollout
    assert known.boards["a1"].digest == NEW
    assert known.boards["a1"].had == ("chat",)


STATUSES = {
    0: {},
    10: {"a1": Trouble(bad={NEW: "health"})},
    11: {"a1": GONE},
    13: {"a5": GONE},
    14: {"a1": Trouble(bad={NEW: "health"}, stuck=True)},
}


@pytest.mark.parametrize("status", STATUSES)
def test_s29_each_end_has_its_status(tmp_path, status):
    site = Site(tmp_path, plan("a1", "a2 a3 a4 a5 a6"), STATUSES[status])
    assert site.do("run") == status


def test_s29_12_is_a_locked_fleet(tmp_path):
    site = Site(tmp_path, plan("a1"))
    other = this_process("r-other", "canary", "noon")
    with operator_lock(site.folder.parent, other), pytest.raises(LockedError) as caught:
        site.do("run")
    assert caught.value.status == ExitStatus.LOCKED
    assert not (site.folder / JOURNAL).exists()


def test_s29_19_is_a_changed_plan(tmp_path):
    site = Site(tmp_path, plan("a1"))
    path = site.folder / "plan.json"
    path.write_bytes(path.read_bytes().replace(b"a1", b"a2", 1))
    with pytest.raises(MismatchError):
        site.do("run")
    assert not site.world.touched()


@pytest.mark.parametrize("lines", [1, 2, 5, 13, 21, 30])
def test_s19_a_killed_controller_is_resumed_from_its_files(tmp_path, lines):
    site = Site(tmp_path, plan("a1 b1", "a2"))
    with pytest.raises(KilledError):
        site.do("run", watcher=killer(lines))
    with pytest.raises(PausedError) as caught:
        site.do("run")
    assert caught.value.code == "rollout_begun"
    assert site.do("resume") == ExitStatus.DONE
    assert site.world.starts() == 1
    verify(site.folder / JOURNAL)


def test_s19_what_was_begun_and_not_ended_keeps_others_from_starting(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"))
    with pytest.raises(KilledError):
        site.do("run", watcher=killer(9))
    other = Site(tmp_path, plan("a1", "a2", counter=2))
    assert other.folder != site.folder
    assert unfinished(site.folder.parent) == (site.folder,)
    with pytest.raises(PausedError) as caught:
        other.do("run")
    assert caught.value.code == "rollout_open"
    assert site.do("abort") == ExitStatus.ROLLOUT_HALTED
    assert unfinished(site.folder.parent) == ()
    assert other.do("run") == ExitStatus.DONE


def test_s20_a_lock_whose_owner_died_is_taken_over_and_that_is_journaled(tmp_path):
    site = Site(tmp_path, plan("a1"))
    dead = replace(this_process("r-x", "canary", "noon"), pid=2**22 + 7, user="ben")
    lock = site.folder.parent / "lock.json"
    lock.write_text(json.dumps({name: getattr(dead, name) for name in dead.__struct_fields__}))
    with pytest.raises(LockedError):
        site.do("run")
    taking = replace(ANA, take_over=True)
    assert carry_out(site.folder, "run", taking, site.tools()) == ExitStatus.DONE
    first = verify(site.folder / JOURNAL).entries[0]
    assert first.event == "took_over"
    assert "ben@" in first.reason


def test_s22_requests_reach_the_controller_that_runs(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"))
    asked = []

    def watcher(entry):
        if entry.event == "baking" and not asked:
            asked.append(request(site.folder, pause_request("ben"), ANA, site.world.clock))

    assert site.do("run", watcher=watcher) == ExitStatus.PAUSED
    assert asked == [True]
    pausing = [e for e in verify(site.folder / JOURNAL).entries if e.event == "pausing"]
    assert [entry.actor for entry in pausing] == ["ben"]
    assert site.do("resume") == ExitStatus.DONE


def test_s22_pausing_what_nobody_carries_out_changes_nothing(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"))
    with pytest.raises(KilledError):
        site.do("run", watcher=killer(7))
    before = (site.folder / JOURNAL).read_bytes()
    assert request(site.folder, pause_request("ana"), ANA, site.world.clock) is False
    assert (site.folder / JOURNAL).read_bytes() == before


def test_s22_a_skip_is_journaled_when_nothing_runs(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"), {"a1": GONE})
    assert site.do("run") == ExitStatus.PAUSED
    assert request(site.folder, skip_request("ana", "a1"), ANA, site.world.clock) is False
    assert site.phases["a1"] == "skipped"
    assert site.do("resume") == ExitStatus.DONE
    with pytest.raises(UsageError) as caught:
        request(site.folder, skip_request("ana", "a2"), ANA, site.world.clock)
    assert caught.value.code == "not_skippable"
    with pytest.raises(UsageError):
        request(site.folder, skip_request("ana", "nobody"), ANA, site.world.clock)
    with pytest.raises(UsageError):
        request(site.folder, pause_request("ana"), ANA, site.world.clock)
    running = this_process(site.folder.name, "run", "now")
    with operator_lock(site.folder.parent, running, take_over=False):
        for board, code in (("a2", "not_skippable"), ("nobody", "no_board")):
            with pytest.raises(UsageError) as caught:
                request(site.folder, skip_request("ana", board), ANA, site.world.clock)
            assert caught.value.code == code, "also when a controller would be asked"


@pytest.mark.parametrize("verb", ["resume", "abort", "rollback"])
def test_verbs_without_a_rollout_to_act_on_are_refused(tmp_path, verb):
    site = Site(tmp_path, plan("a1"))
    with pytest.raises(UsageError) as caught:
        site.do(verb)
    assert caught.value.code == "rollout_state"


def test_s11_a_rollout_that_went_through_is_rolled_back_as_a_whole(tmp_path):
    site = Site(tmp_path, plan("a1", "a2 a3"))
    assert site.do("run") == ExitStatus.DONE
    assert site.do("rollback") == ExitStatus.DONE
    assert set(site.world.serving().values()) == {OLD}
    assert read_known(site.folder.parent).boards["a1"].digest is None
    with pytest.raises(UsageError):
        site.do("rollback")
    assert not completed(site.state)


def test_s11_a_run_that_changed_nobody_has_nothing_to_take_back_and_says_so(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"))
    assert site.do("run") == site.do("run") == ExitStatus.DONE
    with pytest.raises(UsageError) as caught:
        site.do("rollback")
    assert caught.value.code == "nothing_brought"
    assert site.state.mode == "finished"
    assert set(site.world.serving().values()) == {NEW}


def test_only_the_last_release_is_rolled_back(tmp_path):
    first, second = Site(tmp_path, plan("a1")), Site(tmp_path, plan("a1", counter=2))
    assert first.do("run") == ExitStatus.DONE
    assert second.do("run") == ExitStatus.DONE
    with pytest.raises(UsageError) as caught:
        first.do("rollback")
    assert caught.value.code == "not_the_last"


def test_a_plan_that_refuses_boards_is_run_only_when_the_policy_lets_it(tmp_path):
    refusal = BoardRefusal(status=6, code="memory", message="too big")
    made = plan("a1")
    boards = (*made.boards, PlannedBoard(id="x", address="x", refusal=refusal))
    site = Site(tmp_path, replace(made, boards=boards))
    with pytest.raises(MemoryFitError) as caught:
        site.do("run")
    assert caught.value.code == "boards_refused"
    allowing = replace(made, boards=boards, policy=policy(allow_refused=True))
    assert Site(tmp_path, allowing).do("run") == ExitStatus.DONE


def test_a_board_that_was_made_fit_is_taken_up_by_resume(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"), {"a1": Trouble(unfit="disk")})
    assert site.do("run") == ExitStatus.PAUSED
    site.world.engine.boards["a1"].trouble.unfit = None
    assert site.do("resume") == ExitStatus.DONE


def test_s11_a_rollback_that_a_board_misses_is_incomplete(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"))
    assert site.do("run") == ExitStatus.DONE
    site.world.engine.boards["a2"].trouble.away = ((0, 10**12),)
    assert site.do("rollback") == ExitStatus.ROLLBACK_INCOMPLETE
    assert site.phases == {"a1": "reverted", "a2": "unreverted"}


def test_s18_late_boards_catch_up_with_the_last_completed_release(tmp_path):
    site = Site(tmp_path, plan("a1", "a2 a3 a4 a5 b1"), {"a3": GONE, "b1": GONE})
    rules = replace(site.plan.policy.waves[1], min_done_pct=50)
    made = replace(site.plan, policy=replace(site.plan.policy, waves=(policy().waves[0], rules)))
    site = Site(tmp_path, made, {"a3": GONE, "b1": GONE})
    assert site.do("run") == ExitStatus.PENDING
    assert late_boards(site.state) == ("a3", "b1")
    late = again(site.state, late_boards(site.state), "catch-up")
    assert late.kind == "catch-up"
    assert late.counter == site.plan.counter
    assert set(late.waves[0].boards) == {"a3", "b1"}  # the canary holds every class that is late
    assert rollout_id(late) == late.rollout != site.plan.rollout
    world = World(late)
    assert world.run() == ExitStatus.DONE


def test_s18_a_halted_release_is_never_applied_again(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"), {"a1": Trouble(bad={NEW: "health"})})
    assert site.do("run") == ExitStatus.ROLLOUT_HALTED
    with pytest.raises(UsageError) as caught:
        again(site.state, ("a2",), "catch-up")
    assert caught.value.code == "release_not_completed"
    assert read_known(site.folder.parent).last is None


def test_s18_catch_up_keeps_what_the_canary_found(tmp_path):
    stacks = {NEW: stack(accept=True), PLAIN: stack(PLAIN, method="none")}
    troubles = {"a1": Trouble(verdicts={NEW: "rejected"}), "a3": GONE, "b9": GONE}
    site = Site(tmp_path, plan("a1 b1", "a2 a3 a4 a5 a6 a7 b2 b3 b4 b9", stacks=stacks), troubles)
    assert site.do("run") == ExitStatus.PENDING
    late = again(site.state, ("a3", "b9"), "catch-up")
    gets = {board.id: late.stacks[board.stack] for board in late.boards}
    assert gets["a3"].digest == PLAIN
    assert gets["b9"].digest == NEW
    assert not gets["b9"].accept
    assert gets["b9"].accepted_length == 3.0
    weak = World(late, {"b9": Trouble(lengths={NEW: 2.0})})
    assert weak.run() == ExitStatus.ROLLOUT_HALTED
    assert weak.reasons["b9"] == "low_acceptance"


def test_nothing_left_to_catch_up_is_told(tmp_path):
    site = Site(tmp_path, plan("a1"))
    assert site.do("run") == ExitStatus.DONE
    with pytest.raises(UsageError) as caught:
        again(site.state, late_boards(site.state), "catch-up")
    assert caught.value.code == "nothing_left"


def calls_of(state):
    return [board_call(state, board) for board in state.boards.values()]


def test_s25_drift_is_told_per_board_and_has_its_status(tmp_path):
    site = Site(tmp_path, plan("a1", "a2 a3"))
    assert site.do("run") == ExitStatus.DONE
    rows = find_drift(calls_of(site.state), site.world.engine)
    assert drift_status(rows) == ExitStatus.DONE
    boards = site.world.engine.boards
    boards["a2"].digest = OLD
    boards["a3"].trouble.restarts_at = site.world.clock.t
    rows = {row.board: row for row in find_drift(calls_of(site.state), site.world.engine)}
    assert drift_status(rows.values()) == ExitStatus.DRIFT
    assert rows["a1"].kind == "same"
    assert rows["a2"].lines == (f"runs {OLD}",)
    assert rows["a3"].lines == ("restarted 1 times",)
    boards["a2"].digest = NEW
    boards["a3"].trouble = GONE
    rows = find_drift(calls_of(site.state), site.world.engine)
    assert drift_status(rows) == ExitStatus.PENDING


def test_s25_repair_is_the_same_release_through_the_same_gates(tmp_path):
    site = Site(tmp_path, plan("a1", "a2 a3"))
    site.do("run")
    site.world.engine.boards["a2"].digest = OLD
    repair = again(site.state, ("a2",), "repair")
    assert [board.id for board in repair.boards] == ["a2"]
    assert repair.waves[0].name == "canary"


def test_s26_a_dry_run_only_probes_and_says_what_would_happen(tmp_path):
    troubles = {"a2": Trouble(unfit="disk"), "a3": GONE, "a4": Trouble(hold_until=10**12)}
    world = World(plan("a1", "a2 a3 a4 a5"), troubles)
    world.engine.boards["a5"].digest = NEW
    rows = {row.board: row for row in check(world.plan, world.engine, Now(t=0, wall=NOON))}
    assert {name: row.phase for name, row in rows.items()} == {
        "a1": "ready",
        "a2": "ineligible",
        "a3": "unreached",
        "a4": "deferred",
        "a5": "already",
    }
    assert (rows["a1"].before, rows["a1"].after) == (OLD, NEW)
    assert rows["a2"].lines[0].startswith("disk")
    assert {call.kind for call in world.engine.log} == {"probe"}


def test_the_status_counts_and_names_everything(tmp_path):
    site = Site(tmp_path, plan("a1 b1", "a2 a3"), {"a3": Trouble(bad={NEW: "health"})})
    status = site.do("run")
    shown = rollout_status(site.state)
    assert shown.status == status
    assert [(wave.name, wave.total) for wave in shown.waves] == [("canary", 2), ("rest", 2)]
    assert shown.waves[0].stage == "promoted"
    rows = {row.id: row for row in shown.boards}
    assert rows["a3"].reason == "health"
    assert rows["a1"].method == "mtp"
    log = log_rows(verify(site.folder / JOURNAL).entries, site.state)
    assert {row.event for row in log} >= {"opened", "wave", "board", "baking", "promoted"}
    assert all(row.event not in ("seen", "missed") for row in log)
    assert any(row.change == "applying -> unconfirmed" for row in log)


def test_the_status_of_a_bake_says_how_long_it_goes_on(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"))

    def watcher(entry):
        if entry.event == "baking":
            raise KilledError

    with pytest.raises(KilledError):
        site.do("run", watcher=watcher)
    shown = rollout_status(site.state)
    assert shown.waves[0].stage == "baking"
    assert shown.eta_s == 1800
    assert shown.waves[1].stage == "waiting"


def test_refused_boards_are_shown_with_their_reason(tmp_path):
    refusal = BoardRefusal(status=4, code="board", message="no board\nsecond line")
    made = plan("a1")
    boards = (*made.boards, PlannedBoard(id="x", address="x", refusal=refusal))
    state = World(replace(made, boards=boards)).journal.state
    rows = {row.id: row for row in rollout_status(state).boards}
    assert (rows["x"].phase, rows["x"].reason) == (None, "no board")


def test_what_is_known_survives_its_file_and_forgets_what_was_taken_back(tmp_path):
    world = World(plan("a1", "a2"))
    world.run()
    known = remembered(read_known(tmp_path), world.journal.state)
    write_known(tmp_path, known)
    assert read_known(tmp_path) == known
    assert known.boards["a1"] == KnownBoard(digest=NEW, rollout="r-test", had=("chat",))
    assert known.counter == 1


def test_an_unreadable_memory_is_told(tmp_path):
    (tmp_path / "boards.json").write_text("{")
    with pytest.raises(DataError):
        read_known(tmp_path)


def test_requests_left_behind_reach_nobody_twice(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"))
    assert Requests(site.folder)() == ()
    assert site.do("run") == ExitStatus.DONE


def test_s18_catch_up_gives_no_board_what_its_canary_rejected(tmp_path):
    """A board of the canary's wave that was unfit when the other one's measurement failed."""
    stacks = {NEW: stack(accept=True), PLAIN: stack(PLAIN, method="none")}
    rules = policy(waves=(replace(policy().waves[0], per_class=2, min_done_pct=0),))
    troubles = {"a1": Trouble(verdicts={NEW: "rejected"}), "a2": Trouble(unfit="disk_full")}
    site = Site(tmp_path, plan("a1 a2", stacks=stacks, rules=rules), troubles)
    assert site.do("run") == ExitStatus.PENDING
    late = again(site.state, ("a2",), "catch-up")
    (board,) = late.boards
    assert late.stacks[board.stack].digest == PLAIN


def test_s25_what_followed_a_release_up_is_part_of_it(tmp_path):
    site = Site(tmp_path, plan("a1", "a2 a3 a4 a6 a7 a8 a9 a0 a5"), {"a5": GONE})
    assert site.do("run") == ExitStatus.PENDING
    release = site.state
    before = set(standing([release]))
    assert "a5" not in before
    late = World(again(release, late_boards(release), "catch-up"))
    assert late.run() == ExitStatus.DONE
    follow = late.journal.state
    found = standing([release, follow])
    assert (set(found), found["a5"], found["a1"]) == (before | {"a5"}, follow, release)
    known = remembered(remembered(read_known(tmp_path), release), follow)
    assert known.last == release.plan.rollout, "a catch-up brings no other release"


def test_s22_what_was_asked_of_a_run_that_has_ended_is_not_asked_of_the_next(tmp_path):
    site = Site(tmp_path, plan("a1"))
    assert site.do("run") == ExitStatus.DONE
    ask(site.folder, abort_request("ben", "too late"))
    assert site.do("run") == ExitStatus.DONE
    assert not list((site.folder / "requests").glob("*.json"))


def test_s20_an_abort_from_a_dead_controller_says_from_whom(tmp_path):
    site = Site(tmp_path, plan("a1", "a2"))
    with pytest.raises(KilledError):
        site.do("run", watcher=killer(6))
    dead = replace(this_process("r-x", "run", ""), pid=2**22 + 7)
    (site.folder.parent / LOCK).write_bytes(msgspec.json.encode(dead))
    taking = replace(ANA, take_over=True)
    carry_out(site.folder, "abort", taking, site.tools())
    lines = [json.loads(line) for line in (site.folder / JOURNAL).read_text().splitlines()]
    assert any(line.get("entry", line).get("event") == "took_over" for line in lines)


def test_s28_an_older_release_goes_out_only_where_somebody_says_so(tmp_path):
    site = Site(tmp_path, plan("a1"))
    site.do("run")
    (board,) = site.state.boards.values()
    assert not board_call(site.state, board).allow_downgrade
    carry_out(site.folder, "run", replace(ANA, allow_downgrade=True), site.tools())
    (board,) = site.state.boards.values()
    assert board_call(site.state, board).allow_downgrade


def test_why_somebody_did_it_stands_in_the_journal(tmp_path):
    site = Site(tmp_path, plan("a1"))
    carry_out(site.folder, "run", replace(ANA, reason="ticket 7"), site.tools())
    carry_out(site.folder, "rollback", replace(ANA, reason="ticket 8"), site.tools())
    lines = [json.loads(line) for line in (site.folder / JOURNAL).read_text().splitlines()]
    entries = [line.get("entry", line) for line in lines]
    told = {entry["event"]: entry["reason"] for entry in entries if "ticket" in str(entry)}
    assert told == {"opened": "ticket 7", "resumed": "ticket 8"}
