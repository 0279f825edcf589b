"""Every outcome of rules section 6 from the verb's function to what follows, by measuring alone.

The servers are scripted, the load, the counters, the content check and the verdict are not; what
follows (exit status, result store, redeploy) happens on a fake Docker.
"""

import msgspec
import pytest

from speccompose.acceptance import accept_here
from speccompose.device.accept_stack import Asked
from speccompose.device.window import Pace
from speccompose.vocab.acceptance_result import AcceptanceResult
from speccompose.world.kept_results import find_acceptance
from speccompose.world.result_store import read_results
from tests.docker.stacks import free_port
from tests.serving_board import ServingBoard, serving_board
from tests.tuning_board import answering, depth_of, script_at
from tests.virtual_load import at

__all__ = ["serving_board"]

NAME = "smollm2-135m"
ALONE, LOADED = 2000.0, 8000.0
PACE = Pace(
    prompts=6, prompts_per_client=2, output_tokens=96, check_prompts=4, check_tokens=24, stall_s=5
)


@pytest.fixture
def board(serving_board: ServingBoard):
    """The demo's stack at depth 4; what its servers do is set by ``speeds``."""
    made = answering(serving_board)
    made.port = free_port()
    made.deploy(port=made.port, method="draft_model", depth=4)
    yield made
    made.docker.close()


def accepted(board, gain, load, *, strict=False, **faults):
    """Measure with a speculative arm that is so many times as fast alone and under load."""

    def scripts(depth):
        alone, loaded = (gain, load) if depth else (1.0, 1.0)
        more = faults if depth else {}
        return script_at(depth, **{"rates": {1: ALONE * alone, 8: LOADED * loaded}, **more})

    board.docker.scripts = scripts
    board.docker.serve(4, command_now(board))
    return accept_here(NAME, board.here, Asked(quick=True, strict=strict, other=at(PACE)))


def command_now(board):
    (container,) = board.docker.containers.values()
    return container["Config"]["Cmd"]


def outcome(judged):
    return judged.result.verdict.outcome, judged.status


def test_accepted_stays_on_and_is_known_to_the_next_plan(board):
    judged = accepted(board, 1.5, 1.1)
    assert outcome(judged) == ("accepted", 0), judged.result.verdict.reasons
    assert depth_of(command_now(board)) == 4
    (stored,) = read_results(board.state)
    assert stored.outcome == "accepted"
    assert stored.dataset.startswith("builtin ")
    kept = find_acceptance(NAME, board.state)
    assert kept == msgspec.convert(judged.result.as_dict(), AcceptanceResult)
    assert kept.contents.speculative_differs == 0
    drafted = [run.drafting for run in kept.runs if run.arm == "speculative"]
    assert all(each.acceptance_by_position[0] > 0.8 for each in drafted)
    assert kept.comparisons[0].low > 1.3


def test_marginal_goes_where_it_is_judged_strictly(board):
    judged = accepted(board, 1.2, 1.2, strict=True)
    assert outcome(judged) == ("marginal", 9), judged.result.verdict.reasons
    assert depth_of(command_now(board)) == 0


def test_rejected_is_redeployed_without_speculation(board):
    judged = accepted(board, 1.5, 0.9)
    assert outcome(judged) == ("rejected", 9), judged.result.verdict.reasons
    assert judged.redeployed.changed
    assert "--spec-type" not in command_now(board)
    (stored,) = read_results(board.state)
    assert stored.is_rejected


def test_inconclusive_changes_nothing(board):
    judged = accepted(board, 1.15, 1.0, noise=0.5, wave=4)
    assert outcome(judged) == ("inconclusive", 11), judged.result.verdict.reasons
    assert depth_of(command_now(board)) == 4
    assert read_results(board.state) == ()


def test_invalid_changes_nothing_and_keeps_what_was_measured(board):
    judged = accepted(board, 2.0, 1.5, differing=1.0)
    assert outcome(judged) == ("invalid", 11)
    reasons = judged.result.verdict.reasons
    assert any("speculation changes what is said" in reason for reason in reasons)
    assert depth_of(command_now(board)) == 4
    assert read_results(board.state) == ()
    kept = find_acceptance(NAME, board.state)
    assert kept.outcome == "invalid"
    assert kept.runs
