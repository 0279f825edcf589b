"""Is this host's clock right: never behind its own past, and kept in time by somebody.

Layer: device (standard library, Python 3.8). Pure: observed texts become findings. Downloads fail
under a wrong clock (no certificate is valid yet); what is all here starts under any.
"""

from __future__ import annotations

import time
from typing import List

from speccompose.device.host_finding import HostFinding, error, warning
from speccompose.device.host_texts import Needs, starting
from speccompose.device.observe import Observed

SKEW_S = 300.0
"""S24 of the rollout rules: within five minutes."""

_BEHIND_S = 86400.0
_NO_SUCH_PAST_S = 1735689600.0
"""2025: this program is younger than that."""

_FIX = ("sudo timedatectl set-ntp true", "timedatectl timesync-status")


def check_clock(observed: Observed, needs: Needs) -> List[HostFinding]:
    """One finding about the clock at most: the worst."""
    now = observed.now_s
    if now is None:
        return []
    if needs.clock_s is not None and abs(now - needs.clock_s) > SKEW_S:
        return [
            error(
                "clock_skewed",
                f"this clock is {_span(now - needs.clock_s)} of who asked (5 minutes are allowed)",
                evidence=(f"here {_shown(now)}, there {_shown(needs.clock_s)}",),
                fix=_FIX,
            )
        ]
    past = max(observed.past_s or 0.0, _NO_SUCH_PAST_S)
    if now + _BEHIND_S < past:
        return [
            (error if needs.pulls else warning)(
                "clock_wrong",
                f"this clock says {_shown(now)}, which is past",
                "downloads fail: no certificate is valid yet; a board without a clock battery "
                "needs NTP",
                evidence=(f"something here was written at {_shown(past)}",),
                fix=_FIX,
            )
        ]
    told = starting(observed, "timedatectl show")
    lines = told.out.split() if told is not None and told.status == 0 else []
    if "NTPSynchronized=no" in lines:
        off = "NTP=no" in lines
        return [
            warning(
                "clock_unsynchronised",
                "nobody keeps this clock in time" + (": NTP is off" if off else ""),
                evidence=(" ".join(sorted(lines))[:120],),
                fix=_FIX,
            )
        ]
    return []


def _span(seconds: float) -> str:
    side = "ahead" if seconds > 0 else "behind"
    seconds = abs(seconds)
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name} {side}"
    return f"{seconds:.0f} seconds {side}"


def _shown(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g} s since 1970"
