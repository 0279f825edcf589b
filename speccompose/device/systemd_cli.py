"""The systemctl command line becomes typed answers: units, timers, transient services.

Layer: device (standard library, Python 3.8), over ``command``. Nothing is decided here. Only keys
and options that systemd 247 knows. What cannot be done is a DeviceError with status 15; a transient
unit that runs already is status 12, because its fixed name is the lock. Where the init process is
no systemd, ``available`` says so and nobody asks for more.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Callable, List, Mapping, Optional, Sequence, Tuple

from speccompose.device import command
from speccompose.device.command import TIMED_OUT, Completed
from speccompose.device.docker_cli import Runner
from speccompose.device.errors import LOCKED, PREFLIGHT, DeviceError
from speccompose.device.small_file import read_small_text
from speccompose.device.state import write_atomic
from speccompose.device.systemd_values import Places as Places
from speccompose.device.systemd_values import UnitState as UnitState

QUESTION_S = 30.0
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9:_.@-]*$")
_KEYS = ("LoadState", "ActiveState")


class Systemd:
    """Asks systemd through ``run``."""

    def __init__(
        self,
        run: Runner = command.run,
        places: Places = Places(),  # noqa: B008 (it cannot be changed)
        is_root: Callable[[], bool] = lambda: os.geteuid() == 0,
    ) -> None:
        self._run = run
        self._places = places
        self._is_root = is_root

    @property
    def program(self) -> Path:
        """The on-board program that the board's own units call."""
        return self._places.program

    def available(self) -> bool:
        """Whether systemd is the init process here and takes orders from us."""
        return self._places.booted.is_dir() and self._is_root()

    def outlives_boot(self, folder: Path) -> bool:
        """Whether what lies there is still there after a boot."""
        return not f"{folder}/".startswith(self._places.passing)

    def install(self, units: Mapping[str, bytes]) -> Tuple[str, ...]:
        """Write unit files that are not there or differ, all atomically; returns their names.

        systemd reads its files again only when one has changed.

        Raises:
            DeviceError: status 15 when one cannot be written or a person has masked it.
        """
        changed: List[str] = []
        for name, content in sorted(units.items()):
            path = self._path(name)
            if path.is_symlink() and os.path.realpath(str(path)) == "/dev/null":
                raise DeviceError(
                    PREFLIGHT,
                    f"{name} is masked on this board",
                    [f"{path} leads to /dev/null"],
                    hint=f"systemctl unmask {name}, then try again",
                    code="unit_masked",
                )
            if _content(path) == content:
                continue
            try:
                self._places.units.mkdir(parents=True, exist_ok=True)
                write_atomic(path, content, 0o644)
            except OSError as error:
                raise DeviceError(
                    PREFLIGHT,
                    f"cannot write the unit {name}",
                    [str(error)],
                    hint="run as root",
                    code="unit_unwritable",
                ) from error
            changed.append(name)
        if changed:
            self.reload()
        return tuple(changed)

    def uninstall(self, names: Sequence[str]) -> Tuple[str, ...]:
        """Disable units and take their files away; those that are not there are passed over.

        Raises:
            DeviceError: status 15 when a file stays.
        """
        gone: List[str] = []
        for name in names:
            path = self._path(name)
            if not os.path.lexists(str(path)):
                continue
            self.disable(name)
            try:
                path.unlink()
            except OSError as error:
                raise DeviceError(
                    PREFLIGHT,
                    f"cannot remove the unit {name}",
                    [str(error)],
                    hint="run as root",
                    code="unit_unwritable",
                ) from error
            gone.append(name)
        if gone:
            self.reload()
        return tuple(gone)

    def installed(self, name: str) -> Optional[bytes]:
        """The bytes of a unit file of ours; None without one."""
        return _content(self._path(name))

    def reload(self) -> None:
        """Let systemd read its unit files again."""
        self._must(("systemctl", "daemon-reload"))

    def enable(self, name: str) -> bool:
        """Let a unit start at boot; False when it was so already (and nothing was written).

        systemd does not read its files again for that: a reload can take the GPU away from
        containers that run (GH NVIDIA/nvidia-container-toolkit#48).
        """
        if self.is_enabled(name):
            return False
        self._must(("systemctl", "enable", "--quiet", "--no-reload", _checked(name)))
        return True

    def disable(self, name: str) -> bool:
        """Let a unit not start at boot; False when it did not anyway."""
        if not self.is_enabled(name):
            return False
        self._must(("systemctl", "disable", "--quiet", "--no-reload", _checked(name)))
        return True

    def is_enabled(self, name: str) -> bool:
        """Whether a unit starts at boot, as the links on the disk say now."""
        said = self._ask(("systemctl", "is-enabled", _checked(name))).stdout.strip()
        return said in ("enabled", "enabled-runtime")

    def start(self, name: str, timeout_s: float) -> None:
        """Start a unit and wait until it is started.

        Raises:
            DeviceError: status 15 with what systemd said, or when it takes longer.
        """
        self._must(("systemctl", "start", _checked(name)), timeout_s)

    def stop(self, name: str, timeout_s: float) -> None:
        """Stop a unit and wait until it is stopped; one that does not exist is stopped."""
        if self.state(name).exists:
            self._must(("systemctl", "stop", _checked(name)), timeout_s)

    def reset_failed(self, name: str) -> None:
        """Forget that a unit failed, and how often it started."""
        self._ask(("systemctl", "reset-failed", _checked(name)))

    def state(self, name: str) -> UnitState:
        """How a unit stands; all empty words when systemd does not answer."""
        keys = f"--property={','.join(_KEYS)}"
        answer = self._ask(("systemctl", "show", keys, _checked(name)))
        found = dict(line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)
        return UnitState(*(found.get(key, "") for key in _KEYS))

    def unit_state(self, unit: str) -> Optional[str]:
        """'active', 'inactive', 'failed' and so on; None when no such unit is installed."""
        found = self.state(unit)
        return found.active if found.exists else None

    def arm(self, name: str, after_s: float, argv: Sequence[str]) -> None:
        """Let a command run ``after_s`` from now, though we have ended; not over a reboot.

        An armed timer of that name is set anew.

        Raises:
            DeviceError: status 15 when systemd does not take it.
        """
        self.disarm(name)
        self.reset_failed(f"{_checked(name)}.service")
        options = (f"--unit={name}", f"--on-active={max(1, round(after_s))}s")
        accuracy = "--timer-property=AccuracySec=1s"
        self._must(("systemd-run", "--quiet", "--collect", *options, accuracy, "--", *argv))

    def disarm(self, name: str) -> None:
        """Call off an armed timer; without one nothing happens. What it started goes on."""
        if self.is_armed(name):
            self._must(("systemctl", "stop", f"{_checked(name)}.timer"))

    def is_armed(self, name: str) -> bool:
        """Whether a timer waits."""
        return self.state(f"{_checked(name)}.timer").is_active

    def run_transient(
        self,
        unit: str,
        argv: Sequence[str],
        output: Optional[Path] = None,
        afterwards: Sequence[str] = (),
    ) -> None:
        """Start a command as a service of its own and return; it lives on without us.

        The unit's fixed name is a lock: there is never more than one. ``output`` is a file for its
        standard output (the journal otherwise); what stood in it goes. ``afterwards`` runs when it
        has ended, however it did: killed, out of memory, or well. Once told to stop, neither is
        killed before it is done: putting the old stack back takes as long as its model loads
        (systemd's usual 90 s are no time for that; a shutdown has its own limit), and docker stops
        only afterwards.

        Raises:
            DeviceError: status 12 when the unit runs, 15 when systemd does not take it.
        """
        name = f"{_checked(unit)}.service"
        if self.state(name).runs:
            raise _runs_already(name)
        self.reset_failed(name)
        options = [f"--unit={unit}", "--quiet", "--collect", "--service-type=exec"]
        options += ["--property=TimeoutStopSec=infinity", "--property=After=docker.service"]
        if output is not None:
            if output.exists():
                output.unlink()
            options.append(f"--property=StandardOutput=file:{output}")
        if afterwards:
            options.append(f"--property=ExecStopPost={shlex.join(afterwards)}")
        answer = self._ask(("systemd-run", *options, "--", *argv))
        if answer.returncode != 0 and self.state(name).runs:  # somebody else was first
            raise _runs_already(name)
        _check(answer, QUESTION_S)

    def _path(self, name: str) -> Path:
        return self._places.units / _checked(name)

    def _must(self, argv: Sequence[str], timeout_s: float = QUESTION_S) -> Completed:
        return _check(self._ask(argv, timeout_s), timeout_s)

    def _ask(self, argv: Sequence[str], timeout_s: float = QUESTION_S) -> Completed:
        return self._run(tuple(argv), timeout_s)


def _check(answer: Completed, timeout_s: float) -> Completed:
    if answer.returncode == 0:
        return answer
    words = " ".join(answer.argv[:3])
    if answer.returncode == TIMED_OUT:
        raise DeviceError(
            PREFLIGHT, f"{words}: not done after {timeout_s:g} s", [], code="systemd_fault"
        )
    why = answer.stderr.strip().splitlines()[-4:] or [f"exit status {answer.returncode}"]
    raise DeviceError(
        PREFLIGHT, f"{words} failed", why, hint="see: journalctl -e", code="systemd_fault"
    )


def _checked(name: str) -> str:
    """A unit's name stands in argument lists and becomes a file name.

    Raises:
        ValueError: it could be an option or leave the folder (a bug of ours).
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"no unit name: {name!r}")
    return name


def _content(path: Path) -> Optional[bytes]:
    try:
        return read_small_text(path).encode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _runs_already(name: str) -> DeviceError:
    return DeviceError(
        LOCKED,
        "another operation runs on this board",
        [f"unit: {name}"],
        hint=f"wait until it has ended (systemctl status {name}), then try again",
    )
