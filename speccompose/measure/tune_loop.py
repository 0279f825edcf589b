"""A bench that can measure depths becomes a curve and a choice.

Layer: measure. The loop of `tune`: measure, fit, ask what comes next, stop. Whatever is measured
comes through ``measure``, so that a test replays a recorded curve.
"""

from collections.abc import Callable, Mapping

from msgspec import field

from speccompose.device.depth_bench import DepthRuns
from speccompose.measure.depth_choice import (
    Choice,
    Thresholds,
    choose_depth,
    level_of,
    limit_fault,
    load_fault,
)
from speccompose.measure.depth_points import point_of, speed_of, unmeasured
from speccompose.measure.depth_search import Space, Speed, next_depth, predictions
from speccompose.vocab.base import Frozen
from speccompose.vocab.tuning_result import DepthPoint, TuneLimits

Measure = Callable[[int], DepthRuns]


class Search(Frozen, frozen=True, kw_only=True):
    """What is searched, and what the depth must keep to.

    ``refused``: depths that cannot be planned, with the reason. ``running``: the depth that
    serves now, which needs no restart. ``exhaustive``: every depth, whatever the curve says.
    """

    space: Space
    thresholds: Thresholds
    limits: TuneLimits = TuneLimits()
    refused: Mapping[int, str] = field(default_factory=dict)
    running: int | None = None
    exhaustive: bool = False


class Curve:
    """What has been measured so far; kept outside, so that an interrupt does not lose it."""

    def __init__(self, search: Search) -> None:
        self.points: dict[int, DepthPoint] = {}
        self.order: list[int] = []
        self.faults: tuple[str, ...] = ()
        self._search = search

    def fill(self, measure: Measure) -> None:
        """Measure until the best depth is known, or something is wrong."""
        for depth in self._first_two():
            self._take(depth, measure)
        while (following := self._next()) is not None:
            self._take(following, measure)

    def choice(self) -> Choice:
        """What to take of what was measured; the prediction stands beside every depth."""
        search, told = self._search, self._predictions()
        curve = tuple(self._point(depth, told.get(depth)) for depth in (0, *search.space.depths))
        refused = tuple(unmeasured(depth, None, why) for depth, why in search.refused.items())
        whole = tuple(sorted((*curve, *refused), key=lambda point: point.depth))
        baseline = self.points.get(0)
        faults = self.faults
        if not faults and (baseline is None or not baseline.levels):
            why = "it was not measured" if baseline is None else baseline.why
            faults = (f"nothing to compare with: without speculation, {why}",)
        if faults:
            return Choice(outcome="invalid", depth=None, reasons=faults, curve=whole)
        return choose_depth(whole, search.thresholds, search.limits)

    def _first_two(self) -> tuple[int, ...]:
        """The baseline and the start; first the one that serves already, if one does."""
        first = self._search.space.first
        return (first, 0) if self._search.running == first else (0, first)

    def _take(self, depth: int, measure: Measure) -> None:
        if self.faults or depth in self.points:
            return
        runs = measure(depth)
        self.points[depth] = point_of(runs, self._search.thresholds.concurrency)
        self.order.append(depth)
        self.faults = runs.faults

    def _next(self) -> int | None:
        baseline = self.points.get(0)
        if self.faults or baseline is None or not baseline.levels:
            return None
        space = self._possible()
        if not space.depths:
            return None
        if self._search.exhaustive:
            left = [depth for depth in space.depths if depth not in self.points]
            return left[0] if left else None
        plain = speed_of(baseline, self._search.thresholds.concurrency)
        if plain is None:
            return None
        unfit, too_deep = self._unfit(baseline)
        return next_depth(space, plain.tokens_s, self._speeds(), unfit, too_deep)

    def _possible(self) -> Space:
        """Depths that the engine has not refused to start with."""
        space = self._search.space
        kept = tuple(
            depth for depth in space.depths if depth not in self.points or self.points[depth].levels
        )
        return Space(depths=kept, start=space.start, parallel=space.parallel)

    def _speeds(self) -> list[Speed]:
        level = self._search.thresholds.concurrency
        told = [speed_of(point, level) for depth, point in self.points.items() if depth]
        return [speed for speed in told if speed is not None]

    def _unfit(self, baseline: DepthPoint) -> tuple[set[int], set[int]]:
        """Depths that break a limit or lose under load; those whose deeper ones would too."""
        search = self._search
        found: set[int] = set()
        too_deep: set[int] = set()
        memory = TuneLimits(memory_mib=search.limits.memory_mib)
        for depth, point in self.points.items():
            level = level_of(point, search.thresholds.concurrency)
            if depth == 0 or level is None:
                continue
            loses = load_fault(point, baseline, search.thresholds)
            if loses or limit_fault(point, level, memory):
                too_deep.add(depth)
            if loses or limit_fault(point, level, search.limits):
                found.add(depth)
        return found, too_deep

    def _predictions(self) -> dict[int, float]:
        speeds, baseline = self._speeds(), self.points.get(0)
        plain = baseline and speed_of(baseline, self._search.thresholds.concurrency)
        if not speeds or not plain:
            return {}
        return predictions(self._search.space, plain.tokens_s, speeds)

    def _point(self, depth: int, predicted: float | None) -> DepthPoint:
        found = self.points.get(depth)
        return unmeasured(depth, predicted, None) if found is None else found
