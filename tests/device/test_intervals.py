"""Student's t and the Welch interval against SciPy, and their coverage by simulation."""

import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from speccompose.device.intervals import ratio_of, spread_of, t_exceeded, t_quantile

TAILS = [0.25, 0.1, 0.05, 0.025, 0.01, 1e-3, 1e-4]


@pytest.mark.parametrize("freedom", [1.0, 1.3, 2.0, 2.71, 4.0, 7.5, 22.0, 150.0])
@pytest.mark.parametrize("tail", TAILS)
def test_quantile_is_scipys(tail, freedom):
    assert t_quantile(tail, freedom) == pytest.approx(stats.t.isf(tail, freedom), rel=1e-8)


@given(st.floats(0, 60), st.floats(1, 400))
def test_tail_is_scipys(value, freedom):
    assert t_exceeded(value, freedom) == pytest.approx(stats.t.sf(value, freedom), rel=1e-7)


speeds = st.lists(st.floats(10, 200), min_size=2, max_size=12)


@given(speeds, speeds)
def test_interval_is_welchs(base, other):
    assume(min(spread_of(base).variance, spread_of(other).variance) > 1e-6)
    ratio = ratio_of(spread_of(other), spread_of(base), low_tail=0.025, high_tail=0.01)
    logs = [math.log(v) for v in other], [math.log(v) for v in base]
    welch = stats.ttest_ind(*logs, equal_var=False)
    low = welch.confidence_interval(0.95).low
    high = welch.confidence_interval(0.98).high
    assert math.log(ratio.low) == pytest.approx(low, rel=1e-6, abs=1e-9)
    assert math.log(ratio.high) == pytest.approx(high, rel=1e-6, abs=1e-9)
    assert ratio.low <= ratio.value <= ratio.high


def test_equal_repeats_have_no_width():
    ratio = ratio_of(spread_of([20.0] * 3), spread_of([10.0] * 3), low_tail=0.02, high_tail=0.02)
    assert ratio == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize("values", [[], [5.0], [5.0, 0.0], [5.0, -1.0]])
def test_what_cannot_be_compared_is_refused(values):
    with pytest.raises(ValueError, match="two or more repeats above zero"):
        spread_of(values)


@pytest.mark.parametrize("noise", [(0.02, 0.02), (0.01, 0.04)])
def test_three_repeats_are_covered(noise):
    """The reason for t: a percentile bootstrap of three numbers covers 75 of 100 here."""
    rng = random.Random(3)
    missed, trials = 0, 2000
    for _ in range(trials):
        base = [math.exp(rng.gauss(0.0, noise[0])) for _ in range(3)]
        other = [math.exp(rng.gauss(0.1, noise[1])) for _ in range(3)]
        ratio = ratio_of(spread_of(other), spread_of(base), low_tail=0.025, high_tail=0.025)
        missed += not ratio.low <= math.exp(0.1) <= ratio.high
    assert missed / trials < 0.06


def test_two_wild_repeats_leave_everything_open_and_overflow_nothing():
    """A board that throttles in one of two repeats: 40 tokens/s, then 9."""
    wild, calm = spread_of([40.0, 9.0]), spread_of([40.0, 40.1])
    for other, base in ((wild, calm), (calm, wild)):
        ratio = ratio_of(other, base, low_tail=0.0003, high_tail=0.0003)
        assert 0.0 < ratio.low < ratio.value < ratio.high
