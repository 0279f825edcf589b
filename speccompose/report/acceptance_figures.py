"""A kept acceptance becomes the figures of its page: tiles, drawings and tables.

Layer: report. Pure. What was not measured is left out; nothing is drawn from nothing.
"""

from collections.abc import Iterable, Sequence
from statistics import mean, median

from speccompose.report.charts import (
    Interval,
    Series,
    depth_curve,
    distribution,
    intervals,
    position_bars,
    repeats,
)
from speccompose.report.html_page import Figure, Table, Tile
from speccompose.vocab.acceptance_result import (
    AcceptanceResult,
    Arm,
    ComparisonResult,
    RunResult,
)
from speccompose.vocab.tuning_result import TuningResult

ARMS: tuple[tuple[Arm, str], ...] = (
    ("baseline", "baseline"),
    ("speculative", "with speculation"),
)
MEASURES = {"output_tokens_s": "output tokens/s", "tpot_ms_p50": "TPOT p50"}
LATENCIES = {
    "ttft_ms": "time to first token, ms",
    "tpot_ms": "time per output token, ms",
    "itl_ms": "time between arrivals, ms",
    "e2e_ms": "whole request, ms",
}


def clients(concurrency: int) -> str:
    """'1 client', '8 clients'."""
    return f"{concurrency} client" + ("s" if concurrency != 1 else "")


def levels(result: AcceptanceResult) -> tuple[int, ...]:
    """The concurrencies that were measured, in order."""
    return tuple(sorted({run.concurrency for run in result.runs}))


def runs_of(result: AcceptanceResult, arm: Arm, concurrency: int) -> list[RunResult]:
    """The repeats of one arm at one concurrency."""
    return [run for run in result.runs if (run.arm, run.concurrency) == (arm, concurrency)]


def tiles(result: AcceptanceResult) -> list[Tile]:
    """What somebody wants to know first: gain, latency, the load of many, acceptance, memory."""
    found = [
        Tile(_tile_label(each), f"{(each.ratio - 1) * 100:+.0f} %", _from_to(each))
        for each in result.comparisons
    ]
    lengths = [
        run.mean_accepted_length
        for run in result.runs
        if run.arm == "speculative" and run.mean_accepted_length is not None
    ]
    if lengths:
        found.append(Tile("mean accepted length", f"{mean(lengths):.2f}", "tokens a target pass"))
    peaks = [run.memory.board_mib for run in result.runs if run.memory and run.memory.board_mib]
    if peaks:
        found.append(Tile("peak memory", f"{max(peaks) / 1024:.1f} GiB", "of the whole board"))
    return found


def _tile_label(each: ComparisonResult) -> str:
    return f"{MEASURES[each.measure]}, {clients(each.concurrency)}"


def _from_to(each: ComparisonResult) -> str:
    unit = " ms" if each.measure == "tpot_ms_p50" else ""
    return f"{each.baseline:.1f} to {each.speculative:.1f}{unit}"


def ratio_figures(result: AcceptanceResult) -> list[Figure]:
    """One drawing per measure: more is better for one, less for the other."""
    found = []
    for measure, note in (
        ("output_tokens_s", "output tokens per second: right is better"),
        ("tpot_ms_p50", "time per output token: left is better"),
    ):
        rows = [
            Interval(
                clients(each.concurrency),
                each.ratio,
                each.low,
                each.high,
                each.accept_ratio,
                each.reject_ratio,
            )
            for each in result.comparisons
            if each.measure == measure
        ]
        if rows:
            found.append(Figure(MEASURES[measure], intervals(rows), note))
    return found


def speed_figures(result: AcceptanceResult) -> list[Figure]:
    """Every repeat of both arms, one drawing per concurrency, side by side."""
    found = []
    for concurrency in levels(result):
        series = [
            Series(
                name,
                arm,
                tuple((0.0, run.output_tokens_s) for run in runs_of(result, arm, concurrency)),
            )
            for arm, name in ARMS
        ]
        title = clients(concurrency)
        found.append(Figure(title, repeats(series, "output tokens/s of all clients")))
    return found


def drafting_figures(result: AcceptanceResult, tuning: TuningResult | None) -> list[Figure]:
    """Throughput against depth, and acceptance by position."""
    found = []
    curve = _curve(result, tuning)
    if curve is not None:
        found.append(curve)
    for concurrency in levels(result):
        shares = _positions(runs_of(result, "speculative", concurrency))
        if shares:
            title = f"acceptance by position, {clients(concurrency)}"
            note = "share of drafts accepted up to and including each position"
            found.append(Figure(title, position_bars(shares), note))
    return found


