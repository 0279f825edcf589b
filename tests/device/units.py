"""A stand-in for the init process: timers that never fire by themselves, units that are names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from speccompose.device.errors import DeviceError
from speccompose.device.ports import NoUnits


@dataclass
class FakeUnits(NoUnits):
    """``timers``: name -> seconds and command. Units are not managed here (see FakeSystemd)."""

    there: bool = True
    timers: dict[str, tuple[float, tuple[str, ...]]] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    started: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def available(self) -> bool:
        return self.there

    def arm(self, name: str, after_s: float, argv: Sequence[str]) -> None:
        if self.states.get(f"{name}.service") == "active":
            raise DeviceError(15, "systemd-run failed", ["it was already loaded"])
        self.timers[name] = (after_s, tuple(argv))

    def fire(self, name: str) -> None:
        """Its time has come: what it starts runs, as one cannot tell from within the test."""
        del self.timers[name]
        self.states = {f"{name}.service": "active"}

    def disarm(self, name: str) -> None:
        self.timers.pop(name, None)

    def is_armed(self, name: str) -> bool:
        return name in self.timers

    def run_transient(
        self, unit: str, argv: Sequence[str], *, afterwards: Sequence[str] = ()
    ) -> None:
        self.afterwards = tuple(afterwards)
        self.started.append((unit, tuple(argv)))
        self.states = {**self.states, f"{unit}.service": "active"}

    def unit_state(self, unit: str) -> str | None:
        return self.states.get(unit)

    def outlives_boot(self, folder: Path) -> bool:
        return False
