"""Few looks, and together no more error than one interval may have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.device.looks import CONFIDENCE, look_points, tails_at


@pytest.mark.parametrize(
    ("least", "most", "wanted"),
    [
        (3, 12, (3, 5, 8, 12)),
        (3, 5, (3, 5)),
        (3, 3, (3,)),
        (2, 12, (2, 3, 5, 8, 12)),
        (5, 4, (4,)),
    ],
)
def test_points(least, most, wanted):
    assert look_points(least, most) == wanted


@given(st.integers(2, 12), st.integers(2, 60))
def test_all_looks_together_stay_within_the_confidence(least, most):
    points = look_points(least, most)
    tails = [tails_at(point, points) for point in points]
    assert sum(tail.passing for tail in tails) == pytest.approx((1 - CONFIDENCE) / 2)
    assert sum(3 * tail.failing for tail in tails) == pytest.approx((1 - CONFIDENCE) / 2)
    assert [tail.passing for tail in tails] == sorted(tail.passing for tail in tails)


def test_between_two_looks_it_is_the_earlier_one():
    points = look_points(3, 12)
    assert tails_at(4, points) == tails_at(3, points)
    assert tails_at(2, points) == tails_at(3, points)
    assert tails_at(20, points) == tails_at(12, points)
