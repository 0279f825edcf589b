"""Values of many requests become one spread: how many, their mean, and 21 quantiles.

Layer: device (standard library, Python 3.8). Pure. Enough to draw a distribution, and small enough
to keep for every run.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Sequence, Tuple

STEPS = 20
"""Quantiles at 0, 5, 10 ... 100 %."""


class Spread(NamedTuple):
    """``quantiles`` are empty and ``mean`` None when there was nothing."""

    size: int
    mean: Optional[float]
    quantiles: Tuple[float, ...]

    def as_dict(self) -> Dict[str, object]:
        """The form that results keep; microseconds are as fine as a client can see."""
        return {
            "count": self.size,
            "mean": None if self.mean is None else round(self.mean, 3),
            "quantiles": [round(value, 3) for value in self.quantiles],
        }


def spread_out(values: Sequence[float]) -> Spread:
    """Summarise values, in whatever order they come."""
    if not values:
        return Spread(0, None, ())
    ordered = sorted(values)
    quantiles = tuple(_at(ordered, step / STEPS) for step in range(STEPS + 1))
    return Spread(len(ordered), sum(ordered) / len(ordered), quantiles)


def percentile(values: Sequence[float], share: float) -> Optional[float]:
    """Value below which ``share`` (0 to 1) of the values lie, interpolated; None without any."""
    return _at(sorted(values), share) if values else None


def _at(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
