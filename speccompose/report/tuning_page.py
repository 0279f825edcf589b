"""A search of depths becomes one page: the curve, the choice and its reasons, every depth.

Layer: report. Pure.
"""

from speccompose.report.acceptance_figures import clients, depth_figure, number
from speccompose.report.charts import position_bars
from speccompose.report.html_page import Figure, Table, Tile, html_page
from speccompose.vocab.tuning_result import DepthPoint, TuningResult

SAID = {
    "chosen": ("good", "a depth was chosen"),
    "none": ("warn", "no depth beats the baseline: speculation off"),
    "out_of_limits": ("bad", "nothing is within the limits"),
    "invalid": ("bad", "the measurement does not count"),
}


def tuning_page(result: TuningResult) -> str:
    """The page of one search."""
    tone, outcome = SAID[result.outcome]
    stack = result.subject.stack if result.subject is not None else "a stack"
    values: dict[str, object] = {
        "title": f"How deep should {stack} draft?",
        "tone": tone,
        "outcome": f"depth {result.depth}" if result.outcome == "chosen" else outcome,
        "lead": f"Output tokens per second with {clients(result.concurrency)}, {result.method}.",
        "synthetic": result.synthetic,
        "tiles": _tiles(result),
        "reasons": result.reasons,
        "figures": _figures(result),
        "depths": _table(result),
        "commands": tuple(result.commands.items()),
        "footer": " · ".join(part for part in (result.started_at, result.artifacts) if part),
    }
    return html_page("tuning", values)


def _tiles(result: TuningResult) -> list[Tile]:
    speeds = {point.depth: _speed(point, result) for point in result.curve}
    base, chosen = speeds.get(0), speeds.get(result.depth or 0)
    tiles = [Tile("baseline", _shown(base), "tokens/s")]
    if result.depth and base and chosen:
        tiles.append(Tile(f"depth {result.depth}", _shown(chosen), f"{chosen / base - 1:+.0%}"))
    measured = sum(1 for point in result.curve if point.measured)
    tiles.append(Tile("depths measured", f"{measured} of {len(result.curve)}"))
    return tiles


def _figures(result: TuningResult) -> list[Figure]:
    curve = depth_figure(result)
    found = [] if curve is None else [curve]
    for point in result.curve:
        if point.depth == result.depth and point.acceptance_by_position:
            note = "share of drafts accepted up to and including each position"
            drawn = position_bars(point.acceptance_by_position)
            found.append(Figure(f"acceptance by position, depth {point.depth}", drawn, note))
    return found


def _table(result: TuningResult) -> Table:
    heads = ("depth", "clients", "tokens/s", "predicted", "TPOT ms", "TTFT ms", "accepted", "")
    rows = []
    for point in result.curve:
        note = point.why or ("" if point.within_limits else "beyond the limits")
        predicted = number(point.predicted_tokens_s, 1)
        if not point.levels:
            rows.append((str(point.depth), "-", "-", predicted, "-", "-", "-", note))
        rows += [
            (
                str(point.depth),
                str(level.concurrency),
                f"{level.output_tokens_s:.1f}",
                predicted if level.concurrency == result.concurrency else "",
                number(level.tpot_ms_p50, 2),
                number(level.ttft_ms_p50, 1),
                number(level.mean_accepted_length, 2),
                note,
            )
            for level in point.levels
        ]
    return Table(heads, tuple(rows))


def _speed(point: DepthPoint, result: TuningResult) -> float | None:
    levels = (level for level in point.levels if level.concurrency == result.concurrency)
    return next((level.output_tokens_s for level in levels), None)


def _shown(speed: float | None) -> str:
    return number(speed, 1)
