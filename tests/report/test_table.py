"""Columns align, wrap at 80, and give long first columns a line of their own."""

from speccompose.report.table import columns, gib


def test_columns_align():
    assert columns([["a", "1"], ["bbb", "2"]]) == ["  a    1", "  bbb  2"]


def test_the_last_column_wraps_below_itself():
    lines = columns([["name", "word " * 30]])
    assert len(lines) > 1
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith(" " * 8 + "word")


def test_a_long_first_column_gets_its_own_line():
    lines = columns([["x" * 40, "text"], ["y", "more"]])
    assert lines[0].strip() == "x" * 40
    assert lines[1].strip() == "text"


def test_nothing_gives_nothing():
    assert columns([]) == []


def test_gib():
    assert gib(1536) == "1.5 GiB"
