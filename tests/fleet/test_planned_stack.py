"""What of a stack may be another thing tomorrow, and what a fleet therefore refuses."""

import pytest
from msgspec.structs import replace

from speccompose.errors import PreflightError, SpeculationError
from speccompose.fleet.fleet_refusal import first_status
from speccompose.fleet.planned_stack import planned_stacks, unlocked
from speccompose.vocab.board import BoardSource
from speccompose.vocab.request import StackRequest
from tests.fleet.fleets import Pipeline
from tests.fleet.made import policy

THOR = BoardSource(device="agx-thor-t5000", l4t="38.4.0")
REQUEST = StackRequest(model="qwen3.5-9b")


def test_tags_and_branches_are_named(catalog):
    plan = Pipeline(catalog).plan(REQUEST, THOR, None)
    lines = unlocked(replace(plan, image_reference="ghcr.io/x/y:latest"))
    assert "image ghcr.io/x/y:latest is a tag, not a digest" in lines
    pinned = replace(plan, image_reference="ghcr.io/x/y@sha256:" + "0" * 64)
    by_id = replace(plan, image_reference="sha256:" + "0" * 64)  # as a sealed site's
    for stack in (pinned, by_id):
        assert not any("tag" in line for line in unlocked(stack))


def test_what_floats_is_refused_unless_the_policy_allows_it(catalog):
    planner = Pipeline(catalog)
    ports = {"site": None, "planner": planner}
    with pytest.raises(PreflightError) as caught:
        planned_stacks("chat", REQUEST, THOR, policy=policy(), **ports)
    assert caught.value.code == "fleet_floating"
    made = planned_stacks("chat", REQUEST, THOR, policy=policy(allow_floating=True), **ports)
    assert made.first.floating


def test_the_fallback_is_the_same_without_speculation(catalog):
    ports = {"site": None, "planner": Pipeline(catalog)}
    rules = policy(allow_floating=True)
    made = planned_stacks("chat", REQUEST, THOR, policy=rules, **ports)
    first, plain = made.stacks
    assert first.fallback == plain.bundle != first.bundle
    assert (plain.method, plain.accept) == ("none", False)
    stop = replace(rules, on_rejected="stop")
    assert planned_stacks("chat", REQUEST, THOR, policy=stop, **ports).first.fallback is None


def test_where_nothing_plans_without_speculation_a_rejection_will_stop_the_rollout(catalog):
    class OnlyDrafting(Pipeline):
        def plan(self, request, board, site):
            if request.method == "none":
                raise SpeculationError("it only serves with its draft")
            return super().plan(request, board, site)

    rules = policy(allow_floating=True)
    planner = OnlyDrafting(catalog)
    made = planned_stacks("chat", REQUEST, THOR, site=None, policy=rules, planner=planner)
    assert len(made.stacks) == 1
    assert made.first.accept


@pytest.mark.parametrize(
    ("outcome", "strict", "stacks", "accept"),
    [
        (None, False, 2, True),
        ("accepted", True, 2, False),
        ("marginal", False, 2, False),
        ("marginal", True, 1, False),
        ("rejected", False, 1, False),
    ],
)
def test_a_stored_result_is_not_measured_again_and_a_rejection_goes_out_without(
    catalog, outcome, strict, stacks, accept
):
    rules = policy(allow_floating=True, strict=strict)
    planner = Pipeline(catalog, outcome)
    made = planned_stacks("chat", REQUEST, THOR, site=None, policy=rules, planner=planner)
    assert (len(made.stacks), made.first.accept) == (stacks, accept)
    assert (made.first.method == "none") == (stacks == 1)
    assert set(made.rendered) == {stack.bundle for stack in made.stacks}
    assert (made.first.measured_as is not None) == accept


def test_where_a_rejection_stops_it_is_the_canary_that_stops(catalog):
    rules = replace(policy(allow_floating=True), on_rejected="stop")
    planner = Pipeline(catalog, "rejected")
    made = planned_stacks("chat", REQUEST, THOR, site=None, policy=rules, planner=planner)
    assert made.first.accept
    assert made.first.method != "none"


@pytest.mark.parametrize(
    ("statuses", "first"), [((6, 7), 7), ((6, 5, 4), 4), ((15, 6), 6), ((18, 15), 15), ((), 2)]
)
def test_refusals_are_told_in_the_contracts_order(statuses, first):
    assert first_status(statuses) == first
