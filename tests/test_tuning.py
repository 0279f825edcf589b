"""`tune` end to end: plans, arms, load, search, choice, and what follows; only Docker is a fake."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from speccompose.device import state
from speccompose.device.command import Completed
from speccompose.device.measured_stack import Prompts
from speccompose.device.paths import StackPaths
from speccompose.errors import DeployError, UsageError
from speccompose.serving import plan_here
from speccompose.tuning import STATUS, tune_here
from speccompose.tuning_session import Wanted
from speccompose.vocab.tuning_result import TuneLimits, TuningResult
from speccompose.world.kept_results import load_tuning
from speccompose.world.onboard import roots
from speccompose.world.result_store import read_results
from tests.docker.stacks import free_port
from tests.serving_board import ROOT, ServingBoard, serving_board
from tests.tuning_board import SPEEDS, VIRTUAL, answering, script_at
from tests.virtual_load import at

__all__ = ["serving_board"]

NAME = "smollm2-135m"
QUICK = Wanted(quick=True, other=at(VIRTUAL))
BY_THE_CLOCK = Wanted(quick=True, prompts=Prompts(requests=1))


@pytest.fixture
def tuned_board(serving_board: ServingBoard):
    """The demo's stack, deployed at depth 4, whose containers answer as the curve says."""
    board = answering(serving_board)
    board.port = free_port()
    board.deploy(port=board.port, method="draft_model")
    board.docker.starts.clear()
    yield board
    board.docker.close()


def tune(board, wanted=QUICK):
    return tune_here(NAME, board.here, wanted)


def command_now(board):
    (container,) = board.docker.containers.values()
    return container["Config"]["Cmd"]


def test_the_best_depth_is_found_kept_and_known_to_the_next_plan(tuned_board):
    """Speeds fall from depth 2 on; the search starts at 4, where it serves."""
    planned = command_now(tuned_board)
    done = tune(tuned_board)
    result = done.result
    assert (result.outcome, result.depth, done.status) == ("chosen", 2, 0), result.reasons
    assert result.order[:2] == (4, 0), "what serves already comes first and needs no restart"
    assert tuned_board.docker.starts[0] == 0
    assert 2 * len(result.order) <= len(result.curve), "at most half of a sweep's runs"
    assert command_now(tuned_board) == planned, "the stack is back as planned"
    assert done.deployed is None
    paths = StackPaths(NAME, roots(tuned_board.here.settings))
    assert state.load(paths).phase == state.COMMITTED
    check_artifacts(tuned_board, result)
    check_next_plan(tuned_board)


def check_artifacts(board, result):
    """Every depth has a folder of its own, and the result is on the disk."""
    (session,) = (board.state / "stacks" / NAME / "tune").iterdir()
    assert result.artifacts == str(session)
    folders = sorted(path.name for path in session.glob("depth-*"))
    assert folders == sorted(f"depth-{depth}" for depth in result.order)
    kept = load_tuning(session)
    assert kept == result
    assert kept.subject.stack == NAME
    assert kept.commands["measure"].startswith(f"speccompose tune {NAME} --yes --fresh")
    assert all(point.runs for point in kept.curve if point.measured)
    assert {level.concurrency for point in kept.curve for level in point.levels} == {1, 8}


def check_next_plan(board):
    (stored,) = read_results(board.state)
    assert (stored.depth, stored.tuned.concurrency) == (2, 1)
    plan = plan_here(board.request(port=board.port), board.board(), board.here)
    assert plan.speculation.depth == 2
    assert plan.speculation.reason.startswith("measured here: tuned, +")
    assert any(each.rule.startswith("tune chose it") for each in plan.speculation.decisions)
    named = plan_here(board.request(depth=4), board.board(), board.here)
    assert named.speculation.depth == 4, "what the user names stays"
    busier = plan_here(board.request(concurrency=4), board.board(), board.here)
    assert busier.speculation.depth == 4, "a depth was chosen at one concurrency only"


def test_an_exhaustive_search_finds_the_same(tuned_board):
    depths = (1, 2, 3, 4)
    wanted = msgspec.structs.replace(QUICK, depths=depths, exhaustive=True)
    result = tune(tuned_board, wanted).result
    assert (result.depth, set(result.order)) == (2, {0, *depths})
    assert result.exhaustive


def test_apply_deploys_the_depth_through_the_usual_path(tuned_board):
    wanted = msgspec.structs.replace(QUICK, apply=True, depths=(2, 4))
    done = tune(tuned_board, wanted)
    assert done.deployed.changed
    assert done.result.applied == done.deployed.digest
    command = command_now(tuned_board)
    assert command[command.index("--spec-draft-n-max") + 1] == "2"
    assert done.deployed.proof.drafts
    tuned_board.docker.starts.clear()
    again = tune(tuned_board, wanted)
    assert all(point.reused for point in again.result.curve if point.measured), (
        "another release of the same build and weights: what its commands gave still holds"
    )
    assert (again.deployed.changed, tuned_board.docker.starts) == (False, [])


