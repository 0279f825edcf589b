"""The loop over a recorded curve: order, early end, refusals, faults, interrupts."""

import random

import pytest

from speccompose.measure.depth_choice import Thresholds
from speccompose.measure.depth_search import Space
from speccompose.measure.tune_loop import Curve, Search
from speccompose.vocab.tuning_result import TuneLimits
from tests.measure.curves import GSM8K, S_01, SPARK_MTP, Replay, modelled, replayed

RULES = Thresholds(concurrency=1, loaded=8, gain_reject_pct=10.0, no_regression_ratio=0.97)


def search(depths, start, **more):
    space = Space(depths=tuple(depths), start=start, parallel=more.pop("parallel", False))
    return Search(space=space, thresholds=RULES, **more)


@pytest.mark.parametrize("exhaustive", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_the_seeds_table_replayed_chooses_two(exhaustive, seed):
    """0, 1, 2, 4 tokens: 36.5, 44.5, 48.5, 34.5 tokens/s, as measured and with noise."""
    rng = random.Random(seed)
    choice, order = replayed(
        SPARK_MTP,
        search((1, 2, 4), 2, exhaustive=exhaustive),
        noise=(lambda: rng.gauss(1, 0.02)) if seed else lambda: 1.0,
    )
    assert (choice.outcome, choice.depth) == ("chosen", 2)
    assert len(order) == (4 if exhaustive else 3)


def test_s_01():
    choice, order = replayed(S_01, search((2, 4), 2, exhaustive=True))
    assert choice.depth == 2
    assert order == [0, 2, 4]
    early, order = replayed(S_01, search((2, 4), 2))
    assert early.depth == 2
    assert order == [0, 2], "0.599 at the last position: deeper is not tried"


def test_the_search_ends_early_and_predicts_the_rest():
    recorded = modelled(GSM8K, step=0.2)
    choice, order = replayed(recorded, search(recorded.depths, 3))
    swept, every = replayed(recorded, search(recorded.depths, 3, exhaustive=True))
    assert 2 * len(order) <= len(every)
    assert recorded.speeds[choice.depth] >= 0.97 * recorded.speeds[swept.depth]
    guessed = [point for point in choice.curve if not point.measured]
    assert guessed
    for point in guessed:
        assert point.predicted_tokens_s == pytest.approx(recorded.speeds[point.depth], rel=0.1)


def test_what_serves_already_is_measured_first():
    recorded = modelled(GSM8K)
    assert replayed(recorded, search(recorded.depths, 3, running=3))[1][:2] == [3, 0]
    assert replayed(recorded, search(recorded.depths, 3, running=5))[1][:2] == [0, 3]


def test_a_depth_that_does_not_start_is_passed_over():
    recorded = modelled(GSM8K)
    choice, order = replayed(recorded, search((1, 2, 3), 3), refused=(3,))
    assert choice.outcome == "chosen"
    assert choice.depth in (1, 2)
    assert 3 in order
    (failed,) = [point for point in choice.curve if point.depth == 3]
    assert failed.why == "does not start: the server ended while starting; out of memory"


def test_no_depth_starts():
    choice, _ = replayed(modelled(GSM8K), search((1, 2), 2), refused=(1, 2))
    assert (choice.outcome, choice.depth) == ("none", 0)


def test_a_baseline_that_does_not_start_decides_nothing():
    choice, order = replayed(modelled(GSM8K), search((1, 2), 2), refused=(0,))
    assert (choice.outcome, choice.depth) == ("invalid", None)
    assert "out of memory" in choice.reasons[0]
    assert order == [0, 2]


@pytest.mark.parametrize("at", [0, 2, 3])
def test_a_fault_ends_it_and_is_never_a_choice(at):
    choice, order = replayed(modelled(GSM8K), search((1, 2, 3), 3), faulty=(at,))
    assert choice.outcome in ("invalid", "chosen")
    if at in order:
        assert (choice.outcome, choice.depth) == ("invalid", None)
        assert choice.reasons == (f"depth {at}: connection lost",)
        assert order[-1] == at


def test_refused_plans_stand_in_the_curve():
    choice, _ = replayed(
        modelled(GSM8K), search((1, 2), 2, refused={7: "the block has 5 positions"})
    )
    assert choice.curve[-1].why == "the block has 5 positions"


def test_limits_make_the_search_go_shallower():
    recorded = modelled(GSM8K, step=0.05)
    limits = TuneLimits(memory_mib=9150)
    choice, order = replayed(recorded, search(recorded.depths, 3, limits=limits))
    assert choice.depth == 1
    assert order[0:2] == [0, 3]


def test_an_interrupt_keeps_what_was_measured():
    recorded, curve = modelled(GSM8K), Curve(search((1, 2, 3), 3))
    bench = Replay(recorded)

    def interrupted(depth):
        if len(bench.order) == 2:
            raise KeyboardInterrupt
        return bench(depth)

    with pytest.raises(KeyboardInterrupt):
        curve.fill(interrupted)
    curve.faults = ("the search was interrupted",)
    choice = curve.choice()
    assert choice.outcome == "invalid"
    assert [point.depth for point in choice.curve if point.levels] == [0, 3]
