"""A depth that was tuned here is where the next plan starts; what forbids it still forbids it."""

import msgspec
import pytest

from speccompose.errors import SpeculationError
from speccompose.plan.measured import order_by_results, plan_key, tuned_key
from speccompose.plan.tuned import at_tuned_depths
from speccompose.vocab.measured import MeasuredResult, TunedResult
from tests.plan.stage_cases import Case, case

THOR = "agx-thor-t5000"
QWEN = "nvidia/Qwen3-8B-NVFP4"
LATER = "2026-11-30T09:00:00+00:00"


@pytest.fixture
def thor(catalog) -> Case:
    return case(catalog, THOR, QWEN)


def eagle(made: Case):
    (plan,) = [each for each in made.propose() if each.label == "eagle3"]
    return plan


def tuned(made: Case, depth: int, *, concurrency: int = 1, at: str = LATER, **speeds):
    key = plan_key(eagle(made), made.choice, made.device)
    figures = {"baseline_tokens_s": 36.5, "tokens_s": 48.5, **speeds}
    return TunedResult(tuned=tuned_key(key, concurrency), depth=depth, measured_at=at, **figures)


def planned(made: Case, *results, propose=None, **request):
    made.request = msgspec.structs.replace(made.request, **request)
    proposals = tuple(each for each in made.propose() if each.label in ("eagle3", "none"))

    def again(asked):
        return made.but(method=asked.method, draft=asked.draft, depth=asked.depth).propose()

    deeper = at_tuned_depths(
        proposals,
        made.choice,
        made.device,
        results,
        request=made.request,
        propose=propose or again,
    )
    return order_by_results(deeper, made.choice, made.device, results, made.request)


def test_the_tuned_depth_is_the_start(thor):
    first = planned(thor, tuned(thor, 2))[0]
    assert (first.label, first.depth) == ("eagle3", 2)
    assert first.reason == "measured here: tuned, +33 %"
    told = [each for each in first.decisions if each.subject == "speculation depth"]
    assert [each.value for each in told] == ["2"]
    assert "concurrency 1: 48.5 tokens/s, 36.5 without" in told[0].rule


def test_a_depth_that_is_the_start_anyway_is_confirmed(thor):
    start = eagle(thor).depth
    first = planned(thor, tuned(thor, start))[0]
    assert (first.depth, first.reason) == (start, "measured here: tuned, +33 %")


def test_another_concurrency_is_another_question(thor):
    start = eagle(thor).depth
    assert planned(thor, tuned(thor, 2, concurrency=4))[0].depth == start
    assert planned(thor, tuned(thor, 2, concurrency=2), concurrency=2)[0].depth == 2


def test_a_depth_that_is_named_stays(thor):
    assert planned(thor, tuned(thor, 2), depth=4)[0].depth == 4


def test_a_baseline_that_won_turns_it_off(thor):
    plans = planned(thor, tuned(thor, 0, tokens_s=30.0))
    assert [plan.label for plan in plans] == ["none"]
    assert "eagle3 rejected, -18 %" in plans[0].reason


def test_a_depth_that_is_refused_now_leaves_the_usual_start(thor):
    def refuse(asked):
        raise SpeculationError(f"depth {asked.depth} is refused")

    assert planned(thor, tuned(thor, 2), propose=refuse)[0].depth == eagle(thor).depth


@pytest.mark.parametrize(
    ("outcome", "at", "first"),
    [
        ("rejected", "2026-11-30T10:00:00+00:00", "none"),
        ("rejected", "2026-11-30T08:00:00+00:00", "eagle3"),
        ("accepted", "2026-11-30T10:00:00+00:00", "eagle3"),
    ],
)
def test_of_a_verdict_and_a_search_the_later_one_counts(thor, outcome, at, first):
    deeper = msgspec.structs.replace(eagle(thor), depth=2)
    verdict = MeasuredResult(
        key=plan_key(deeper, thor.choice, thor.device),
        outcome=outcome,
        baseline_tokens_s=20.0,
        speculative_tokens_s=30.0,
        measured_at=at,
    )
    assert planned(thor, tuned(thor, 2), verdict)[0].label == first


def test_another_build_means_measuring_again(thor):
    result = tuned(thor, 2)
    other = msgspec.structs.replace(
        result, tuned=msgspec.structs.replace(result.tuned, version="0.99")
    )
    assert planned(thor, other)[0].depth == eagle(thor).depth
