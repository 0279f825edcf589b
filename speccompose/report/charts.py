"""Measured figures become the drawings of a report.

Layer: report. Pure. One question each: how fast at which depth, which position is accepted, how
long requests take, and where the measured ratio lies against the rule's boundaries.
"""

from collections.abc import Sequence
from typing import NamedTuple

from speccompose.report.svg import (
    WIDTH,
    Plot,
    bar,
    dot,
    line,
    markup,
    path,
    plot,
    short,
    text,
    ticks,
    x_axis,
    y_axis,
)

ROW = 42.0
HEADROOM = 1.12


class Series(NamedTuple):
    """Points of one colour. ``kind`` is 'baseline' or 'speculative'."""

    name: str
    kind: str
    points: tuple[tuple[float, float], ...]


class Interval(NamedTuple):
    """A ratio with its interval and the boundaries that it is held against."""

    label: str
    ratio: float
    low: float
    high: float
    accept: float | None
    reject: float | None


def depth_curve(
    measured: Sequence[tuple[int, float]],
    predicted: Sequence[tuple[int, float]],
    chosen: int | None,
) -> str:
    """Output tokens/s against depth; 0 is the baseline. ``predicted`` is drawn as a thin line."""
    every = [*measured, *predicted]
    top = max((speed for _, speed in every), default=1.0) * HEADROOM
    deepest = max((depth for depth, _ in every), default=1)
    drawn = plot((-0.3, deepest + 0.3), (0.0, top), label="output tokens/s against depth")
    y_axis(drawn, ticks(0.0, top))
    x_axis(drawn, [(mark, short(mark)) for mark in _whole(deepest)], "depth (draft tokens a pass)")
    path(drawn, predicted, "predicted")
    path(drawn, measured, "speculative")
    for depth, speed in measured:
        kind = "baseline" if depth == 0 else "speculative"
        dot(drawn, (depth, speed), kind, f"depth {depth}: {short(speed)} tokens/s")
        if depth in (0, chosen):
            label = f"{short(speed)}"
            text(drawn.root, drawn.x(depth), drawn.y(speed) - 10, label, "value middle")
    return markup(drawn)


def _whole(deepest: int) -> tuple[float, ...]:
    """Depths are whole numbers, and so are their marks."""
    if deepest <= 8:
        return tuple(float(depth) for depth in range(deepest + 1))
    return tuple(mark for mark in ticks(0.0, deepest, 6) if mark == int(mark))


def position_bars(shares: Sequence[float]) -> str:
    """Share of the drafts that were accepted up to and including each position."""
    drawn = plot((0.5, len(shares) + 0.5), (0.0, 1.0), label="acceptance by position")
    y_axis(drawn, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    x_axis(
        drawn,
        [(n, str(n)) for n in range(1, len(shares) + 1) if len(shares) <= 10 or n % 2],
        "position in the draft",
    )
    half = min(16.0, 0.36 * (drawn.x.end - drawn.x.start) / max(len(shares), 1))
    for number, share in enumerate(shares, start=1):
        place = drawn.x(number)
        words = f"position {number}: {share:.0%} of the drafts"
        bar(drawn, (place - half, place + half), share, "speculative", words)
        if len(shares) <= 8:
            text(drawn.root, place, drawn.y(share) - 5, f"{share:.2f}", "value middle")
    return markup(drawn)


def distribution(series: Sequence[Series], name: str) -> str:
    """Share of requests (or gaps) that took at most so long; the further left the better."""
    ends = [value for each in series for value, _ in each.points]
    # The slowest one in twenty would flatten everything else.
    cut = [value for each in series for value, share in each.points if share <= 0.95]
    low, high = min(ends, default=0.0), max(cut, default=1.0)
    span = max(high - low, high * 0.02, 1e-9)
    drawn = plot((max(low - 0.05 * span, 0.0), high + 0.08 * span), (0.0, 1.0), label=name)
    y_axis(drawn, (0.0, 0.25, 0.5, 0.75, 1.0))
    x_axis(drawn, [(mark, short(mark)) for mark in ticks(drawn.x.low, drawn.x.high)], name)
    for each in series:
        path(drawn, [point for point in each.points if point[0] <= drawn.x.high], each.kind)
        middle = [value for value, share in each.points if abs(share - 0.5) < 1e-6]
        for value in middle:
            dot(drawn, (value, 0.5), each.kind, f"{each.name}: median {short(value)} ms")
    return markup(drawn)


def repeats(series: Sequence[Series], name: str) -> str:
    """Every repeat as a mark: how far apart the arms are, against how far each one wanders."""
    speeds = [value for each in series for _, value in each.points]
    top = max(speeds, default=1.0) * HEADROOM
    drawn = plot((-0.5, len(series) - 0.5), (0.0, top), label=name)
    y_axis(drawn, ticks(0.0, top))
    x_axis(drawn, [(place, each.name) for place, each in enumerate(series)], name)
    for place, each in enumerate(series):
        values = [value for _, value in each.points]
        if not values:
            continue
        mean = sum(values) / len(values)
        half = 26.0
        middle = drawn.x(place)
        bar(drawn, (middle - half, middle + half), mean, f"{each.kind} soft", f"mean {short(mean)}")
        for number, value in enumerate(values):
            spread = (number - (len(values) - 1) / 2) / max(len(values), 4) * 1.4
            dot(drawn, (place + spread * 0.3, value), each.kind, f"{short(value)}", 3.5)
        text(drawn.root, middle, drawn.y(max(values)) - 9, short(mean), "value middle")
    return markup(drawn)


def intervals(rows: Sequence[Interval]) -> str:
    """Ratios of speculation to baseline with 95 % intervals, and the rule's boundaries."""
    ends = [(row.low, row.high, row.accept, row.reject) for row in rows]
    marks = [value for row in ends for value in row if value is not None]
    low, high = min([*marks, 0.95]), max([*marks, 1.05])
    pad = 0.06 * (high - low)
    height = 54.0 + ROW * len(rows)
    drawn = plot((low - pad, high + pad), (0.0, float(len(rows))), label="ratios", height=height)
    drawn = drawn._replace(x=drawn.x._replace(start=14.0, end=WIDTH - 14.0))
    for mark in ticks(drawn.x.low, drawn.x.high):
        place = drawn.x(mark)
        line(drawn.root, (place, drawn.y.end), (place, drawn.y.start), "grid")
    x_axis(
        drawn,
        [(mark, short(mark)) for mark in ticks(drawn.x.low, drawn.x.high)],
        "speculation / baseline",
    )
    line(drawn.root, (drawn.x(1.0), drawn.y.end), (drawn.x(1.0), drawn.y.start), "one")
    for number, row in enumerate(rows):
        _interval(drawn, row, drawn.y.end + ROW * number)
    return markup(drawn)


def _interval(drawn: Plot, row: Interval, top: float) -> None:
    middle = top + 28
    text(drawn.root, drawn.x.start, top + 12, row.label, "row start")
    said = f"{row.ratio:.2f}  ({row.low:.2f} to {row.high:.2f})"
    text(drawn.root, drawn.x.end, top + 12, said, "value end")
    for boundary, kind in ((row.accept, "accept"), (row.reject, "reject")):
        if boundary is not None:
            place = drawn.x(boundary)
            line(drawn.root, (place, middle - 9), (place, middle + 9), f"boundary {kind}")
    line(drawn.root, (drawn.x(row.low), middle), (drawn.x(row.high), middle), "interval")
    centre = drawn._replace(y=drawn.y._replace(low=0.0, high=1.0, start=middle, end=middle - 1))
    dot(centre, (row.ratio, 0.0), "speculative", said, 5)
