"""Expiry, and clocks that cannot judge it."""

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.validity import Validity, parse_validity, refuse_outdated, told

DAY = 86400.0
HOLDS = Validity(1_800_000_000.0, 1_800_000_000.0 + 10 * DAY)


def test_what_is_told_is_read_again():
    assert parse_validity(told(HOLDS.made_s), told(HOLDS.expires_s)) == HOLDS


@pytest.mark.parametrize(
    ("made", "expires"),
    [
        (None, told(5)),
        (told(5), 5),
        (told(5), told(5)),
        (told(6), told(5)),
        ("2026-11-30", told(5)),
        (told(5), "9999-99-99T00:00:00Z"),
        (told(5), ""),
    ],
)
def test_times_that_are_none(made, expires):
    with pytest.raises(ValueError, match=r"made|expires"):
        parse_validity(made, expires)


@pytest.mark.parametrize(
    ("now_s", "code"),
    [
        (HOLDS.made_s, None),
        (HOLDS.expires_s, None),
        (HOLDS.expires_s + 1, "expired"),
        (HOLDS.made_s - DAY, None),
        (HOLDS.made_s - DAY - 1, "clock_wrong"),
        (0.0, "clock_wrong"),
    ],
)
def test_what_has_expired_and_what_a_clock_cannot_judge(now_s, code):
    if code is None:
        refuse_outdated("it", HOLDS, now_s)
        return
    with pytest.raises(DeviceError) as caught:
        refuse_outdated("it", HOLDS, now_s)
    assert (caught.value.status, caught.value.code) == (15, code)
