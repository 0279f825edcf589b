"""Which of the measured depths to take: by tokens a second, within the user's limits.

Layer: measure. Pure. Rules section 6: by output tokens/s at the user's concurrency, not by
acceptance; off where the gain is below 10 %, or where every depth loses at concurrency 8. Depths
that cannot be told apart are decided by the load (field case S-01: depth 4 gave 1 % more alone
and 31 % less at eight).
"""

from collections.abc import Sequence

from speccompose.vocab.base import Frozen
from speccompose.vocab.tuning_result import DepthPoint, LevelPoint, TuneLimits, TuneOutcome

ALIKE = 0.97
"""Two speeds as near as this cannot be told apart by a few repeats."""

WEAK_POSITION = 0.4
"""Last position that accepts less than this: the depth is suspect (S-01)."""

ALIKE_WHEN_WEAK = 0.9
"""What a suspect depth must beat a shallower one by, to be worth a loss under load."""


class Thresholds(Frozen, frozen=True, kw_only=True):
    """What a depth must give: from the stack's acceptance rules. ``loaded``: the concurrency at
    which it must not lose.
    """

    concurrency: int
    loaded: int
    gain_reject_pct: float
    no_regression_ratio: float


class Choice(Frozen, frozen=True, kw_only=True):
    """What to take, and why; ``curve`` is the measured one with limits and reasons marked."""

    outcome: TuneOutcome
    depth: int | None
    reasons: tuple[str, ...]
    curve: tuple[DepthPoint, ...]


def choose_depth(curve: Sequence[DepthPoint], thresholds: Thresholds, limits: TuneLimits) -> Choice:
    """Decide. The baseline (depth 0) must be measured."""
    judged = tuple(_judged(point, thresholds, limits, curve) for point in curve)
    baseline = next(point for point in judged if point.depth == 0)
    rows = tuple(_row(point) for point in judged if point.measured)
    good = [point for point in judged if point.measured and point.depth and point.why is None]
    if good:
        best = _best(good, thresholds)
        gain = _gain(best, baseline, thresholds)
        reason = f"depth {best.depth} gives {gain:+.1f} % tokens/s at concurrency "
        reason += str(thresholds.concurrency)
        others = _alike_text(best, good, thresholds)
        return Choice(
            outcome="chosen",
            depth=best.depth,
            reasons=(reason, *others, *rows),
            curve=judged,
        )
    whys = tuple(dict.fromkeys(f"depth {p.depth}: {p.why}" for p in judged if p.depth and p.why))
    if not baseline.within_limits:
        told = (f"no speculation: {baseline.why}", *whys, *rows)
        return Choice(outcome="out_of_limits", depth=None, reasons=told, curve=judged)
    told = ("no depth is worth it: speculation off is best here", *whys, *rows)
    return Choice(outcome="none", depth=0, reasons=told, curve=judged)


def level_of(point: DepthPoint, concurrency: int) -> LevelPoint | None:
    """What a depth gave at a concurrency; None when it was not measured."""
    return next((level for level in point.levels if level.concurrency == concurrency), None)


def limit_fault(point: DepthPoint, level: LevelPoint, limits: TuneLimits) -> str | None:
    """Which of the user's limits is exceeded, with both numbers; None when none is."""
    held = (
        ("TPOT p50", level.tpot_ms_p50, limits.tpot_ms, "ms"),
        ("TTFT p50", level.ttft_ms_p50, limits.ttft_ms, "ms"),
        ("end to end p50", level.e2e_ms_p50, limits.e2e_ms, "ms"),
        ("peak memory", point.peak_memory_mib, limits.memory_mib, "MiB"),
    )
    for name, value, limit, unit in held:
        if limit is not None and (value is None or value > limit):
            shown = "is not told" if value is None else f"is {value:g} {unit}"
            return f"{name} {shown}, at most {limit:g} {unit} was asked for"
    return None


