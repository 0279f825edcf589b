"""Where systemd's things are on a board, and how one of its units stands.

Layer: device (standard library, Python 3.8). Pure values of ``systemd_cli``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Tuple

from speccompose.device.program import PROGRAM

_RUNS = ("active", "activating", "reloading", "deactivating")


class Places(NamedTuple):
    """Where things are on a board; others in tests only.

    ``booted`` is systemd's own sign that it is the init process (sd_booted(3)), ``passing`` what
    is swept away at boot, ``program`` what the board's own units call.
    """

    units: Path = Path("/etc/systemd/system")
    booted: Path = Path("/run/systemd/system")
    program: Path = PROGRAM
    passing: Tuple[str, ...] = ("/tmp/", "/var/tmp/", "/run/", "/dev/shm/")


class UnitState(NamedTuple):
    """One unit as systemd sees it; empty words where it says nothing."""

    load: str
    active: str

    @property
    def exists(self) -> bool:
        """Whether systemd knows the unit at all."""
        return self.load not in ("not-found", "")

    @property
    def is_active(self) -> bool:
        """Whether it is started: a oneshot with RemainAfterExit stays so until it is stopped."""
        return self.active == "active"

    @property
    def runs(self) -> bool:
        """Whether it is started, or on its way there or back."""
        return self.active in _RUNS