def test_a_baseline_that_wins_is_applied_and_known_to_the_next_plan(tuned_board):
    tuned_board.docker.scripts = lambda depth: script_at(
        depth, rates={1: 2000.0 if depth == 0 else 900.0, 8: 5000.0}
    )
    tuned_board.docker.serve(4, command_now(tuned_board))
    done = tune(tuned_board, msgspec.structs.replace(QUICK, apply=True))
    assert (done.result.outcome, done.result.depth, done.status) == ("none", 0, 0)
    assert "--spec-type" not in command_now(tuned_board)
    plan = plan_here(tuned_board.request(), tuned_board.board(), tuned_board.here)
    assert plan.speculation.method is None
    assert "draft_model rejected" in plan.speculation.reason


def test_a_search_with_limits_of_its_own_is_no_rule_for_others(tuned_board):
    limits = TuneLimits(memory_mib=10**9)
    tune(tuned_board, msgspec.structs.replace(QUICK, limits=limits, depths=(2, 4)))
    assert read_results(tuned_board.state) == ()


def test_what_some_depths_say_is_no_rule_for_the_method(tuned_board):
    rates = {0: 2000.0, 4: 900.0}
    tuned_board.docker.scripts = lambda depth: script_at(
        depth, rates={1: rates[depth], 8: 4 * rates[depth]}
    )
    tuned_board.docker.serve(4, command_now(tuned_board))
    result = tune(tuned_board, msgspec.structs.replace(QUICK, depths=(4,))).result
    assert (result.outcome, result.depth) == ("none", 0)
    assert read_results(tuned_board.state) == ()


def test_a_docker_that_starts_nothing_says_nothing_of_a_depth(tuned_board):
    compose = tuned_board.docker.compose

    def down_for_two(words):
        texts = [Path(word).read_text() for word in words if Path(word).is_file()]
        if "up" in words and len(texts) > 1 and '"2"' in texts[-1]:
            said = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock"
            return Completed(tuple(words), 1, "", said)
        return compose(words)

    tuned_board.docker.compose = down_for_two
    done = tune(tuned_board, msgspec.structs.replace(QUICK, depths=(2, 4), exhaustive=True))
    assert (done.result.outcome, done.status) == ("invalid", 11)
    assert read_results(tuned_board.state) == ()


def test_nothing_within_the_limits(tuned_board):
    limits = TuneLimits(tpot_ms=0.001)
    done = tune(
        tuned_board, msgspec.structs.replace(QUICK, limits=limits, depths=(2, 4), apply=True)
    )
    assert (done.result.outcome, done.status, done.deployed) == ("out_of_limits", 9, None)


def test_a_second_search_takes_everything_over_and_interrupts_nothing(tuned_board):
    wanted = msgspec.structs.replace(QUICK, depths=(4,))
    first = tune(tuned_board, wanted).result
    tuned_board.docker.starts.clear()
    again = tune(tuned_board, wanted).result
    assert tuned_board.docker.starts == []
    assert (again.depth, again.order) == (first.depth, first.order)
    assert all(point.reused for point in again.curve if point.measured)
    assert any("taken over" in reason for reason in again.reasons)
    fresh = tune(tuned_board, msgspec.structs.replace(wanted, fresh=True)).result
    assert not any(point.reused for point in fresh.curve)


def test_other_prompts_are_another_session(tuned_board, tmp_path):
    tune(tuned_board, msgspec.structs.replace(QUICK, depths=(2,)))
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"prompt": "another question"}) + "\n")
    wanted = msgspec.structs.replace(QUICK, depths=(2,), prompts=Prompts(file=file, requests=1))
    assert not any(point.reused for point in tune(tuned_board, wanted).result.curve)


def test_ctrl_c_keeps_what_was_measured_and_the_next_search_goes_on(tuned_board):
    planned = command_now(tuned_board)
    serve = tuned_board.docker.serve

    def interrupt_soon(depth, command):
        serve(depth, command)
        if depth == 0:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    tuned_board.docker.serve = interrupt_soon
    slow = lambda depth: script_at(depth, rates={1: SPEEDS[depth] / 9, 8: SPEEDS[depth] / 3})  # noqa: E731
    tuned_board.docker.scripts = slow
    with pytest.raises(KeyboardInterrupt):
        tune(tuned_board, BY_THE_CLOCK)
    assert command_now(tuned_board) == planned
    (session,) = (tuned_board.state / "stacks" / NAME / "tune").iterdir()
    kept = load_tuning(session)
    assert (kept.outcome, kept.depth) == ("invalid", None)
    assert kept.reasons[0] == "the search was interrupted"
    assert [point.depth for point in kept.curve if point.measured] == [4]
    tuned_board.docker.serve = serve
    result = tune(tuned_board, BY_THE_CLOCK).result
    assert result.curve[[p.depth for p in result.curve].index(4)].reused


