"""Scales, ticks and elements of a drawing."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.report.svg import Scale, bar, dot, markup, path, plot, short, text, ticks


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0, 1, (0, 0.5, 1)),
        (0, 100, (0, 50, 100)),
        (30, 48, (30, 40)),
        (0.95, 1.5, (1.0, 1.2, 1.4)),
        (5, 5, (5,)),
    ],
)
def test_ticks_are_round_and_within(low, high, found):
    assert ticks(low, high, 3) == found


@given(st.floats(-1e6, 1e6), st.floats(0.001, 1e6), st.integers(1, 10))
def test_ticks_stay_within_and_rise(low, span, count):
    found = ticks(low, low + span, count)
    assert list(found) == sorted(found)
    assert all(low - 1e-3 * span <= tick <= low + span * 1.001 for tick in found)
    assert len(found) <= count + 1


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (0.05, "0.05"), (1.0, "1"), (1.234, "1.23"), (47.25, "47.2"), (1234.5, "1234")],
)
def test_numbers_are_short(value, said):
    assert short(value) == said


def test_a_scale_maps_ends_to_ends_and_nothing_to_the_middle():
    scale = Scale(0, 10, 100, 200)
    assert (scale(0), scale(5), scale(10)) == (100, 150, 200)
    assert Scale(3, 3, 0, 10)(3) == 5


def test_words_are_escaped_and_the_drawing_is_xml():
    drawn = plot((0, 1), (0, 1), label='<b> & "c"')
    text(drawn.root, 1, 2, "<script>")
    dot(drawn, (0.5, 0.5), "baseline", "a < b")
    said = markup(drawn)
    assert "<script>" not in said
    root = ElementTree.fromstring(said)
    assert root.get("aria-label") == '<b> & "c"'


def test_a_bar_stands_on_zero_and_a_path_needs_two_points():
    drawn = plot((0, 1), (0, 10), label="x")
    bar(drawn, (10, 20), 5, "baseline", "five")
    rect = drawn.root.find("rect")
    assert float(rect.get("y")) + float(rect.get("height")) == pytest.approx(drawn.y(0))
    path(drawn, [(0, 0)], "baseline")
    assert drawn.root.find("polyline") is None
