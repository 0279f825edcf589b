"""docs/field-cases.md: every case has its rows, and every test that they name is there."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs" / "field-cases.md"
ROW = re.compile(r"^\| ([A-Z]-\d\d) \| (.+?) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`([\w./]+\.py)::(\w+)`")
NUMBERED = re.compile(r"test_([chbnxf])_(\d\d)_")
COUNTS = {"C": 9, "H": 4, "B": 6, "N": 3, "X": 2, "F": 2}
"""How many cases of each kind there are; C-01 is the first."""

ROWS = [(case, must, NAMED.findall(held)) for case, must, held in ROW.findall(PAGE.read_text())]
CASES = [f"{kind}-{number:02d}" for kind, most in COUNTS.items() for number in range(1, most + 1)]


def defined_in(file: str) -> set[str]:
    """The tests that a file defines."""
    tree = ast.parse((TESTS / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_case_has_its_rows_in_order():
    assert list(dict.fromkeys(case for case, _, _ in ROWS)) == CASES
    assert len(ROWS) == PAGE.read_text().count("\n| ") - 1, "a row that cannot be read"


@pytest.mark.parametrize(("case", "must", "named"), ROWS, ids=[f"{c}: {m}" for c, m, _ in ROWS])
def test_what_must_be_so_is_held_by_tests_that_are_there(case, must, named):
    assert named
    for file, name in named:
        assert name.startswith("test_")
        assert name in defined_in(file), f"{case}, {must}: {file} has no {name}"


def test_a_test_that_bears_a_cases_number_stands_in_its_rows():
    listed = {(case, file, name) for case, _, named in ROWS for file, name in named}
    for path in sorted(TESTS.rglob("test_*.py")):
        file = str(path.relative_to(TESTS))
        for name in defined_in(file):
            found = NUMBERED.match(name)
            if found:
                case = f"{found[1].upper()}-{found[2]}"
                assert (case, file, name) in listed, f"docs/field-cases.md lacks it: {case}"
