"""A board's power mode, clock limits and throttling, before and after a measurement.

Layer: device (standard library, Python 3.8). Read from files alone: no command, no root, no
jetson-stats. A file that a board does not have is no condition. Clock limits are compared, not
momentary clocks: those move with the load. GPU frequency files are left alone, because reading
them can hang on some releases; the power mode sets the GPU's limits too. What slows a healthy
board all the time is kept in the reading but is no fault: Orin's third over-current counter
(instantaneous peaks) climbs by several a second under load, and the state of a devfreq cooling
device is its ordinary cap.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

_POWER_MODE = "var/lib/nvpmodel/status"
_CPU_LIMITS = ("scaling_min_freq", "scaling_max_freq", "scaling_governor")
_EVENTS = (
    ("class/hwmon", "hwmon*/oc*_event_cnt"),  # over-current, Jetson
    ("devices/system/cpu", "cpu*/thermal_throttle/package_throttle_count"),  # heat, x86
)
_THROTTLING = "throttle-alert"
_HARMLESS_EVENTS = ("oc3_event_cnt",)


class Conditions(NamedTuple):
    """One reading. ``events`` only count up; ``cooling`` are devices that hold clocks down now."""

    power_mode: Optional[str]
    clocks: Tuple[Tuple[str, str], ...]
    events: Tuple[Tuple[str, int], ...]
    cooling: Tuple[str, ...]
    hottest_c: Optional[float]

    def as_dict(self) -> Dict[str, object]:
        """The reading as runs.jsonl keeps it."""
        return {
            "power_mode": self.power_mode,
            "clocks": dict(self.clocks),
            "throttle_events": dict(self.events),
            "cooling": list(self.cooling),
            "hottest_c": self.hottest_c,
        }


def read_conditions(root: Path = Path("/")) -> Conditions:
    """Read what this board tells."""
    return Conditions(
        power_mode=_text(root / _POWER_MODE),
        clocks=_clocks(root / "sys/devices/system/cpu/cpufreq"),
        events=_events(root / "sys"),
        cooling=_cooling(root / "sys/class/thermal"),
        hottest_c=_hottest(root / "sys/class/thermal"),
    )


def changes(readings: Sequence[Conditions]) -> Tuple[str, ...]:
    """What changed between the readings of one measurement; any of it makes it invalid."""
    found: List[str] = []
    for earlier, later in ((readings[i], readings[i + 1]) for i in range(len(readings) - 1)):
        if earlier.power_mode != later.power_mode:
            found.append(f"power mode changed: {earlier.power_mode} -> {later.power_mode}")
        before = dict(earlier.clocks)
        found += [
            f"clock limit changed: {name} {before.get(name)} -> {value}"
            for name, value in later.clocks
            if before.get(name) != value
        ]
        counted = dict(earlier.events)
        found += [
            f"the board throttled: {name} {counted.get(name, 0)} -> {count}"
            for name, count in later.events
            if count > counted.get(name, 0) and not name.endswith(_HARMLESS_EVENTS)
        ]
    for name in sorted({name for reading in readings for name in reading.cooling}):
        found.append(f"the board throttled: {name} was raised")
    return tuple(dict.fromkeys(found))


def _clocks(folder: Path) -> Tuple[Tuple[str, str], ...]:
    found = []
    for policy in sorted(folder.glob("policy*")):
        for name in _CPU_LIMITS:
            value = _text(policy / name)
            if value is not None:
                found.append((f"{policy.name}/{name}", value))
    return tuple(found)


def _events(sys: Path) -> Tuple[Tuple[str, int], ...]:
    found = []
    for place, pattern in _EVENTS:
        for path in sorted((sys / place).glob(pattern)):
            value = _text(path)
            if value is not None and value.isdigit():
                found.append((path.relative_to(sys / place).as_posix(), int(value)))
    return tuple(found)


def _cooling(folder: Path) -> Tuple[str, ...]:
    """Throttle alerts that are raised; fans and ordinary caps are none."""
    found = []
    for device in sorted(folder.glob("cooling_device*")):
        kind, state = _text(device / "type"), _text(device / "cur_state")
        if kind and kind.endswith(_THROTTLING) and state not in (None, "", "0"):
            found.append(kind)
    return tuple(found)


def _hottest(folder: Path) -> Optional[float]:
    values = [_text(path) for path in folder.glob("thermal_zone*/temp")]
    readings = [int(value) / 1000 for value in values if value and value.lstrip("-").isdigit()]
    return max(readings) if readings else None


def _text(path: Path) -> Optional[str]:
    """Content of a small file; None when it is not there or cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").replace("\0", "").strip()
    except OSError:
        return None
