"""Do the hub and the registries answer, and does their clock agree: only when that is asked for.

Layer: device (standard library, Python 3.8). Pure: what was reached becomes findings. All of them
are warnings: a board that never goes online deploys from what it has.
"""

from __future__ import annotations

from typing import List

from speccompose.device.check_clock import SKEW_S
from speccompose.device.host_finding import HostFinding, warning
from speccompose.device.host_texts import Needs
from speccompose.device.observe import Observed

_NAMES = ("name resolution", "name or service not known", "no address associated")


def check_network(observed: Observed, needs: Needs) -> List[HostFinding]:
    """Every source that did not answer, and a clock that is not theirs."""
    found = []
    for host, reached in sorted(observed.reached.items()):
        if reached.fault is None:
            continue
        dns = any(words in reached.fault.lower() for words in _NAMES)
        found.append(
            warning(
                "name_not_found" if dns else "source_unreachable",
                f"{host}: " + ("its name is not found" if dns else "it does not answer"),
                "deploy with --offline from what is here, or name a mirror",
                evidence=(reached.fault[:160],),
                fix=(f"getent hosts {host}",),
            )
        )
    dates = [item.date_s for item in observed.reached.values() if item.date_s is not None]
    now = observed.now_s
    if dates and now is not None and abs(now - dates[0]) > SKEW_S:
        found.append(
            warning(
                "clock_differs",
                f"this clock differs from the network's by {abs(now - dates[0]) / 60:.0f} minutes",
                evidence=("Date header of an answer",),
                fix=("sudo timedatectl set-ntp true",),
            )
        )
    return found
