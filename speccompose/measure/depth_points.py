"""Runs of one depth, as they are kept, become one point of the curve.

Layer: measure. Pure. Speeds are means over the repeats, times medians of the runs' medians,
acceptance is pooled over the drafts.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean, median

import msgspec

from speccompose.device.depth_bench import DepthRuns
from speccompose.errors import DataError
from speccompose.measure.depth_search import Speed
from speccompose.vocab.acceptance_result import RunResult
from speccompose.vocab.tuning_result import DepthPoint, LevelPoint

_MEDIAN = 10
"""Place of the median among a spread's 21 quantiles."""


def point_of(measured: DepthRuns, concurrency: int) -> DepthPoint:
    """One measured depth; what the engine refused is a point without levels.

    Raises:
        DataError: kept runs that this version cannot read.
    """
    if measured.refused is not None:
        return DepthPoint(
            depth=measured.depth, measured=False, why=f"does not start: {measured.refused}"
        )
    try:
        runs = msgspec.convert(measured.runs, tuple[RunResult, ...])
    except msgspec.ValidationError as error:
        raise DataError(
            f"the kept runs of depth {measured.depth} cannot be read",
            [f"{measured.folder}: {error}"],
            hint="--fresh measures all depths anew",
            code="bad_result",
        ) from None
    levels = sorted({run.concurrency for run in runs})
    peaks = [run.memory.board_mib for run in runs if run.memory and run.memory.board_mib]
    return DepthPoint(
        depth=measured.depth,
        measured=not measured.faults,
        levels=tuple(
            _level(level, [r for r in runs if r.concurrency == level]) for level in levels
        ),
        acceptance_by_position=_positions(
            [run for run in runs if run.concurrency == concurrency], measured.depth
        ),
        peak_memory_mib=max(peaks, default=None),
        why="; ".join(measured.faults) or None,
        artifacts=measured.folder,
        reused=measured.reused,
        runs=runs,
    )


def unmeasured(depth: int, predicted_tokens_s: float | None, why: str | None) -> DepthPoint:
    """A depth that was not run: what the fit says of it, or why it cannot be."""
    told = None if predicted_tokens_s is None else round(predicted_tokens_s, 2)
    return DepthPoint(depth=depth, measured=False, predicted_tokens_s=told, why=why)


def speed_of(point: DepthPoint, concurrency: int) -> Speed | None:
    """The point as the search takes it; None where nothing was measured at that concurrency."""
    level = next((each for each in point.levels if each.concurrency == concurrency), None)
    if level is None or level.output_tokens_s <= 0:
        return None
    return Speed(
        depth=point.depth,
        tokens_s=level.output_tokens_s,
        length=level.mean_accepted_length,
        positions=point.acceptance_by_position,
    )


def _level(concurrency: int, runs: Sequence[RunResult]) -> LevelPoint:
    lengths = [run.mean_accepted_length for run in runs if run.mean_accepted_length is not None]
    e2e = [run.latency.e2e_ms.quantiles for run in runs if run.latency is not None]
    return LevelPoint(
        concurrency=concurrency,
        output_tokens_s=round(fmean(run.output_tokens_s for run in runs), 3),
        tpot_ms_p50=_median(run.tpot_ms_p50 for run in runs),
        ttft_ms_p50=_median(run.ttft_ms_p50 for run in runs),
        e2e_ms_p50=_median(quantiles[_MEDIAN] for quantiles in e2e if quantiles),
        mean_accepted_length=round(fmean(lengths), 4) if lengths else None,
    )


def _positions(runs: Sequence[RunResult], depth: int) -> tuple[float, ...]:
    """Shares of all drafts together; never rising, as a later token needs the earlier ones."""
    told = [run.drafting for run in runs if run.drafting and run.drafting.acceptance_by_position]
    drafts = sum(each.drafts for each in told)
    if not told or drafts <= 0:
        return ()
    length = min(depth, *(len(each.acceptance_by_position) for each in told))
    shares = [
        sum(each.drafts * each.acceptance_by_position[i] for each in told) / drafts
        for i in range(length)
    ]
    return tuple(round(min(shares[: i + 1]), 4) for i in range(length))


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(median(known), 3) if known else None
