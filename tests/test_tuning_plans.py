"""Every depth is planned as a deploy would plan it; what is forbidden is told and not tried."""

import msgspec
import pytest

from speccompose.errors import SpeculationError, UsageError
from speccompose.pipeline import plan_stack
from speccompose.plan.export import plan_document
from speccompose.tuning_plans import pinned_request, plan_depths
from speccompose.vocab.board import BoardSource
from speccompose.vocab.request import StackRequest
from tests.serving_board import serving_board

__all__ = ["serving_board"]

THOR = BoardSource(device="agx-thor-t5000")
SPARK = BoardSource(device="dgx-spark")


def planned(here, board, depths=(), **request):
    asked = StackRequest(state_root=here.settings.state_root, **request)
    document = plan_document(plan_stack(asked, board, here.catalog), here.catalog)
    return plan_depths(document, board, here, depths)


@pytest.mark.parametrize(
    ("board", "request_", "start", "depths", "parallel"),
    [
        (THOR, {"model": "nvidia/Qwen3.6-27B-NVFP4"}, 3, (1, 2, 3, 4, 5), False),
        (SPARK, {"model": "qwen3.5-122b-a10b", "method": "mtp"}, 2, (1, 2, 3, 4, 5), False),
        (THOR, {"model": "qwen3-8b", "method": "eagle3"}, 5, tuple(range(1, 8)), False),
        (THOR, {"model": "qwen3-8b", "method": "dflash"}, 7, (3, 4, 5, 6, 7), True),
        (SPARK, {"model": "qwen3.5-122b-a10b", "method": "dflash"}, 15, tuple(range(3, 16)), True),
    ],
)
def test_depths_worth_a_search(serving_board, board, request_, start, depths, parallel):
    plans = planned(serving_board.here, board, **request_)
    assert (plans.start, plans.parallel) == (start, parallel)
    assert tuple(plans.commands) == depths
    assert len(set(plans.commands.values())) == len(depths)
    assert plans.request.depth is None


def test_named_depths_are_those_and_zero_is_the_baseline(serving_board):
    plans = planned(serving_board.here, THOR, (0, 2, 4), model="qwen3-8b", method="eagle3")
    assert tuple(plans.commands) == (2, 4)
    assert '"num_speculative_tokens": 4' in " ".join(plans.commands[4]) or "4" in str(
        plans.commands[4]
    )


def test_a_named_depth_that_the_checkpoint_forbids_is_refused(serving_board):
    """A block that was read in the checkpoint itself is a firm limit."""
    here = serving_board.here
    model = here.catalog.models["qwen3-8b"]
    firm = tuple(
        msgspec.structs.replace(each, block_evidence="seen") if each.block_size else each
        for each in model.pairings
    )
    models = {**here.catalog.models, model.id: msgspec.structs.replace(model, pairings=firm)}
    here = msgspec.structs.replace(
        here, catalog=msgspec.structs.replace(here.catalog, models=models)
    )
    with pytest.raises(SpeculationError) as caught:
        planned(here, THOR, (4, 9), model="qwen3-8b", method="dspark")
    assert caught.value.code == "depth_refused"
    assert tuple(planned(here, THOR, model="qwen3-8b", method="dspark").commands)[-1] == 7


def test_the_stacks_own_method_and_draft_are_kept(serving_board):
    """What was chosen automatically is what runs, whatever would be chosen today."""
    here = serving_board.here
    asked = StackRequest(model="qwen3-8b", state_root=here.settings.state_root)
    document = plan_document(plan_stack(asked, THOR, here.catalog), here.catalog)
    request = pinned_request(document)
    assert request.method == document.speculation.method != "auto"
    assert request.draft == document.speculation.draft
    assert request.name == document.name


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"request": None}, "no_request_in_plan"), ({"speculation": None}, "nothing_to_tune")],
)
def test_plans_that_cannot_be_tuned(serving_board, changes, code):
    here = serving_board.here
    asked = StackRequest(model="qwen3-8b", state_root=here.settings.state_root)
    document = plan_document(plan_stack(asked, THOR, here.catalog), here.catalog)
    with pytest.raises(UsageError) as caught:
        plan_depths(msgspec.structs.replace(document, **changes), THOR, here, ())
    assert caught.value.code == code


def test_a_stack_that_would_be_planned_otherwise_now_is_deployed_first(serving_board):
    here = serving_board.here
    asked = StackRequest(model="qwen3-8b", state_root=here.settings.state_root)
    document = plan_document(plan_stack(asked, THOR, here.catalog), here.catalog)
    older = msgspec.structs.replace(document.image, reference="vllm/vllm-openai:v0.20.0")
    with pytest.raises(UsageError) as caught:
        plan_depths(msgspec.structs.replace(document, image=older), THOR, here, ())
    assert caught.value.code == "plan_moved_on"
    assert any("v0.20.0" in detail for detail in caught.value.details)
