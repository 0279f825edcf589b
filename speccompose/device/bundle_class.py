"""Is this board one of those that a bundle was made for.

Layer: device (standard library, Python 3.8). Pure but for what the ports read: processor, system on
chip, major L4T release, memory. A board that does not say what it is, is not one of them.
"""

from __future__ import annotations

import re
from typing import List, Optional

from speccompose.device.bundle_manifest import Board
from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.ports import Ports

_COMPATIBLE = "/sys/firmware/devicetree/base/compatible"
_RELEASE = "/etc/nv_tegra_release"
_SOC = re.compile(r"nvidia,(tegra\d+)(?![0-9a-z])")
_MAJOR = re.compile(r"^# R(\d+) ", re.MULTILINE)
_MACHINES = {"arm64": "aarch64", "amd64": "x86_64"}
_LEAST_SHARE = 0.9
"""Boards of one module differ by a few percent in MemTotal; the next smaller module has half."""


def refuse_other_class(wanted: Board, ports: Ports) -> None:
    """Refuse a bundle for other boards, naming every difference.

    Raises:
        DeviceError: status 15.
    """
    faults = _faults(wanted, ports)
    if faults:
        raise DeviceError(
            PREFLIGHT,
            "this bundle is for other boards",
            [f"made for: {', '.join(wanted.devices)}", *faults],
            hint="take the bundle of this board's class",
            code="other_class",
        )


def _faults(wanted: Board, ports: Ports) -> List[str]:
    host, found = ports.machine.host(), []
    here = ports.machine.architecture()
    if here != _MACHINES.get(wanted.architecture, wanted.architecture):
        found.append(f"processor: {wanted.architecture} wanted, {here} here")
    soc = _only(_SOC, host.text(_COMPATIBLE))
    if wanted.soc is not None and _SOC.fullmatch(f"nvidia,{wanted.soc}") and soc != wanted.soc:
        found.append(f"system on chip: {wanted.soc} wanted, {soc or 'unknown'} here")
    major = _only(_MAJOR, host.text(_RELEASE))
    if wanted.l4t_major is not None and major != str(wanted.l4t_major):
        found.append(f"L4T: R{wanted.l4t_major} wanted, {'R' + major if major else 'none'} here")
    memory = ports.machine.memory_mib().get("MemTotal", 0)
    if wanted.memory_mib is not None and memory < wanted.memory_mib * _LEAST_SHARE:
        found.append(f"memory: {wanted.memory_mib} MiB wanted, {memory} MiB here")
    return found


def _only(pattern: "re.Pattern[str]", text: Optional[str]) -> Optional[str]:
    match = pattern.search(text or "")
    return None if match is None else match.group(1)
