"""What the on-board operations act through, and how they tell what they do.

Layer: device (standard library, Python 3.8). Docker, this machine, a running server: three small
classes, bundled so that an operation takes one argument for the world and a test hands it fakes.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Callable, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple

from speccompose.device.answers import Server
from speccompose.device.docker_cli import Docker
from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.host_docker import HostDocker
from speccompose.device.machine import Machine
from speccompose.device.plan_file import Plan
from speccompose.device.program import PROGRAM
from speccompose.device.systemd_cli import Systemd


class Progress(NamedTuple):
    """One line of what is going on, with the seconds since its step began."""

    step: str
    message: str
    elapsed_s: float = 0.0


Say = Callable[[Progress], None]
Connect = Callable[[Plan, Optional[str]], Server]


def connect(plan: Plan, key: Optional[str]) -> Server:
    """The server of a plan on this machine."""
    return Server(plan.engine, plan.local_host, plan.port, key)


def unbreakable(say: Say) -> Say:
    """The same, but whoever listens may have gone: an undo must not end because of that."""

    def safely(progress: Progress) -> None:
        with suppress(OSError, ValueError):
            say(progress)

    return safely


def silent(progress: Progress) -> None:
    """Say nothing."""


class Units(Protocol):
    """What starts programs when we are gone: systemd, where a board has it.

    ``name`` is a unit's name without its suffix where nothing else is said.
    """

    @property
    def program(self) -> Path:
        """The on-board program that the board's own units call."""

    def available(self) -> bool:
        """Whether there is such a thing here and we may use it; the rest is only called then."""

    def arm(self, name: str, after_s: float, argv: Sequence[str]) -> None:
        """Let a program run once, ``after_s`` seconds from now; a timer of that name is replaced.

        The time is monotonic: a clock that is set meanwhile changes nothing. It does not survive
        a reboot; ``recover`` stands for it then.

        Raises:
            DeviceError: status 15 when it cannot be armed.
        """

    def disarm(self, name: str) -> None:
        """Take a timer away; one that is not armed (any more) is none to take away.

        May be called from within the program that the timer has started.
        """

    def is_armed(self, name: str) -> bool:
        """Whether a timer waits under that name."""

    def run_transient(
        self, unit: str, argv: Sequence[str], *, afterwards: Sequence[str] = ()
    ) -> None:
        """Start a program as a unit of its own and return; there is never more than one.

        ``afterwards`` runs when it has ended, however it did.

        Raises:
            DeviceError: status 12 when the unit runs, 15 when it cannot be started.
        """

    def unit_state(self, unit: str) -> Optional[str]:
        """'active', 'inactive', 'failed', ... of a whole unit name; None when not installed."""

    def outlives_boot(self, folder: Path) -> bool:
        """Whether what lies in a folder is still there after a boot."""

    def install(self, units: Mapping[str, bytes]) -> Tuple[str, ...]:
        """Write unit files that differ; returns the names of those."""

    def uninstall(self, names: Sequence[str]) -> Tuple[str, ...]:
        """Disable units and take their files away; returns the names of those that were there."""

    def installed(self, name: str) -> Optional[bytes]:
        """The unit file of that name; None without one."""

    def enable(self, name: str) -> bool:
        """Let a unit start at boot; False when it does already."""

    def disable(self, name: str) -> bool:
        """Let a unit not start at boot; False when it does not anyway."""

    def start(self, name: str, timeout_s: float) -> None:
        """Start a unit and wait for it."""

    def stop(self, name: str, timeout_s: float) -> None:
        """Stop a unit and wait for it; one that does not exist is stopped."""

    def reset_failed(self, name: str) -> None:
        """Forget that a unit failed, and how often it was started."""


class NoUnits:
    """A machine without systemd, as most containers are."""

    @property
    def program(self) -> Path:
        """No unit calls any."""
        return PROGRAM

    def available(self) -> bool:
        """Never."""
        return False

    def arm(self, name: str, after_s: float, argv: Sequence[str]) -> None:
        """Refuse: what nobody will start must not be counted on."""
        raise DeviceError(
            PREFLIGHT,
            "no timer can be armed on this machine",
            ["systemd does not run here, or may not be asked"],
            hint="deploy without --confirm-within: it commits by itself",
            code="no_timer",
        )

    def disarm(self, name: str) -> None:
        """Nothing is armed."""

    def is_armed(self, name: str) -> bool:
        """Never."""
        return False

    def run_transient(
        self, unit: str, argv: Sequence[str], *, afterwards: Sequence[str] = ()
    ) -> None:
        """Refuse: nothing would carry on when we are gone."""
        raise DeviceError(
            PREFLIGHT,
            "no unit can be started on this machine",
            ["systemd does not run here, or may not be asked"],
            hint="call `deploy` on the board itself",
            code="no_systemd",
        )

    def unit_state(self, unit: str) -> Optional[str]:
        """No unit is installed."""
        return None

    def outlives_boot(self, folder: Path) -> bool:
        """Nothing starts at boot anyway."""
        return False

    def install(self, units: Mapping[str, bytes]) -> Tuple[str, ...]:
        """Nothing is written."""
        return ()

    def uninstall(self, names: Sequence[str]) -> Tuple[str, ...]:
        """Nothing was there."""
        return ()

    def installed(self, name: str) -> Optional[bytes]:
        """Nothing is there."""
        return None

    def enable(self, name: str) -> bool:
        """Nothing changes."""
        return False

    def disable(self, name: str) -> bool:
        """Nothing changes."""
        return False

    def start(self, name: str, timeout_s: float) -> None:
        """There is nothing to start."""

    def stop(self, name: str, timeout_s: float) -> None:
        """Nothing runs."""

    def reset_failed(self, name: str) -> None:
        """Nothing failed."""


class Ports(NamedTuple):
    """The world as operations see it."""

    docker: Docker
    machine: Machine
    connect: Connect = connect
    units: Units = NoUnits()


def real_ports() -> Ports:
    """This machine, through the command lines of docker and systemd."""
    systemd = Systemd()
    return Ports(HostDocker(systemd=systemd), Machine(), units=systemd)
