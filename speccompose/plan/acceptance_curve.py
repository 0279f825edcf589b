"""Acceptance figures -> accepted length at any depth.

Part of stage 5 (prediction). Pure arithmetic. Conditional acceptance decays with the position, so
what was measured at small depths is continued with a geometric decay; one rate for all positions
(the i.i.d. form of Leviathan et al., arXiv 2211.17192) serves as an upper bound only.

Words: position i is accepted with all before it in the share P_i of the drafts (unconditional);
a_i = P_i / P_(i-1) is conditional; the accepted length is 1 + P_1 + ... + P_K; the draft rate is
accepted / drafted = (length - 1) / K. Draft rate and alpha are both called "acceptance rate".
"""

import functools
import math
from collections.abc import Callable, Sequence

from speccompose.vocab.base import Frozen
from speccompose.vocab.drafting import AcceptanceFigures, AcceptedLength

TYPICAL_DECAY = 0.93
"""What each conditional rate is of the one before, where a single figure was published.

Geometric mean of fits on K 1 to 3 of three sets (HumanEval 0.94, GSM8K 0.94, CNN/DailyMail 0.91)
in the model card of RedHatAI's EAGLE-3 draft for Llama 4 Maverick.
"""

_HALVINGS = 45


class AcceptanceCurve(Frozen, frozen=True, kw_only=True):
    """Unconditional acceptance per position: as measured, then a_i = first x decay^(i - 1)."""

    measured: tuple[float, ...] = ()
    first: float
    decay: float

    def positions(self, depth: int) -> tuple[float, ...]:
        """P_1 to P_depth."""
        found = list(self.measured[:depth])
        for index in range(len(found), depth):
            before = found[-1] if found else 1.0
            found.append(before * self.first * self.decay**index)
        return tuple(found)

    def length(self, depth: int) -> float:
        """Expected tokens per target pass, the target's own included."""
        return accepted_length(self.positions(depth))


def accepted_length(positions: Sequence[float]) -> float:
    """1 + the sum of the unconditional acceptance of each position."""
    return 1.0 + sum(positions)


def expected_length(alpha: float, depth: int) -> float:
    """(1 - alpha^(K+1)) / (1 - alpha): the length if each token had the same chance alpha."""
    return sum(alpha**power for power in range(depth + 1))


def alpha_from_length(length: float, depth: int) -> float:
    """The alpha whose ``expected_length`` is ``length``, by bisection.

    Raises:
        ValueError: for a length that no acceptance can give (below 1 or above depth + 1).
    """
    if depth < 1 or not 1.0 <= length <= depth + 1.0:
        raise ValueError(f"no acceptance gives length {length} at depth {depth}")
    return _solve(lambda alpha: expected_length(alpha, depth), length)


def rate_from_length(length: float, depth: int) -> float:
    """The draft rate, accepted / drafted; it falls with depth though the draft is the same."""
    return (length - 1.0) / depth


@functools.lru_cache(maxsize=256)
def curve_of(figures: AcceptanceFigures) -> AcceptanceCurve:
    """The curve through published figures; kept, as the same few are asked for in every plan."""
    if figures.per_position:
        return fit_positions(figures.per_position)
    return fit_lengths(figures.lengths)


def fit_positions(positions: Sequence[float]) -> AcceptanceCurve:
    """Continue measured positions; the first one is met exactly.

    log P_i = i log a_1 + i (i - 1) / 2 log d: least squares for d over the positions after the
    first. A decay above 1 (noise) becomes 1, so that the i.i.d. form stays the upper bound.
    """
    first = positions[0]
    if first <= 0.0:
        return AcceptanceCurve(measured=tuple(positions), first=0.0, decay=1.0)
    product, square = 0.0, 0.0
    for number, share in enumerate(positions[1:], start=2):
        if share > 0.0:
            weight = number * (number - 1) / 2
            product += weight * (math.log(share) - number * math.log(first))
            square += weight * weight
    decay = min(1.0, math.exp(product / square)) if square else TYPICAL_DECAY
    return AcceptanceCurve(measured=tuple(positions), first=first, decay=decay)


def fit_lengths(points: Sequence[AcceptedLength]) -> AcceptanceCurve:
    """A curve through mean lengths.

    Lengths at 1, 2, 3 ... are positions. Of others the shallowest and the deepest are met; one
    alone is met with the typical decay.
    """
    if [point.depth for point in points] == list(range(1, len(points) + 1)):
        return fit_positions(_differences([point.length for point in points]))
    shallow, deep = points[0], points[-1]
    if shallow == deep:
        return _through(shallow, TYPICAL_DECAY)
    steepest = _solve(lambda tried: _decayed(1.0, tried, shallow.depth), shallow.length)
    decay = _solve(
        lambda tried: _decayed(_first(shallow, tried), tried, deep.depth), deep.length, low=steepest
    )
    return _through(shallow, decay)


def _differences(lengths: Sequence[float]) -> list[float]:
    """Positions from lengths; runs are noisy, so none is let exceed the one before."""
    positions: list[float] = []
    before, cap = 1.0, 1.0
    for length in lengths:
        cap = min(cap, max(0.0, length - before))
        positions.append(cap)
        before = length
    return positions


def _through(point: AcceptedLength, decay: float) -> AcceptanceCurve:
    """The curve with this decay that meets one point."""
    return AcceptanceCurve(first=_first(point, decay), decay=decay)


def _first(point: AcceptedLength, decay: float) -> float:
    """The first rate with which a decay leads to the point's length."""
    return _solve(lambda tried: _decayed(tried, decay, point.depth), point.length)


def _decayed(first: float, decay: float, depth: int) -> float:
    """Length of a curve without measured positions; plain arithmetic, as it is solved for."""
    length, share, rate = 1.0, 1.0, first
    for _ in range(depth):
        share *= rate
        length += share
        rate *= decay
    return length


def _solve(rising: Callable[[float], float], wanted: float, *, low: float = 0.0) -> float:
    """Where a rising function on low to 1 has a value; an end where it never does."""
    high = 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if rising(middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2
