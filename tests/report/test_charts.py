"""Drawings show what was measured where it was measured."""

import re
from xml.etree import ElementTree

from speccompose.report.charts import (
    Interval,
    Series,
    depth_curve,
    distribution,
    intervals,
    position_bars,
    repeats,
)


def titles(svg: str) -> list[str]:
    return [each.text for each in ElementTree.fromstring(svg).iter("title")]


def words(svg: str) -> list[str]:
    return [each.text for each in ElementTree.fromstring(svg).iter("text")]


def test_the_curve_marks_every_depth_and_names_baseline_and_choice():
    svg = depth_curve([(0, 36.5), (1, 44.5), (2, 48.5), (4, 34.5)], [(3, 42.0)], 2)
    assert titles(svg) == [
        "depth 0: 36.5 tokens/s",
        "depth 1: 44.5 tokens/s",
        "depth 2: 48.5 tokens/s",
        "depth 4: 34.5 tokens/s",
    ]
    assert {"36.5", "48.5"} <= set(words(svg))
    assert "44.5" not in words(svg)
    assert [word for word in words(svg) if re.fullmatch(r"\d", word)][-5:] == [
        "0",
        "1",
        "2",
        "3",
        "4",
    ]


def test_a_faster_depth_is_drawn_higher():
    root = ElementTree.fromstring(depth_curve([(0, 10.0), (1, 20.0)], (), None))
    low, high = (float(circle.get("cy")) for circle in root.iter("circle"))
    assert high < low


def test_positions_are_bars_in_order():
    svg = position_bars((0.8, 0.4))
    assert titles(svg) == ["position 1: 80% of the drafts", "position 2: 40% of the drafts"]
    first, second = ElementTree.fromstring(svg).iter("rect")
    assert float(first.get("height")) == 2 * float(second.get("height"))


def test_fifteen_positions_still_have_room():
    assert len(titles(position_bars(tuple(0.9**n for n in range(15))))) == 15


def test_a_distribution_marks_the_medians():
    slow = Series("baseline", "baseline", tuple((10.0 + n, n / 20) for n in range(21)))
    fast = Series("with speculation", "speculative", tuple((5.0 + n, n / 20) for n in range(21)))
    svg = distribution([slow, fast], "ms")
    assert titles(svg) == ["baseline: median 20 ms", "with speculation: median 15 ms"]


def test_every_repeat_is_a_mark():
    series = [
        Series("baseline", "baseline", ((0, 30.0), (0, 31.0), (0, 29.0))),
        Series("with speculation", "speculative", ((0, 45.0),)),
        Series("nothing", "speculative", ()),
    ]
    assert len(list(ElementTree.fromstring(repeats(series, "tokens/s")).iter("circle"))) == 4


def test_intervals_show_their_boundaries():
    row = Interval("1 client", 1.46, 1.43, 1.49, 1.3, 1.1)
    root = ElementTree.fromstring(intervals([row, row._replace(accept=None, reject=None)]))
    kinds = [each.get("class") for each in root.iter("line")]
    assert kinds.count("boundary accept") == kinds.count("boundary reject") == 1
    assert kinds.count("interval") == 2


def test_nothing_measured_is_still_a_drawing():
    for svg in (depth_curve((), (), None), distribution((), "ms"), repeats((), "x"), intervals(())):
        assert ElementTree.fromstring(svg).tag == "svg"
