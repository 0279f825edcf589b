"""A wanted power mode, by name, becomes the one that runs; clocks are locked and given back.

Layer: device (standard library, Python 3.8). Never by id: 0 is MAXN on AGX Orin, Orin NX and Thor,
and 15 W on Orin Nano. Only on request, now or (by a unit) at every boot: nvpmodel keeps its mode
over a boot, jetson_clocks keeps nothing. nvpmodel may ask whether to reboot; it is never answered,
and the answer of this module says so.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional

from speccompose.device.command import NOT_FOUND, Completed
from speccompose.device.errors import PREFLIGHT, USAGE, DeviceError
from speccompose.device.host_reader import HostReader
from speccompose.device.paths import Roots
from speccompose.device.ports import Ports
from speccompose.device.power_modes import (
    CONF,
    STATUS,
    PowerMode,
    current_mode,
    highest_mode,
    read_modes,
)
from speccompose.device.units import POWER, power_unit

HIGHEST = "max"
CLOCKS_BEFORE = "/run/speccompose-clocks.conf"
"""What clocks were before they were locked; gone after a boot, as the lock is."""

_SET_S = 60.0


class Wanted(NamedTuple):
    """What is asked for; nothing given changes nothing."""

    mode: Optional[str] = None
    clocks: bool = False
    restore_clocks: bool = False


class Power(NamedTuple):
    """How the board stands. ``reboot_needed``: the mode comes with the next boot."""

    mode: Optional[str]
    modes: "tuple[str, ...]"
    highest: Optional[str]
    changed: bool = False
    reboot_needed: bool = False
    clocks: Optional[str] = None
    at_boot: Optional[str] = None

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        return {**self._asdict(), "modes": list(self.modes)}


def look_at_power(ports: Ports) -> Power:
    """The mode that runs, and those that there are."""
    host = ports.machine.host()
    conf = host.text(CONF) or ""
    queried = host.run(("nvpmodel", "-q"), _SET_S).stdout
    best = highest_mode(conf)
    return Power(
        mode=current_mode(queried, host.text(STATUS) or "", conf),
        modes=tuple(mode.name for mode in read_modes(conf)),
        highest=None if best is None else best.name,
        at_boot=_at_boot(ports),
    )


def set_power(wanted: Wanted, ports: Ports) -> Power:
    """Set what is wanted and nothing else; what is so already is left alone.

    Raises:
        DeviceError: 2 for a mode that this board does not have, 15 when it has none at all or its
            tools fail.
    """
    changed, reboot, clocks = False, False, None
    host = ports.machine.host()
    if wanted.mode is not None:
        mode = _find(wanted.mode, host.text(CONF) or "")
        if look_at_power(ports).mode != mode.name:
            reboot = _set_mode(mode, host)
            changed = True
    now = look_at_power(ports)
    if changed and not reboot and now.mode is not None and now.mode != wanted_name(wanted, now):
        raise _fault("nvpmodel", [f"wanted {wanted.mode}, the board says {now.mode}"])
    if wanted.clocks:
        clocks = _lock_clocks(host)
    if wanted.restore_clocks:
        clocks = _restore_clocks(host)
    return now._replace(changed=changed, reboot_needed=reboot, clocks=clocks)


def wanted_name(wanted: Wanted, now: Power) -> Optional[str]:
    """The name of the mode that is wanted."""
    return now.highest if wanted.mode == HIGHEST else wanted.mode


def set_at_boot(wanted: Wanted, roots: Roots, ports: Ports) -> bool:
    """Let a unit set the same at every boot; False when it does already.

    Raises:
        DeviceError: 2 when nothing is wanted, 15 without systemd.
    """
    if wanted.mode is None and not wanted.clocks:
        raise DeviceError(
            USAGE,
            "neither a power mode nor clocks are to be set",
            hint="check power --mode max --clocks --at-boot",
            code="nothing_to_set",
        )
    if not ports.units.available():
        raise DeviceError(
            PREFLIGHT,
            "nothing can set the power mode at boot here",
            ["systemd does not run, or takes no orders from us"],
            hint="run as root on the board",
            code="power_not_managed",
        )
    unit = power_unit(wanted.mode, wanted.clocks, roots, ports.units.program)
    changed = bool(ports.units.install({POWER: unit}))
    return ports.units.enable(POWER) or changed


def not_at_boot(ports: Ports) -> bool:
    """Take that unit away again; False when there was none. What is set now stays."""
    if not ports.units.available() or ports.units.installed(POWER) is None:
        return False
    return bool(ports.units.uninstall((POWER,)))


def _at_boot(ports: Ports) -> Optional[str]:
    """The unit's words, where there is one."""
    unit = ports.units.installed(POWER) if ports.units.available() else None
    for line in (unit or b"").decode("utf-8", "replace").splitlines():
        if line.startswith("ExecStart="):
            return line.partition(" power ")[2]
    return None


def _find(name: str, conf: str) -> PowerMode:
    modes = read_modes(conf)
    best = highest_mode(conf)
    if name == HIGHEST and best is not None:
        return best
    found = [mode for mode in modes if mode.name == name]
    if found:
        return found[0]
    names = ", ".join(mode.name for mode in modes)
    if not modes or name == HIGHEST:
        raise DeviceError(
            PREFLIGHT,
            "this board does not tell which of its power modes is the highest",
            [f"{CONF} lists: {names or 'no mode'}"],
            hint="name one of its modes" if modes else "DGX Spark and PCs have no power modes",
            code="no_power_modes",
        )
    raise DeviceError(
        USAGE,
        f"this board has no power mode {name}",
        [f"{CONF} lists: {names}"],
        hint="name one of these, or max; never an id",
        code="unknown_power_mode",
    )


def _set_mode(mode: PowerMode, host: HostReader) -> bool:
    """Whether it comes with the next boot only."""
    done = host.run(("nvpmodel", "-m", str(mode.id)), _SET_S)
    said = f"{done.stdout}\n{done.stderr}"
    if "reboot" in said.lower():
        return True
    _must(done)
    return False


def _lock_clocks(host: HostReader) -> str:
    if not host.exists(CLOCKS_BEFORE):
        _must(host.run(("jetson_clocks", "--store", CLOCKS_BEFORE), _SET_S))
    _must(host.run(("jetson_clocks",), _SET_S))
    return "locked"


def _restore_clocks(host: HostReader) -> str:
    if not host.exists(CLOCKS_BEFORE):
        return "as they were"
    _must(host.run(("jetson_clocks", "--restore", CLOCKS_BEFORE), _SET_S))
    host.run(("rm", "-f", CLOCKS_BEFORE), _SET_S)
    return "given back"


def _must(done: Completed) -> None:
    if done.returncode != 0:
        lines: List[str] = (done.stderr or done.stdout).strip().splitlines()[-4:]
        if done.returncode == NOT_FOUND:
            lines = [f"{done.argv[0]} is not on this machine"]
        raise _fault(done.argv[0], lines)


def _fault(program: str, why: List[str]) -> DeviceError:
    return DeviceError(
        PREFLIGHT,
        f"{program} did not set it",
        why,
        hint="run as root on the board; see: nvpmodel -q",
        code="power_fault",
    )
