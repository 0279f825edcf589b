"""A number of seconds becomes a moment that no clock change moves and no reboot outlives.

Layer: device (standard library, Python 3.8). Counted from boot, because boards without a battery
wake up in 1970 and jump when the network comes. After a reboot the moment has passed: whoever
waited for it waits in vain.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from speccompose.device.machine import Machine


class Deadline(NamedTuple):
    """``boot_s`` seconds after the boot named ``boot``; ``about`` is that moment for people."""

    boot: str
    boot_s: float
    about: str

    def left_s(self, machine: Machine) -> float:
        """Seconds until then; zero or less when it has passed or the board was rebooted."""
        if not self.boot or machine.boot_id() != self.boot:
            return 0.0
        return self.boot_s - machine.boot_s()

    def is_over(self, machine: Machine) -> bool:
        """Whether it has passed."""
        return self.left_s(machine) <= 0.0


def deadline_in(seconds: float, machine: Machine) -> Deadline:
    """The moment so many seconds from now."""
    about = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(machine.wall_s() + seconds))
    return Deadline(machine.boot_id(), machine.boot_s() + seconds, about)
