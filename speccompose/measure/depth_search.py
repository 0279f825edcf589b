"""Which depth to measure next, and when to stop: from what was measured so far.

Layer: measure. Pure. A sweep over every depth costs a restart and several runs each, and most of
them tell nothing new: one run at some depth shows the acceptance of every position up to it, and
two costs of a pass show all others. So after each run the curve is fitted, the best depth is
predicted, and that one is measured; the search ends when the predicted best has been.

Acceptance: the measured positions, continued as plan/acceptance_curve.py does. Cost of a pass:
accepted length over speed, at every measured depth and without speculation; straight lines
between. Rules section 6: a higher depth is tried only while the unconditional acceptance at the
last position is above 0.6 (sequential drafters) or the curve still rises (parallel ones).
"""

import itertools
from collections.abc import Collection, Sequence

from speccompose.plan.acceptance_curve import AcceptanceCurve, fit_lengths, fit_positions
from speccompose.vocab.base import Frozen
from speccompose.vocab.drafting import AcceptedLength

DEEPER_ABOVE = 0.6
"""Unconditional acceptance at the last position, below which deeper is not tried (rules 6)."""

ANY_DRAFT = 0.15
"""Share of a draft's cost that any draft has, however short: assumed until two depths tell."""

CLOSE = 0.97
"""A depth that is predicted to be this near to the best measured one is worth a run of its own."""


class Speed(Frozen, frozen=True, kw_only=True):
    """What one depth gave: tokens a second at the user's concurrency, and how much was accepted.

    ``positions``: unconditional acceptance by position, empty where the engine does not tell;
    ``length``: tokens per pass that carried a draft, None where it does not tell either.
    """

    depth: int
    tokens_s: float
    length: float | None
    positions: tuple[float, ...] = ()


class Space(Frozen, frozen=True, kw_only=True):
    """What may be tried: depths from 1, ascending; ``start`` is where to begin."""

    depths: tuple[int, ...]
    start: int
    parallel: bool = False

    @property
    def first(self) -> int:
        """The starting depth, clamped: the largest not above it, else the smallest."""
        below = [depth for depth in self.depths if depth <= self.start]
        return below[-1] if below else self.depths[0]

    @property
    def runs(self) -> int:
        """Depths to measure at most: with the baseline at most half of an exhaustive sweep."""
        return min(len(self.depths), max(2, (len(self.depths) + 1) // 2 - 1))


def next_depth(
    space: Space,
    baseline_tokens_s: float,
    measured: Sequence[Speed],
    unfit: Collection[int] = (),
    too_deep: Collection[int] = (),
) -> int | None:
    """The depth to measure next; None when the best is known.

    ``unfit``: measured depths that break a limit or lose under load. They tell of the curve and
    are never the best; the search goes on until something fits. ``too_deep``: those of them that
    every deeper one would join (memory, load); a deeper one may well take less time per token.
    """
    if not measured:
        return space.first
    left = [depth for depth in allowed(space, baseline_tokens_s, measured) if _new(depth, measured)]
    fit = [speed for speed in measured if speed.depth not in unfit]
    if too_deep:
        left = [depth for depth in left if depth < min(too_deep)]
    if not left or (len(measured) >= space.runs and fit):
        return None
    told = predictions(space, baseline_tokens_s, measured)
    candidate = max(left, key=lambda depth: told[depth])
    best = max((speed.tokens_s for speed in fit), default=0.0)
    unconfirmed = len(measured) < 2
    return candidate if unconfirmed or told[candidate] >= CLOSE * best else None


def allowed(space: Space, baseline_tokens_s: float, measured: Sequence[Speed]) -> tuple[int, ...]:
    """Depths that may be tried now: all below the deepest measured one, and those that the rule
    lets be tried beyond it.
    """
    deepest = max(measured, key=lambda speed: speed.depth)
    below = [depth for depth in space.depths if depth <= deepest.depth]
    above = [depth for depth in space.depths if depth > deepest.depth]
    if space.parallel:
        lower = [speed for speed in measured if speed.depth < deepest.depth]
        before = max(lower, key=lambda speed: speed.depth).tokens_s if lower else baseline_tokens_s
        return (*below, *above) if deepest.tokens_s > before else tuple(below)
    curve = acceptance(measured)
    return (*below, *(depth for depth in above if _last_position(curve, depth) > DEEPER_ABOVE))


def predictions(
    space: Space, baseline_tokens_s: float, measured: Sequence[Speed]
) -> dict[int, float]:
    """Tokens a second at every depth: as measured, else as fitted."""
    curve = acceptance(measured)
    costs = _costs(baseline_tokens_s, measured, curve)
    known = {speed.depth: speed.tokens_s for speed in measured}
    return {
        depth: known.get(depth, curve.length(depth) / _cost(costs, depth)) for depth in space.depths
    }


def acceptance(measured: Sequence[Speed]) -> AcceptanceCurve:
    """The curve through the longest list of positions, else through the mean lengths."""
    told = max(measured, key=lambda speed: len(speed.positions))
    if told.positions:
        return fit_positions(told.positions)
    points = [
        AcceptedLength(depth=speed.depth, length=min(speed.length, speed.depth + 1.0))
        for speed in sorted(measured, key=lambda speed: speed.depth)
        if speed.length is not None
    ]
    return fit_lengths(points) if points else AcceptanceCurve(first=0.0, decay=1.0)


def _last_position(curve: AcceptanceCurve, depth: int) -> float:
    """Acceptance at the last position of the depth before: what lets this depth be tried."""
    return curve.positions(depth - 1)[-1] if depth > 1 else 1.0


def _costs(
    baseline_tokens_s: float, measured: Sequence[Speed], curve: AcceptanceCurve
) -> list[tuple[int, float]]:
    """(depth, seconds of a pass), by depth; without speculation a pass gives one token."""
    told = [
        (speed.depth, (speed.length or curve.length(speed.depth)) / speed.tokens_s)
        for speed in measured
    ]
    return sorted([(0, 1.0 / baseline_tokens_s), *told])


def _cost(costs: Sequence[tuple[int, float]], depth: int) -> float:
    """Seconds of a pass at a depth that was not measured.

    Between two measured depths a straight line. Below the shallowest, the dearer of two lines:
    the one to the pass without speculation misses what any draft costs at all, the one through
    the first two depths misses that later tokens cost more than the first. Beyond the deepest the
    last line goes on.
    """
    drafted = costs[1:]
    if depth < drafted[0][0]:
        if len(drafted) == 1:
            return _from_one(costs[0][1], drafted[0], depth)
        return max(_line(costs[0], costs[1], depth), _line(drafted[0], drafted[1], depth))
    for low, high in itertools.pairwise(drafted):
        if depth <= high[0]:
            return _line(low, high, depth)
    # A pass never gets cheaper by drafting more; measured costs are noisy.
    return max(costs[-1][1], _line(costs[-2], costs[-1], depth))


def _from_one(plain: float, drafted: tuple[int, float], depth: int) -> float:
    """Seconds of a shallower pass when one depth is all that was measured."""
    more = drafted[1] - plain
    return plain + more * (ANY_DRAFT + (1.0 - ANY_DRAFT) * depth / drafted[0])


def _line(one: tuple[int, float], other: tuple[int, float], depth: int) -> float:
    slope = (other[1] - one[1]) / (other[0] - one[0])
    return one[1] + slope * (depth - one[0])


def _new(depth: int, measured: Sequence[Speed]) -> bool:
    return all(speed.depth != depth for speed in measured)
