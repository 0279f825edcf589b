"""Numbers on the command line: what Python would take and nobody means is refused."""

import click
import pytest

from speccompose.cli.numbers import LARGEST, Number, Whole


@pytest.mark.parametrize("text", ["٣", "1_000", "1e3", "", " 1", "0x10", "1.0", "9" * 31])
def test_what_is_no_whole_number(text):
    with pytest.raises(click.BadParameter):
        Whole(1).convert(text, None, None)


@pytest.mark.parametrize(("text", "value"), [("1", 1), ("+7", 7), (str(LARGEST), LARGEST)])
def test_whole_numbers(text, value):
    assert Whole(1).convert(text, None, None) == value


@pytest.mark.parametrize("text", ["0", str(LARGEST + 1), "9" * 25])
def test_too_small_and_too_large(text):
    with pytest.raises(click.BadParameter):
        Whole(1).convert(text, None, None)
    assert Whole(bounded=False).convert(text, None, None) == int(text)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "٣.٣", "1_0", ""])
def test_what_is_no_number_or_has_no_end(text):
    with pytest.raises(click.BadParameter):
        Number(0).convert(text, None, None)


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("2.5e1", 25.0), (".5", 0.5)])
def test_numbers(text, value):
    assert Number(0).convert(text, None, None) == value
