"""How a mistake is shown."""

import pytest

from speccompose.catalog.problem import (
    InvalidDataError,
    Mistake,
    Position,
    Positions,
    Problem,
    did_you_mean,
    place,
    show_path,
    source_lines,
)


def test_a_mistake_shows_place_line_caret_expectation_and_hint():
    problem = Problem(
        file="a.yaml",
        position=Position(12, 7),
        path="x.y",
        source_line="    y:\tbad\x07",
        expected="expected good",
        hint="try good",
    )
    assert problem.lines() == (
        "a.yaml:12:7  x.y",
        "  12 |     y: bad",
        "     |       ^",
        "  expected good",
        "  hint: try good",
    )


def test_a_missing_file_shows_its_name_alone():
    assert Problem(file="a.yaml", expected="expected this file").lines() == (
        "a.yaml",
        "  expected this file",
    )


@pytest.mark.parametrize("column", [1, 60, 71, 72, 73, 150, 300, 301])
def test_the_caret_stands_under_its_column_however_long_the_line(column):
    line = "." * (column - 1) + "X" + "." * (300 - column)
    problem = Problem(file="f", position=Position(9, column), source_line=line[:300], expected="e")
    _, shown, caret, _ = problem.lines()
    assert shown[caret.index("^") :][:1] in ("X", ""), "empty: one past the end"
    assert max(len(shown), len(caret)) <= 80


def test_one_error_carries_all_problems():
    problems = [Problem(file=name, expected="e") for name in "ab"]
    error = InvalidDataError("catalog", problems)
    assert (error.brief, error.status, error.code) == ("catalog: 2 mistakes", 3, "data_invalid")
    assert error.details == ("a", "  e", "b", "  e")
    assert InvalidDataError("x", problems[:1]).brief == "x: 1 mistake"


def test_paths_read_as_people_write_them():
    assert show_path(("checkpoints", 0, "weights_mib")) == "checkpoints[0].weights_mib"
    assert show_path(("files", "/etc/x")) == 'files["/etc/x"]'
    assert show_path((2, "a-b")) == "[2].a-b"
    assert show_path(()) == ""


def test_a_mistake_finds_its_place_by_key_or_value():
    positions = Positions(
        keys={("a",): Position(1, 1)}, values={(): Position(1, 1), ("a",): Position(1, 4)}
    )
    lines = source_lines("a: 1\r\n")

    def column(mistake):
        return place(mistake, "f", lines, positions).position

    assert column(Mistake(("a",), "e")) == (1, 4)
    assert column(Mistake(("a",), "e", at_key=True)) == (1, 1)
    assert column(Mistake(("a", "gone", 3), "e")) == (1, 4)
    assert place(Mistake(("a",), "e"), "f", lines, positions).source_line == "a: 1"
    assert place(Mistake(("a",), "e"), "f", lines, None).position is None


def test_suggestions_are_near_or_absent():
    assert did_you_mean("total_mb", ["total_mib", "name"]) == "did you mean total_mib?"
    assert did_you_mean("colour", ["total_mib", "name"]) is None


def test_of_thousands_of_mistakes_some_are_told_and_all_are_counted():
    problems = [Problem(file=f"{number}.yaml", expected="expected x") for number in range(100_000)]
    error = InvalidDataError("facts", problems)
    assert error.brief == "facts: 100000 mistakes"
    assert len(error.details) == 41
    assert error.details[-1] == "and 99980 more"
    assert len(error.problems) == 100_000
