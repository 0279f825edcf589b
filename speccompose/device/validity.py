"""When something was made and until when it holds, against this board's clock.

Layer: device (standard library, Python 3.8). Pure. A release that somebody keeps back must not
look like the newest for ever (TUF's freeze attack). A clock that is behind the making of what it
judges judges nothing.
"""

from __future__ import annotations

import calendar
import time
from typing import NamedTuple

from speccompose.device.errors import PREFLIGHT, DeviceError

BEHIND_S = 86400.0
"""So far may a clock be behind whoever made it; as doctor allows."""

_FORM = "%Y-%m-%dT%H:%M:%SZ"


class Validity(NamedTuple):
    """Seconds since 1970."""

    made_s: float
    expires_s: float


def parse_validity(made: object, expires: object) -> Validity:
    """Two times as JSON carries them.

    Raises:
        ValueError: one is none, or it ends before it begins.
    """
    found = Validity(_seconds("made", made), _seconds("expires", expires))
    if found.expires_s <= found.made_s:
        raise ValueError("it expires before it was made")
    return found


def told(seconds: float) -> str:
    """A time as JSON carries it: UTC, whole seconds."""
    return time.strftime(_FORM, time.gmtime(seconds))


def refuse_outdated(what: str, validity: Validity, now_s: float) -> None:
    """Refuse what does not hold any more, and any judgement by a wrong clock.

    Raises:
        DeviceError: status 15.
    """
    if now_s + BEHIND_S < validity.made_s:
        raise DeviceError(
            PREFLIGHT,
            f"this board's clock is behind: {what} is from a time that is still to come",
            [f"here: {told(now_s)}", f"made: {told(validity.made_s)}"],
            hint="set the clock first: date --utc --set ..., or timedatectl set-ntp true",
            code="clock_wrong",
        )
    if now_s > validity.expires_s:
        raise DeviceError(
            PREFLIGHT,
            f"{what} has expired",
            [f"here: {told(now_s)}", f"it held until: {told(validity.expires_s)}"],
            hint="make a new one; if this clock is wrong, set it",
            code="expired",
        )


def _seconds(key: str, value: object) -> float:
    if not isinstance(value, str):
        raise ValueError(f"{key}: wanted a time, found {value!r}")
    try:
        return float(calendar.timegm(time.strptime(value, _FORM)))
    except (ValueError, OverflowError):
        raise ValueError(f"{key}: wanted 2026-11-30T12:00:00Z, found {value[:40]!r}") from None
