"""S23: windows in their own time zone, over midnight, through summer time."""

from datetime import datetime, timezone

import pytest

from speccompose.fleet.windows import is_open, zone
from speccompose.vocab.fleet import WindowEntry

WINDOWS = {
    "night": WindowEntry(zone="Europe/Berlin", start="22:00", end="04:00", days=("mon", "fri")),
    "noon": WindowEntry(zone="America/New_York", start="12:00", end="13:00"),
}


@pytest.mark.parametrize(
    ("name", "utc", "expected"),
    [
        (None, "2026-11-30T03:00", True),
        ("night", "2026-11-30T20:59", False),
        ("night", "2026-11-30T21:00", True),  # Monday, 22:00 in Berlin
        ("night", "2026-12-01T02:59", True),  # still Monday's night
        ("night", "2026-12-01T03:00", False),
        ("night", "2026-12-01T21:30", False),  # Tuesday is none of its days
        ("night", "2026-06-05T20:30", True),  # Friday, 22:30 in summer time
        ("noon", "2026-11-30T17:30", True),
        ("noon", "2026-07-01T17:30", False),
        ("noon", "2026-07-01T16:30", True),
        ("nobody", "2026-07-01T16:30", False),
    ],
)
def test_s23_open_or_closed(name, utc, expected):
    wall = datetime.fromisoformat(utc).replace(tzinfo=timezone.utc).timestamp()
    assert is_open(WINDOWS, name, wall) is expected


@pytest.mark.parametrize("name", ["Europe/Atlantis", "", "../etc/passwd", "UTC+1 oder so"])
def test_an_unknown_zone_is_refused(name):
    with pytest.raises(ValueError, match="no time zone"):
        zone(name)
