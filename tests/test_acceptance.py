"""What follows from a verdict: the exit status, and whether speculation goes."""

import math

import pytest

from speccompose.acceptance import (
    STATUS,
    follow,
    must_go,
    status_of,
    this_board,
    without_speculation,
)
from speccompose.device import verdict
from speccompose.device.accept import Result
from speccompose.device.errors import DeviceError
from speccompose.device.intervals import Ratio
from speccompose.device.verdict import Verdict
from speccompose.device.verdict_text import Comparison
from speccompose.errors import UsageError
from speccompose.serving import plan_here
from speccompose.vocab.request import StackRequest
from speccompose.world.result_store import read_results
from tests.serving_board import ServingBoard, serving_board

__all__ = ["serving_board"]

NAME = "smollm2-135m"
OUTCOMES = {"accepted", "marginal", "rejected", "inconclusive", "invalid"}


def test_every_outcome_has_a_status():
    known = {verdict.ACCEPTED, verdict.MARGINAL, verdict.REJECTED, verdict.INCONCLUSIVE}
    assert set(STATUS) == known | {verdict.INVALID} == OUTCOMES


@pytest.mark.parametrize(
    ("outcome", "status", "strict"),
    [
        ("accepted", 0, 0),
        ("marginal", 0, 9),
        ("rejected", 9, 9),
        ("inconclusive", 11, 11),
        ("invalid", 11, 11),
    ],
)
def test_statuses_are_the_contracts(outcome, status, strict):
    assert status_of(outcome, strict=False) == status
    assert status_of(outcome, strict=True) == strict


@pytest.mark.parametrize("outcome", sorted(OUTCOMES))
@pytest.mark.parametrize("strict", [False, True])
def test_speculation_goes_only_where_it_was_proved_useless(outcome, strict):
    gone = must_go(Verdict(outcome, False, ()), strict=strict)
    assert gone == (outcome == "rejected" or (strict and outcome == "marginal"))
    assert not must_go(Verdict(outcome, True, ()), strict=strict)


def test_a_rejected_stack_is_redeployed_without_speculation(serving_board: ServingBoard):
    first = serving_board.deploy(name="mine")
    assert first.proof.drafts
    done = without_speculation("mine", serving_board.here)
    assert done.changed
    assert done.previous_digest == first.digest
    assert done.proof.drafts is None
    (container,) = serving_board.docker.containers.values()
    assert "--spec-type" not in container["Config"]["Cmd"]
    assert "--alias" in container["Config"]["Cmd"]


def judged(outcome: str) -> Result:
    return Result(Verdict(outcome, False, ("because",)), ())


def test_a_rejected_stack_is_9_when_its_successor_serves(serving_board: ServingBoard):
    serving_board.deploy(name="mine")
    done = follow("mine", judged("rejected"), serving_board.here, strict=False)
    assert (done.status, done.failure) == (9, None)
    assert done.redeployed.changed


@pytest.mark.parametrize("outcome", sorted(OUTCOMES - {"rejected"}))
def test_other_verdicts_change_nothing(serving_board: ServingBoard, outcome):
    first = serving_board.deploy(name="mine")
    done = follow("mine", judged(outcome), serving_board.here, strict=False)
    assert (done.redeployed, done.failure) == (None, None)
    assert serving_board.deploy(name="mine").digest == first.digest


def test_the_verdict_is_kept_when_its_successor_does_not_come_up(serving_board: ServingBoard):
    serving_board.deploy(name="mine")

    def fail() -> None:
        serving_board.docker.after_up = lambda: None
        raise DeviceError(9, "it fell over")

    serving_board.docker.after_up = fail
    done = follow("mine", judged("rejected"), serving_board.here, strict=False)
    assert done.result.verdict.outcome == "rejected"
    assert done.redeployed is None
    assert (done.status, done.failure.status) == (8, 8)
    assert "it fell over" in done.failure.brief


