"""The two clocks of a controller: one that only runs while it lives, and the wall's.

Layer: fleet. A port, so that rollouts of days can be simulated in seconds.
"""

import time
from typing import Protocol

from speccompose.fleet.actions import Now


class FleetClock(Protocol):
    """Rollout time in ms since this controller started it, and a way to wait."""

    def monotonic_ms(self) -> int:
        """Milliseconds of a clock that never jumps."""
        ...

    def wall(self) -> float:
        """Seconds since 1970; may jump, and is used for windows and for people only."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; may return early when a signal came."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def monotonic_ms(self) -> int:
        """CLOCK_MONOTONIC: a suspended laptop uses up no deadline."""
        return time.monotonic_ns() // 1_000_000

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class RolloutTime:
    """Goes on where the journal's last line stood: what a resumed rollout has left, it keeps.

    The base is taken once when a controller starts (S7), so a deadline that was persisted has the
    remaining time that it had when the controller died.
    """

    def __init__(self, clock: FleetClock, last_t: int) -> None:
        self._clock = clock
        self._base = last_t - clock.monotonic_ms()

    def now(self) -> Now:
        """This moment."""
        return Now(t=self._base + self._clock.monotonic_ms(), wall=self._clock.wall())
