"""By tokens/s, within limits, off where it does not pay; S-01 decides for the shallower depth."""

import pytest

from speccompose.measure.depth_choice import Thresholds, choose_depth
from speccompose.measure.depth_points import point_of
from speccompose.vocab.tuning_result import TuneLimits
from tests.measure.curves import S_01, SPARK_MTP, Recorded

RULES = Thresholds(concurrency=1, loaded=8, gain_reject_pct=10.0, no_regression_ratio=0.97)


def chosen(recorded, limits=None, rules=RULES):
    curve = [point_of(recorded.runs(depth), rules.concurrency) for depth in sorted(recorded.speeds)]
    return choose_depth(curve, rules, limits or TuneLimits())


def test_the_dgx_spark_table_chooses_two():
    choice = chosen(SPARK_MTP)
    assert (choice.outcome, choice.depth) == ("chosen", 2)
    assert choice.reasons[0] == "depth 2 gives +32.9 % tokens/s at concurrency 1"
    assert choice.curve[-1].why == "gains -5.5 %, less than 10 %"


@pytest.mark.parametrize("plain_loaded", [150.0, 205.0, 290.0])
def test_s_01_takes_the_smaller_depth_and_reports_both_rows(plain_loaded):
    """Depth 4 is 1 % faster alone and 31 % slower at eight; its last positions accept little."""
    recorded = Recorded(S_01.speeds, S_01.positions, {**S_01.loaded, 0: plain_loaded})
    choice = chosen(recorded)
    assert choice.depth == 2
    rows = "\n".join(choice.reasons)
    assert "depth 2: 54.9 tokens/s at 1, 303.6 tokens/s at 8" in rows
    assert "depth 4: 55.6 tokens/s at 1, 210.0 tokens/s at 8" in rows
    assert "accepted by position 0.84 0.60 0.39 0.27" in rows


def test_s_01_holds_for_a_lead_of_less_than_a_tenth():
    recorded = Recorded({**S_01.speeds, 4: 59.0}, S_01.positions, S_01.loaded)
    assert chosen(recorded).depth == 2
    assert chosen(Recorded({**S_01.speeds, 4: 65.0}, S_01.positions, S_01.loaded)).depth == 4
    strong = Recorded({**S_01.speeds, 4: 59.0}, (0.9, 0.8, 0.7, 0.6), S_01.loaded)
    assert chosen(strong).depth == 4, "only a weak last position makes a lead suspect"


def test_depths_that_cannot_be_told_apart_are_decided_by_the_shallowest():
    assert chosen(Recorded({0: 20.0, 2: 30.0, 3: 30.4, 4: 30.5})).depth == 2
    assert chosen(Recorded({0: 20.0, 2: 30.0, 3: 31.5})).depth == 3


@pytest.mark.parametrize("best", [19.0, 20.0, 21.9])
def test_off_where_it_gains_less_than_ten_percent(best):
    choice = chosen(Recorded({0: 20.0, 1: best, 2: 18.0}))
    assert (choice.outcome, choice.depth) == ("none", 0)
    assert choice.reasons[0] == "no depth is worth it: speculation off is best here"


def test_off_where_every_depth_loses_under_load():
    choice = chosen(Recorded({0: 20.0, 1: 30.0, 2: 33.0}, (), {0: 100.0, 1: 90.0, 2: 80.0}))
    assert (choice.outcome, choice.depth) == ("none", 0)
    assert "loses at concurrency 8: 90.0 tokens/s, 100.0 without" in "\n".join(choice.reasons)


def test_a_depth_that_loses_under_load_is_passed_over():
    """A-01: 2.1 times as fast alone, and 0.77 at eight."""
    choice = chosen(Recorded({0: 52.0, 3: 80.0, 7: 108.0}, (), {0: 51.4, 3: 55.0, 7: 39.6}))
    assert choice.depth == 3


@pytest.mark.parametrize(
    ("limits", "depth"),
    [
        (TuneLimits(), 4),
        (TuneLimits(memory_mib=9350), 3),
        (TuneLimits(ttft_ms=82.5), 2),
        (TuneLimits(memory_mib=9150, ttft_ms=90), 1),
        (TuneLimits(tpot_ms=30.0), 4),
    ],
)
def test_the_users_limits(limits, depth):
    recorded = Recorded({0: 20.0, 1: 25.0, 2: 28.0, 3: 31.0, 4: 34.0})
    choice = chosen(recorded, limits)
    assert choice.depth == depth
    assert all(point.within_limits for point in choice.curve if point.depth == depth)


def test_nothing_within_the_limits():
    choice = chosen(Recorded({0: 20.0, 1: 25.0}), TuneLimits(tpot_ms=10.0))
    assert (choice.outcome, choice.depth) == ("out_of_limits", None)
    assert "TPOT p50 is 50 ms, at most 10 ms was asked for" in choice.reasons[0]


def test_the_baseline_alone_within_the_limits():
    choice = chosen(Recorded({0: 20.0, 1: 30.0}), TuneLimits(memory_mib=9050))
    assert (choice.outcome, choice.depth) == ("none", 0)


def test_a_measure_that_nobody_tells_keeps_no_limit():
    choice = chosen(Recorded({0: 20.0, 1: 30.0}), TuneLimits(e2e_ms=1e9))
    assert choice.outcome == "out_of_limits"
    assert "end to end p50 is not told" in choice.reasons[0]


def test_at_the_loads_own_concurrency_only_that_counts():
    rules = Thresholds(concurrency=8, loaded=8, gain_reject_pct=10.0, no_regression_ratio=0.97)
    recorded = Recorded({0: 20.0, 1: 10.0, 2: 9.0}, (), {0: 100.0, 1: 120.0, 2: 140.0})
    assert chosen(recorded, rules=rules).depth == 2
