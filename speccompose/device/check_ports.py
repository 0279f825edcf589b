"""Can a server listen on the port that is planned, whoever else is there.

Layer: device (standard library, Python 3.8). Pure: observed texts become findings. Whether a port
is free right now is judged in ``check_plan``.
"""

from __future__ import annotations

from typing import List

from speccompose.device.host_finding import HostFinding, error
from speccompose.device.host_texts import Needs
from speccompose.device.observe import Observed

_START = "/proc/sys/net/ipv4/ip_unprivileged_port_start"


def check_ports(observed: Observed, needs: Needs) -> List[HostFinding]:
    """A low port on the host's network: the server has no capability to take it."""
    told = observed.files.get(_START, "").strip()
    first = int(told) if told.isascii() and told.isdigit() and len(told) < 6 else None
    if needs.port is None or not needs.host_network or first is None or needs.port >= first:
        return []
    return [
        error(
            "port_privileged",
            f"port {needs.port} is below {first}: the server runs without the right to take it",
            "plan with another --port, and forward from the low one if it must be",
            evidence=(f"{_START}: {first}",),
            fix=(f"sudo sysctl -w net.ipv4.ip_unprivileged_port_start={needs.port}",),
        )
    ]
