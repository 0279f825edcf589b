"""A refusal tells what was known when it came, as the contract's object."""

import pytest

from speccompose.cli.attempt import Attempt
from speccompose.errors import DataError, SpecComposeError
from speccompose.pipeline import identify_board, plan_stack
from speccompose.vocab.board import BoardSource
from speccompose.vocab.request import StackRequest

THOR = BoardSource(device="agx-thor-t5000")
TOO_OLD = BoardSource(device="agx-orin-64gb", l4t="35.3.1")


def fail(attempt: Attempt, error: SpecComposeError) -> None:
    with pytest.raises(type(error)), attempt:
        raise error


def test_nothing_is_known_yet(capsys):
    fail(Attempt(as_json=True), DataError("no catalog", code="x"))
    printed = capsys.readouterr()
    assert '"device": null' in printed.out
    assert '"code": "x"' in printed.out


def test_without_json_nothing_is_printed(capsys):
    fail(Attempt(as_json=False), DataError("no catalog"))
    assert capsys.readouterr().out == ""


def test_another_kind_of_error_is_not_ours_to_tell(capsys):
    with pytest.raises(ValueError, match="a bug"), Attempt(as_json=True):
        raise ValueError("a bug")
    assert capsys.readouterr().out == ""


def test_the_board_is_known(catalog):
    attempt = Attempt(as_json=True)
    attempt.catalog, attempt.board = catalog, THOR
    document = attempt.refusal(DataError("no model"))
    assert document.device.id == "agx-thor-t5000"
    assert document.request is None


def test_a_refused_board_is_told_too(catalog):
    attempt = Attempt(as_json=True)
    attempt.catalog, attempt.board = catalog, TOO_OLD
    with pytest.raises(SpecComposeError) as caught:
        identify_board(TOO_OLD, catalog)
    assert attempt.refusal(caught.value).device.l4t == "35.3.1"


def test_all_is_known(catalog):
    attempt = Attempt(as_json=True)
    attempt.catalog, attempt.board = catalog, THOR
    attempt.request = StackRequest(model="qwen3-8b", image="foo")
    with pytest.raises(SpecComposeError) as caught:
        plan_stack(attempt.request, THOR, catalog)
    document = attempt.refusal(caught.value)
    assert document.request == attempt.request
    assert document.findings[-1].code == caught.value.code


def test_a_refusal_in_text_shows_the_warnings_that_stand_beside_it(capsys, catalog):
    attempt = Attempt(as_json=False)
    attempt.catalog = catalog
    attempt.board = BoardSource(device="orin-nano-8gb", l4t="36.4.7")
    fail(attempt, DataError("does not fit", code="x"))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("warning: L4T 36.4.7 can refuse large GPU allocations")
    assert max(map(len, printed.err.splitlines())) <= 80
