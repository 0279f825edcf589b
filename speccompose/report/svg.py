"""Axes and marks become SVG: scales, ticks, and elements that need no network and no script.

Layer: report. Pure. Charts are drawn 360 units wide and set side by side by the page, so that a
phone shows each one at its own size. Colours are the page's CSS variables: light and dark are one
drawing.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

WIDTH, HEIGHT = 360.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 14.0, 14.0, 40.0
TICK_PX = 11.0


class Scale(NamedTuple):
    """A linear map from data to drawing units."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return self.start + share * (self.end - self.start)


class Plot(NamedTuple):
    """A drawing with its two scales."""

    root: Element
    x: Scale
    y: Scale


def ticks(low: float, high: float, count: int = 4) -> tuple[float, ...]:
    """Round numbers (1, 2 or 5 times a power of ten) from ``low`` to ``high``, about ``count``."""
    if not high > low:
        return (low,)
    raw = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(number * step, 10) for number in range(first, last + 1))


def short(value: float) -> str:
    """A number as an axis wants it: no digits that say nothing."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if abs(value) < 100 else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def plot(
    x: tuple[float, float], y: tuple[float, float], *, label: str, height: float = HEIGHT
) -> Plot:
    """An empty drawing; ``label`` is what a screen reader says of it."""
    root = Element("svg", viewBox=f"0 0 {WIDTH:g} {height:g}", role="img")
    root.set("aria-label", label)
    return Plot(
        root,
        Scale(x[0], x[1], LEFT, WIDTH - RIGHT),
        Scale(y[0], y[1], height - BOTTOM, TOP),
    )


def text(parent: Element, x: float, y: float, words: str, kind: str = "tick") -> Element:
    """Words at a place; ``kind`` is the CSS class, which sets anchor, size and colour."""
    element = SubElement(parent, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": kind})
    element.text = words
    return element


def line(
    parent: Element, start: tuple[float, float], end: tuple[float, float], kind: str
) -> Element:
    """A straight line between two places of the drawing."""
    places = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    attributes = {name: f"{value:.1f}" for name, value in places.items()}
    return SubElement(parent, "line", {**attributes, "class": kind})


def x_axis(drawn: Plot, marks: Sequence[tuple[float, str]], name: str) -> None:
    """Labels below the plot, and the axis' name under them."""
    floor = drawn.y.start
    line(drawn.root, (drawn.x.start, floor), (drawn.x.end, floor), "axis")
    for value, words in marks:
        text(drawn.root, drawn.x(value), floor + 15, words, "tick middle")
    text(drawn.root, (drawn.x.start + drawn.x.end) / 2, floor + 32, name, "name middle")


def y_axis(drawn: Plot, marks: Sequence[float]) -> None:
    """Labels left of the plot, with lines across it."""
    for value in marks:
        place = drawn.y(value)
        line(drawn.root, (drawn.x.start, place), (drawn.x.end, place), "grid")
        text(drawn.root, drawn.x.start - 6, place + 4, short(value), "tick end")


def path(drawn: Plot, points: Sequence[tuple[float, float]], kind: str) -> None:
    """One line through points given in data."""
    if len(points) < 2:
        return
    words = " ".join(f"{drawn.x(a):.1f},{drawn.y(b):.1f}" for a, b in points)
    SubElement(drawn.root, "polyline", {"points": words, "class": f"line {kind}"})


def dot(drawn: Plot, point: tuple[float, float], kind: str, words: str, radius: float = 4) -> None:
    """A mark in data; ``words`` show when it is pointed at."""
    circle = SubElement(
        drawn.root,
        "circle",
        {
            "cx": f"{drawn.x(point[0]):.1f}",
            "cy": f"{drawn.y(point[1]):.1f}",
            "r": f"{radius:g}",
            "class": f"dot {kind}",
        },
    )
    SubElement(circle, "title").text = words


def bar(drawn: Plot, x: tuple[float, float], value: float, kind: str, words: str) -> None:
    """An upright bar from zero, ``x`` in drawing units."""
    top, floor = drawn.y(value), drawn.y(max(drawn.y.low, 0.0))
    rect = SubElement(
        drawn.root,
        "rect",
        {
            "x": f"{x[0]:.1f}",
            "y": f"{min(top, floor):.1f}",
            "width": f"{x[1] - x[0]:.1f}",
            "height": f"{abs(floor - top):.1f}",
            "rx": "3",
            "class": f"bar {kind}",
        },
    )
    SubElement(rect, "title").text = words


def markup(drawn: Plot) -> str:
    """The drawing as text; every word in it is escaped."""
    return tostring(drawn.root, encoding="unicode")
