"""Accepted lengths against published tables, and what must hold for any figures."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.plan.acceptance_curve import (
    accepted_length,
    alpha_from_length,
    curve_of,
    expected_length,
    fit_lengths,
    fit_positions,
    rate_from_length,
)
from speccompose.vocab.drafting import AcceptanceFigures, AcceptedLength

MAVERICK = {
    "HumanEval": (1.83, 2.45, 2.94, 3.26, 3.47, 3.57, 3.62),
    "GSM8K": (1.86, 2.56, 3.08, 3.53, 3.73, 3.91, 4.02),
    "CNN/DailyMail": (1.69, 2.12, 2.37, 2.52, 2.60, 2.63, 2.63),
}
"""Accepted length at K 1 to 7: model card of RedHatAI's EAGLE-3 draft for Llama 4 Maverick."""

DSPARK = (0.605, 0.341, 0.186, 0.099, 0.052, 0.027, 0.014)
"""Per position: model card of Dogacel/Qwen3-8B-DSpark, SPEED-Bench coding."""

shares = st.floats(0.0, 1.0)
alphas = st.floats(0.01, 0.99)
depths = st.integers(1, 16)


def points(lengths, *at):
    return tuple(AcceptedLength(depth=depth, length=lengths[depth - 1]) for depth in at)


@pytest.mark.parametrize("lengths", MAVERICK.values(), ids=MAVERICK)
def test_a_fit_on_three_depths_forecasts_four_to_seven_within_5_percent(lengths):
    curve = fit_lengths(points(lengths, 1, 2, 3))
    for depth in range(1, 8):
        bound = 1e-9 if depth <= 3 else 0.05
        assert curve.length(depth) == pytest.approx(lengths[depth - 1], rel=bound), depth


@pytest.mark.parametrize("lengths", MAVERICK.values(), ids=MAVERICK)
def test_one_rate_for_all_positions_is_an_upper_bound(lengths):
    alpha = alpha_from_length(lengths[0], 1)
    bounds = [expected_length(alpha, depth) for depth in range(1, 8)]
    assert all(b >= table - 1e-9 for b, table in zip(bounds, lengths, strict=True))
    assert bounds[6] > 1.1 * lengths[6]  # and a loose one: that is why there is a decay


@pytest.mark.parametrize(
    ("name", "forecast"), [("HumanEval", 4.56), ("GSM8K", 5.01), ("CNN/DailyMail", 3.06)]
)
def test_the_bound_at_seven_is_the_known_one(name, forecast):
    alpha = alpha_from_length(MAVERICK[name][0], 1)
    assert expected_length(alpha, 7) == pytest.approx(forecast, abs=0.005)


def test_a_published_row_adds_up():
    assert accepted_length(DSPARK) == pytest.approx(2.33, abs=0.01)
    assert rate_from_length(accepted_length(DSPARK), 7) == pytest.approx(0.189, abs=0.0005)


def test_measured_positions_are_met_and_then_continued():
    curve = fit_positions(DSPARK)
    assert curve.positions(7) == DSPARK
    beyond = curve.positions(9)[7:]
    assert 0 < beyond[1] < beyond[0] < DSPARK[-1]


def test_two_lengths_are_both_met():
    curve = fit_lengths(
        (AcceptedLength(depth=2, length=2.18), AcceptedLength(depth=4, length=2.68))
    )
    assert curve.length(2) == pytest.approx(2.18, abs=1e-6)
    assert curve.length(4) == pytest.approx(2.68, abs=1e-6)
    assert curve.decay < 1


def test_one_length_is_met_with_the_typical_decay():
    curve = fit_lengths((AcceptedLength(depth=4, length=3.0),))
    assert curve.length(4) == pytest.approx(3.0, abs=1e-6)
    assert curve.length(7) < expected_length(curve.first, 7)


def test_noise_between_runs_never_makes_a_later_position_better():
    noisy = points((1.5, 2.1, 2.3), 1, 2, 3)
    assert fit_lengths(noisy).positions(3) == pytest.approx((0.5, 0.5, 0.2))


