"""Maintenance windows: is a board's window open at this moment. Pure.

Layer: fleet. Windows stand in the fleet file in their own time zone; summer time is the zone's.
"""

import functools
from collections.abc import Mapping
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from speccompose.vocab.fleet import WindowEntry

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def is_open(windows: Mapping[str, WindowEntry], name: str | None, wall: float) -> bool:
    """Whether a board with this window (None: always) may be changed now.

    An unknown name is closed: the fleet file's reader refuses it, and nothing is guessed here.
    """
    if name is None:
        return True
    window = windows.get(name)
    if window is None:
        return False
    local = datetime.fromtimestamp(wall, zone(window.zone))
    clock = local.strftime("%H:%M")
    today, before = _DAYS[local.weekday()], _DAYS[(local - timedelta(days=1)).weekday()]
    if window.start < window.end:
        return today in window.days and window.start <= clock < window.end
    late = today in window.days and clock >= window.start
    early = before in window.days and clock < window.end
    return late or early


@functools.cache
def zone(name: str) -> ZoneInfo:
    """The time zone of a name ('Europe/Berlin'), read once.

    Raises:
        ValueError: no such zone is known on this machine.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError) as error:
        raise ValueError(f"no time zone {name!r} is known here") from error
