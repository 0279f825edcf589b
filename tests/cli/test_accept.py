"""`accept` asks before it interrupts a stack, and cannot ask where nobody is."""

import pytest

from speccompose.cli.accept import confirm
from speccompose.errors import UsageError
from tests.cli.harness import assert_refusal_shape


def test_nobody_is_there_to_ask(cli):
    answer = cli("accept", "x")
    assert answer.status == 2
    assert_refusal_shape(answer.err)
    assert "--yes" in answer.err


def test_yes_asks_nothing():
    confirm("x", yes=True)


def test_the_refusal_has_a_code_of_its_own():
    with pytest.raises(UsageError) as caught:
        confirm("x", yes=False)
    assert caught.value.code == "needs_yes"