def test_a_draft_that_is_never_accepted_gives_one_token_per_pass():
    assert fit_positions((0.0, 0.0)).length(8) == 1.0


def test_the_known_solution_of_synthetic_acceptance():
    """llama-server 0.7.0 with --spec-synth-len 2.5 and 4 tokens uses these rates."""
    alpha = alpha_from_length(2.5, 4)
    rates = [alpha**power for power in range(1, 5)]
    assert rates == pytest.approx([0.644471, 0.415343, 0.267676, 0.17251], abs=1e-5)


@pytest.mark.parametrize(("length", "depth"), [(0.9, 3), (4.1, 3), (math.nan, 3), (1.0, 0)])
def test_impossible_lengths_are_refused(length, depth):
    with pytest.raises(ValueError, match="no acceptance gives"):
        alpha_from_length(length, depth)


@pytest.mark.parametrize(
    "figures",
    [
        {},
        {"per_position": (0.5,), "lengths": (AcceptedLength(depth=1, length=1.5),)},
        {"per_position": (0.5, 0.6)},
        {"lengths": (AcceptedLength(depth=2, length=2), AcceptedLength(depth=1, length=1.5))},
        {"lengths": (AcceptedLength(depth=2, length=2), AcceptedLength(depth=2, length=2.1))},
        {"lengths": (AcceptedLength(depth=2, length=3.1),)},
    ],
)
def test_figures_that_cannot_be_are_refused(figures):
    with pytest.raises(ValueError, match="expected"):
        AcceptanceFigures(**figures, measured_on="test", source="test", checked="2026-11-30")


def test_figures_of_either_kind_make_a_curve():
    def made(**figures):
        entry = AcceptanceFigures(
            **figures, measured_on="test", source="test", checked="2026-11-30"
        )
        return curve_of(entry)

    assert made(per_position=DSPARK).length(7) == pytest.approx(2.324)
    assert made(lengths=(AcceptedLength(depth=7, length=3.41),)).length(7) == pytest.approx(3.41)


@given(alphas, depths)
def test_alpha_and_length_are_inverse(alpha, depth):
    assert alpha_from_length(expected_length(alpha, depth), depth) == pytest.approx(alpha, abs=1e-6)


@given(alphas, st.integers(2, 16))
def test_the_draft_rate_is_below_alpha_and_falls_with_depth(alpha, depth):
    deep, less = (rate_from_length(expected_length(alpha, k), k) for k in (depth, depth - 1))
    assert deep < alpha
    assert deep < less


@given(shares, shares, depths)
def test_expected_length_grows_with_alpha_and_depth(one, other, depth):
    low, high = sorted((one, other))
    assert expected_length(low, depth) <= expected_length(high, depth)
    assert expected_length(low, depth) <= expected_length(low, depth + 1) <= depth + 2


@given(st.lists(alphas, min_size=2, max_size=6), st.integers(1, 24))
def test_the_bound_is_never_below_a_fit_of_decaying_rates(rates, depth):
    falling = sorted(rates, reverse=True)
    positions = [math.prod(falling[:number]) for number in range(1, len(falling) + 1)]
    fitted = fit_positions(positions)
    assert fitted.length(depth) <= expected_length(positions[0], depth) + 1e-9
    assert list(fitted.positions(depth)) == sorted(fitted.positions(depth), reverse=True)


@settings(deadline=None)
@given(st.integers(2, 16), depths, st.floats(0.05, 0.95), st.floats(0.0, 1.0))
def test_any_two_possible_lengths_give_a_curve_between_their_bounds(first, more, rate, gain):
    deep = first + more
    shallow_length = 1 + rate * first
    deepest = shallow_length + gain * rate * more
    curve = fit_lengths(
        (
            AcceptedLength(depth=first, length=shallow_length),
            AcceptedLength(depth=deep, length=deepest),
        )
    )
    assert curve.length(first) == pytest.approx(shallow_length, abs=1e-5)
    assert shallow_length - 1e-5 <= curve.length(deep) <= deep + 1 + 1e-5
