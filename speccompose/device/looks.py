"""The allowed repeats become moments to look at the data, each with its share of the error.

Layer: device (standard library, Python 3.8). Pure. Whoever looks again after every repeat and
stops when the interval is right is wrong far more often than 5 in 100. So there are few looks
(3, 5, 8 and 12 repeats), and the error that a 95 % interval may have is divided among them: by
the union bound all intervals of one measurement hold together with at least that confidence, no
matter after which look somebody stops. Later looks get more of it (by the square of their
repeats), because there the close cases are decided.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Tuple

CONFIDENCE = 0.95
"""Rules section 6: intervals at 95 %."""

_GROWTH = 1.5
_WAYS_TO_FAIL = 3
"""Gain at 1, TPOT at 1, ratio at 8: any one of them spoils a pass, so they share the error."""


class Tails(NamedTuple):
    """How often each end of an interval may be wrong.

    ``passing`` is the end that must clear a boundary for a pass: all of them must at once, so
    each has the whole one-sided error. ``failing`` is the end that can fail alone.
    """

    passing: float
    failing: float


def look_points(min_repeats: int, max_repeats: int) -> Tuple[int, ...]:
    """Numbers of repeats at which the data is judged: 3, 5, 8, 12 for 3 to 12."""
    points = [min(min_repeats, max_repeats)]
    while points[-1] < max_repeats:
        points.append(min(max_repeats, math.ceil(points[-1] * _GROWTH)))
    return tuple(points)


def tails_at(repeats: int, points: Tuple[int, ...]) -> Tails:
    """Error of the interval after so many repeats; between two looks it is the earlier one's."""
    point = max((point for point in points if point <= repeats), default=points[0])
    weight = point**2 / sum(each**2 for each in points)
    share = (1.0 - CONFIDENCE) / 2.0 * weight
    return Tails(passing=share, failing=share / _WAYS_TO_FAIL)
