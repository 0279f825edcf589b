"""`$` in a Compose file: what is known, what is not, what Compose refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.lint.interpolation import fill


@pytest.mark.parametrize(
    ("text", "filled", "known"),
    [
        ("plain", "plain", True),
        ("$$HOME", "$HOME", True),
        ("${PORT:-8000}", "8000", True),
        ("${PORT-8000}", "8000", True),
        ("a${A:-${B:-c}}d", "acd", True),
        ("${PORT}", "${PORT}", False),
        ("$PORT/x", "$PORT/x", False),
        ("${PORT:-}", "${PORT:-}", False),
        ("${PORT:?tell it}", "${PORT:?tell it}", False),
        ("${PORT:+8000}", "${PORT:+8000}", False),
        ("a $(cat x) $? $1 $", "a $(cat x) $? $1 $", True),
    ],
)
def test_what_stands_there_afterwards(text, filled, known):
    """As `docker compose config` of 5.6.1 shows them."""
    found = fill(text)
    assert (found.text, found.known, found.faults) == (filled, known, ())


@pytest.mark.parametrize("text", ["${", "${A", "x ${1A} y", "${A:-${B}", "${A!b}", "${}"])
def test_what_compose_cannot_read(text):
    assert fill(text).faults != ()


def test_variables_are_named():
    assert fill("$A ${B:-$C} $$D").variables == ("A", "B", "C")


def test_nesting_is_bounded():
    assert fill("${A:-" * 500 + "x" + "}" * 500).faults != ()


@given(st.text(alphabet="$${}AB:-?+ \n'\"", max_size=60))
def test_any_text_is_taken(text):
    found = fill(text)
    assert "$" in text or found.text == text