def _curve(result: AcceptanceResult, tuning: TuningResult | None) -> Figure | None:
    if tuning is not None:
        return depth_figure(tuning)
    if result.subject is None or not levels(result):
        return None
    first = levels(result)[0]
    places = {"baseline": 0, "speculative": result.subject.depth}
    points = []
    for arm, _ in ARMS:
        speeds = [run.output_tokens_s for run in runs_of(result, arm, first)]
        if speeds:
            points.append((places[arm], mean(speeds)))
    note = "depth 0 is the baseline; `speccompose tune` measures the depths between"
    drawn = depth_curve(points, (), result.subject.depth)
    return Figure(f"throughput against depth, {clients(first)}", drawn, note)


def depth_figure(tuning: TuningResult) -> Figure | None:
    """The curve of a depth search at the user's concurrency."""
    measured = [
        (point.depth, level.output_tokens_s)
        for point in tuning.curve
        for level in point.levels
        if level.concurrency == tuning.concurrency
    ]
    predicted = [
        (point.depth, point.predicted_tokens_s)
        for point in tuning.curve
        if point.predicted_tokens_s is not None
    ]
    if not measured:
        return None
    note = "depth 0 is the baseline"
    if predicted:
        note += "; dashed is what the fit predicts"
    title = f"throughput against depth, {clients(tuning.concurrency)}"
    return Figure(title, depth_curve(sorted(measured), sorted(predicted), tuning.depth), note)


def _positions(runs: Sequence[RunResult]) -> tuple[float, ...]:
    """Means over the repeats that told."""
    told = [r.drafting.acceptance_by_position for r in runs if r.drafting is not None]
    told = [shares for shares in told if shares]
    if not told:
        return ()
    count = min(len(shares) for shares in told)
    return tuple(mean(shares[place] for shares in told) for place in range(count))


def latency_figures(result: AcceptanceResult) -> list[Figure]:
    """Distributions of both arms: four times, per concurrency."""
    found = []
    for concurrency in levels(result):
        for field, name in LATENCIES.items():
            series = [
                Series(label, arm, _quantiles(runs_of(result, arm, concurrency), field))
                for arm, label in ARMS
            ]
            if all(each.points for each in series):
                title = f"{name.partition(',')[0]}, {clients(concurrency)}"
                found.append(Figure(title, distribution(series, name)))
    return found


def _quantiles(runs: Iterable[RunResult], field: str) -> tuple[tuple[float, float], ...]:
    """Medians over the repeats of each quantile, as (value, share)."""
    told = [getattr(run.latency, field).quantiles for run in runs if run.latency is not None]
    told = [quantiles for quantiles in told if len(quantiles) > 1]
    if not told or len({len(quantiles) for quantiles in told}) != 1:
        return ()
    last = len(told[0]) - 1
    return tuple(
        (median(quantiles[place] for quantiles in told), place / last) for place in range(last + 1)
    )


def category_table(result: AcceptanceResult) -> Table | None:
    """Both arms per kind of prompt."""
    if not result.categories:
        return None
    heads = ("prompts", "clients", "baseline tok/s", "speculation tok/s", "ratio", "accepted")
    rows = tuple(
        (
            each.category,
            str(each.concurrency),
            f"{each.baseline_tokens_s:.1f}",
            f"{each.speculative_tokens_s:.1f}",
            f"{each.ratio:.2f}",
            number(each.mean_accepted_length, 2),
        )
        for each in result.categories
    )
    return Table(heads, rows)


def run_table(result: AcceptanceResult) -> Table | None:
    """Every run as it was measured."""
    if not result.runs:
        return None
    heads = ("run", "tokens/s", "TPOT ms", "TTFT ms", "accepted", "preempted", "peak GiB")
    rows = []
    for run in sorted(result.runs, key=lambda each: (each.concurrency, each.repeat, each.arm)):
        peak = run.memory.board_mib if run.memory is not None else None
        rows.append(
            (
                f"{clients(run.concurrency)}, {run.arm} {run.repeat}",
                f"{run.output_tokens_s:.1f}",
                number(run.tpot_ms_p50, 2),
                number(run.ttft_ms_p50, 1),
                number(run.mean_accepted_length, 2),
                number(run.preemptions, 0),
                number(peak / 1024 if peak is not None else None, 1),
            )
        )
    return Table(heads, tuple(rows))


def number(value: float | None, digits: int) -> str:
    """A figure, '-' where nothing was measured."""
    return "-" if value is None else f"{value:.{digits}f}"
