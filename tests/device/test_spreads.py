"""Quantiles that draw a distribution, against the standard library's own."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.device.spreads import STEPS, percentile, spread_out


@pytest.mark.parametrize(
    ("values", "share", "wanted"),
    [([], 0.5, None), ([3.0], 0.99, 3.0), ([1, 2, 3, 4], 0.5, 2.5), ([4, 1, 3, 2], 1.0, 4)],
)
def test_percentile(values, share, wanted):
    assert percentile(values, share) == wanted


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=60))
def test_quantiles_are_those_of_the_standard_library(values):
    spread = spread_out(values)
    assert spread.size == len(values)
    assert spread.mean == pytest.approx(statistics.fmean(values))
    inner = statistics.quantiles(values, n=STEPS, method="inclusive")
    assert list(spread.quantiles) == pytest.approx([min(values), *inner, max(values)])


def test_nothing_has_no_spread():
    assert spread_out([]).as_dict() == {"count": 0, "mean": None, "quantiles": []}
    assert spread_out([2.0]).as_dict() == {"count": 1, "mean": 2.0, "quantiles": [2.0] * 21}