def test_the_verdict_is_kept_when_nobody_knows_what_was_asked_for(serving_board: ServingBoard):
    done = follow("nothing", judged("rejected"), serving_board.here, strict=False)
    assert (done.status, done.failure.code) == (2, "no_request_in_plan")


def measured(outcome: str, *, synthetic: bool = False, gain: float = 0.9) -> Result:
    ratio = Ratio(gain, gain, gain)
    speed = Comparison("output_tokens_s", 1, math.log(20.0), math.log(20.0 * gain), ratio)
    return Result(Verdict(outcome, synthetic, ("because",), (speed,)), ())


def test_a_rejected_speculation_does_not_come_back_with_the_same_deploy(serving_board):
    first = serving_board.deploy()
    done = follow(NAME, measured("rejected"), serving_board.here, strict=False)
    again = serving_board.deploy()
    assert (again.changed, again.digest) == (False, done.redeployed.digest)
    plan = plan_here(serving_board.request(), serving_board.board(), serving_board.here)
    assert plan.speculation.reason == "measured here: draft_model rejected, -10 %"
    asked = serving_board.deploy(method="draft_model")
    assert asked.digest == first.digest


def test_what_was_accepted_is_known_to_the_next_plan(serving_board: ServingBoard):
    first = serving_board.deploy()
    follow(NAME, measured("accepted", gain=1.41), serving_board.here, strict=False)
    plan = plan_here(serving_board.request(), serving_board.board(), serving_board.here)
    assert plan.speculation.reason == "measured here: accepted, +41 %"
    assert plan.digest == first.digest


def test_a_marginal_gain_that_was_judged_strictly_stays_off(serving_board: ServingBoard):
    serving_board.deploy()
    done = follow(NAME, measured("marginal", gain=1.2), serving_board.here, strict=True)
    assert serving_board.deploy().digest == done.redeployed.digest


@pytest.mark.parametrize(
    "result",
    [
        measured("rejected", synthetic=True),
        measured("accepted", synthetic=True),
        measured("inconclusive"),
        measured("invalid"),
        judged("invalid"),
    ],
    ids=lambda result: result.verdict.outcome,
)
def test_what_decides_nothing_is_not_kept(serving_board: ServingBoard, result):
    serving_board.deploy()
    follow(NAME, result, serving_board.here, strict=False)
    assert read_results(serving_board.state) == ()
    assert not (serving_board.state / "results.jsonl").exists()


def test_a_store_that_cannot_be_written_costs_a_note_and_not_the_verdict(serving_board):
    serving_board.deploy()
    store = serving_board.state / "results.jsonl"
    for path in (store, store.with_name("results.jsonl.unreadable")):
        path.mkdir()
        (path / "x").touch()
    done = follow(NAME, measured("accepted"), serving_board.here, strict=False)
    assert (done.status, done.failure) == (0, None)
    assert "cannot keep the result" in serving_board.said[-1].message


def test_flags_about_speculation_go_with_it(serving_board: ServingBoard):
    """--spec-* without speculation is refused by planning: the stack could not be switched off."""
    flags = (("--spec-draft-p-min", "0.5"), ("--seed", "7"))
    serving_board.deploy(name="mine", set_flags=flags, depth=2)
    without_speculation("mine", serving_board.here)
    (container,) = serving_board.docker.containers.values()
    command = container["Config"]["Cmd"]
    assert not [word for word in command if word.startswith("--spec")]
    assert command[command.index("--seed") + 1] == "7"


def test_a_release_taken_for_granted_is_so_when_planned_again():
    assert this_board(StackRequest(model="m", assume_l4t="36.4.3")).assume_l4t == "36.4.3"
    assert this_board(StackRequest(model="m")).assume_l4t is None


def test_a_plan_that_does_not_say_what_was_asked_for(serving_board: ServingBoard):
    with pytest.raises(UsageError) as caught:
        without_speculation("nothing", serving_board.here)
    assert caught.value.code == "no_request_in_plan"
    assert "--method none" in caught.value.hint