def test_a_server_that_dies_decides_nothing(tuned_board):
    planned = command_now(tuned_board)
    tuned_board.docker.scripts = lambda depth: script_at(depth, die_at_request=0 if depth else 12)
    done = tune(tuned_board)
    assert (done.result.outcome, done.status) == ("invalid", 11)
    assert "connection lost" in done.result.reasons[0]
    assert command_now(tuned_board) == planned
    assert read_results(tuned_board.state) == ()


def test_a_full_disk_decides_nothing(tuned_board):
    tune(tuned_board, msgspec.structs.replace(QUICK, depths=(4,)))
    (session,) = (tuned_board.state / "stacks" / NAME / "tune").iterdir()
    for name in ("depth-4", "depth-0"):
        for file in (session / name).iterdir():
            file.unlink()
        (session / name / "runs.jsonl").symlink_to("/dev/full")
    done = tune(tuned_board, msgspec.structs.replace(QUICK, depths=(4,)))
    assert (done.result.outcome, done.status) == ("invalid", 11)
    assert "No space left" in done.result.reasons[0]


def test_a_depth_that_does_not_start_is_passed_over(tuned_board):
    tuned_board.docker.broken = {2}
    wanted = msgspec.structs.replace(QUICK, depths=(1, 2, 4), exhaustive=True)
    result = tune(tuned_board, wanted).result
    assert (result.outcome, result.depth) == ("chosen", 1)
    (failed,) = [point for point in result.curve if point.depth == 2]
    assert failed.why.startswith("does not start: ")


def test_a_chosen_depth_that_does_not_come_up_is_told_beside_the_result(tuned_board):
    wanted = msgspec.structs.replace(QUICK, apply=True, depths=(2, 4))
    tune(tuned_board, msgspec.structs.replace(wanted, apply=False))
    tuned_board.docker.broken = {2}
    done = tune(tuned_board, wanted)
    assert (done.result.depth, done.deployed) == (2, None)
    assert isinstance(done.failure, DeployError)
    assert done.status == 8


def test_a_server_that_takes_the_depth_per_request_is_restarted_only_for_the_baseline(tuned_board):
    rates = {depth: {1: SPEEDS[depth], 8: SPEEDS[depth] * 4} for depth in range(1, 9)}

    def scripts(depth):
        return script_at(depth, depth_rates=rates) if depth else script_at(0)

    tuned_board.docker.scripts = scripts
    tuned_board.docker.serve(4, command_now(tuned_board))
    tuned_board.docker.starts.clear()
    result = tune(tuned_board).result
    assert (result.switching, result.depth) == ("request", 2), result.reasons
    deepest = max(point.depth for point in result.curve)
    assert tuned_board.docker.starts == [0, deepest, 4], "the baseline, all depths, as planned"
    assert len(result.order) <= 3, result.order


def test_a_stack_without_speculation_has_no_depth(tuned_board):
    tuned_board.deploy(port=tuned_board.port, method="none")
    with pytest.raises(UsageError) as caught:
        tune(tuned_board)
    assert caught.value.code in ("nothing_to_tune", "nothing_to_accept")


def test_an_unknown_stack(tuned_board):
    with pytest.raises(UsageError, match="no stack called other"):
        tune_here("other", tuned_board.here, QUICK)


def test_every_outcome_has_a_status():
    outcomes = msgspec.json.schema(TuningResult)["$defs"]["TuningResult"]["properties"]["outcome"]
    assert set(STATUS) == set(outcomes["enum"])


@pytest.mark.parametrize("seed", [1])
def test_killed_at_any_moment_it_goes_on_where_it_was(tmp_path, seed):
    """kill -9, again and again: what was finished is never measured twice, and it gets there."""
    rng, port = random.Random(seed), free_port()
    words = [sys.executable, "-m", "tests.tuning_program", str(tmp_path), str(port)]
    killed, finished = 0, set()
    for _ in range(40):
        with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
            program.stdout.readline()
            try:
                out, _ = program.communicate(timeout=rng.uniform(0.3, 0.9 + 0.15 * killed))
                break
            except subprocess.TimeoutExpired:
                program.kill()
                killed += 1
        folder = tmp_path / "state" / "stacks" / NAME / "tune"
        now = {path: path.stat().st_mtime_ns for path in folder.glob("*/depth-*/depth.json")}
        assert finished <= set(now.items()), "what was finished is left alone"
        finished = set(now.items())
    result = msgspec.json.decode(out, type=TuningResult)
    assert killed >= 2
    assert (result.outcome, result.depth) == ("chosen", 2), result.reasons
    assert any(point.reused for point in result.curve)
    containers = json.loads((tmp_path / "containers.json").read_text())
    command = next(iter(containers.values()))["Config"]["Cmd"]
    assert command[command.index("--spec-draft-n-max") + 1] == "4", "back as planned"
