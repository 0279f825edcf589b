"""Does the board run at full power and steady clocks, or is it held down right now.

Layer: device (standard library, Python 3.8). Pure: observed texts become findings. Nothing here
makes a deploy fail; it makes a board slow, and measurements differ.
"""

from __future__ import annotations

import re
from typing import List

from speccompose.device.host_finding import HostFinding, info, warning
from speccompose.device.host_texts import Needs, l4t, said
from speccompose.device.observe import Observed
from speccompose.device.power_modes import CONF, STATUS, current_mode, highest_mode, read_modes

_HOT_C = 95.0
_NANO_SUPER = re.compile(r"^(?:7|10|15)W", re.I)


def check_power(observed: Observed, needs: Needs) -> List[HostFinding]:
    """Mode, clocks, throttling."""
    return [*_mode(observed), *_clocks(observed, needs), *_throttled(observed)]


def _mode(observed: Observed) -> List[HostFinding]:
    conf = observed.files.get(CONF, "")
    queried = said(observed, "nvpmodel -q") or ""
    current = current_mode(queried, observed.files.get(STATUS, ""), conf)
    best = highest_mode(conf)
    if current is None:
        return []
    if best is None:
        if current.upper().startswith("MAXN"):
            return []
        text = f"power mode {current}: not the highest that a board of this kind has"
        return [info("power_mode_low", text, "see its modes: nvpmodel -p --verbose")]
    found = []
    if current != best.name:
        names = ", ".join(mode.name for mode in read_modes(conf))
        found.append(
            warning(
                "power_mode_low",
                f"power mode {current}, and {best.name} is the highest here",
                "an id means another mode on another module: set it by what this board lists",
                evidence=(f"nvpmodel -q: {current}", f"{CONF}: {names}"),
                fix=(f"sudo nvpmodel -m {best.id}  # {best.name}",),
            )
        )
    if l4t(observed) and not best.name.upper().startswith("MAXN") and _NANO_SUPER.match(best.name):
        found.append(
            info(
                "not_super",
                f"this board lists no MAXN mode; {best.name} is its most",
                "an installer may have flashed an Orin Nano as non-Super: newer firmware mends it",
                evidence=(f"{CONF}: {', '.join(mode.name for mode in read_modes(conf))}",),
            )
        )
    return found


def _clocks(observed: Observed, needs: Needs) -> List[HostFinding]:
    if observed.conditions is None or needs.gpu_runtime is None or not l4t(observed):
        return []
    limits = dict(observed.conditions.clocks)
    loose = [
        name.split("/")[0]
        for name, low in limits.items()
        if name.endswith("/scaling_min_freq")
        and limits.get(name.replace("_min_", "_max_"), low) != low
    ]
    if not loose:
        return []
    return [
        info(
            "clocks_not_locked",
            "clocks follow the load: answers start slower and measurements vary",
            "the setting is lost at reboot; a unit can set it anew",
            evidence=(f"{', '.join(sorted(loose)[:4])}: lowest and highest clock differ",),
            fix=("sudo jetson_clocks",),
        )
    ]


def _throttled(observed: Observed) -> List[HostFinding]:
    if observed.conditions is None:
        return []
    hottest = observed.conditions.hottest_c
    raised = list(observed.conditions.cooling)
    if hottest is not None and hottest >= _HOT_C:
        raised.append(f"hottest zone {hottest:.0f} degrees")
    if not raised:
        return []
    return [
        warning(
            "throttled_now",
            "the board holds its clocks down right now, for heat or for current",
            "fan, power supply, or a lower power mode",
            evidence=raised,
        )
    ]