def load_fault(point: DepthPoint, baseline: DepthPoint, thresholds: Thresholds) -> str | None:
    """How a depth loses under load, which acceptance would reject; None when it does not."""
    mine, plain = level_of(point, thresholds.loaded), level_of(baseline, thresholds.loaded)
    if mine is None or plain is None or thresholds.loaded == thresholds.concurrency:
        return None
    ratio = mine.output_tokens_s / plain.output_tokens_s
    if ratio >= thresholds.no_regression_ratio:
        return None
    return (
        f"loses at concurrency {thresholds.loaded}: {mine.output_tokens_s:.1f} tokens/s, "
        f"{plain.output_tokens_s:.1f} without"
    )


def _judged(
    point: DepthPoint, thresholds: Thresholds, limits: TuneLimits, curve: Sequence[DepthPoint]
) -> DepthPoint:
    """The point with the first reason against it."""
    level = level_of(point, thresholds.concurrency)
    if level is None:
        return point
    fault = limit_fault(point, level, limits)
    if fault is not None:
        return _marked(point, fault, within=False)
    if point.depth == 0:
        return point
    baseline = next(each for each in curve if each.depth == 0)
    lost = load_fault(point, baseline, thresholds)
    if lost is not None:
        return _marked(point, lost)
    gain = _gain(point, baseline, thresholds)
    if gain < thresholds.gain_reject_pct:
        return _marked(point, f"gains {gain:+.1f} %, less than {thresholds.gain_reject_pct:g} %")
    return point


def _best(good: Sequence[DepthPoint], thresholds: Thresholds) -> DepthPoint:
    """The fastest; of those that are as fast, the best under load; of those, the shallowest."""
    fastest = max(good, key=lambda point: _speed(point, thresholds.concurrency))
    alike = [point for point in good if _is_alike(point, fastest, thresholds)]
    most = max(_speed(point, thresholds.loaded) for point in alike)
    return min(
        (point for point in alike if _speed(point, thresholds.loaded) >= ALIKE * most),
        key=lambda point: point.depth,
    )


def _is_alike(point: DepthPoint, fastest: DepthPoint, thresholds: Thresholds) -> bool:
    mine = _speed(point, thresholds.concurrency)
    share = ALIKE
    positions = fastest.acceptance_by_position
    if point.depth < fastest.depth and positions and positions[-1] < WEAK_POSITION:
        share = ALIKE_WHEN_WEAK
    return mine >= share * _speed(fastest, thresholds.concurrency)


def _alike_text(
    best: DepthPoint, good: Sequence[DepthPoint], thresholds: Thresholds
) -> tuple[str, ...]:
    """Why a faster one was not taken."""
    faster = [
        point
        for point in good
        if _speed(point, thresholds.concurrency) > _speed(best, thresholds.concurrency)
    ]
    return tuple(
        f"depth {point.depth} is hardly faster at {thresholds.concurrency} and gives "
        f"{_speed(point, thresholds.loaded):.1f} tokens/s at {thresholds.loaded}, "
        f"depth {best.depth} {_speed(best, thresholds.loaded):.1f}"
        for point in faster
    )


def _speed(point: DepthPoint, concurrency: int) -> float:
    """Tokens a second; 0 where it was not measured, so that all are alike in it."""
    level = level_of(point, concurrency)
    return 0.0 if level is None else level.output_tokens_s


def _gain(point: DepthPoint, baseline: DepthPoint, thresholds: Thresholds) -> float:
    plain = _speed(baseline, thresholds.concurrency)
    return (_speed(point, thresholds.concurrency) / plain - 1.0) * 100.0


def _marked(point: DepthPoint, why: str, *, within: bool = True) -> DepthPoint:
    fields = {name: getattr(point, name) for name in DepthPoint.__struct_fields__}
    return DepthPoint(**{**fields, "why": why, "within_limits": within})


def _row(point: DepthPoint) -> str:
    """One depth in one line: every concurrency, and what its positions accept."""
    name = "no speculation" if point.depth == 0 else f"depth {point.depth}"
    speeds = ", ".join(
        f"{level.output_tokens_s:.1f} tokens/s at {level.concurrency}" for level in point.levels
    )
    shares = " ".join(f"{share:.2f}" for share in point.acceptance_by_position)
    return f"{name}: {speeds}" + (f"; accepted by position {shares}" if shares else "")
