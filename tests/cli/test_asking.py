"""A yes, a no, and nobody there; on a real terminal."""

import os
import pty
import sys

import click
import pytest

from speccompose.cli.asking import confirm
from speccompose.errors import UsageError

NOBODY = UsageError("this would do it", hint="add --yes")


def answered(text: str) -> None:
    master, slave = pty.openpty()
    os.write(master, text.encode())
    kept = sys.stdin
    with os.fdopen(slave, "r") as terminal:
        sys.stdin = terminal
        try:
            confirm("do it?", False, NOBODY)
        finally:
            sys.stdin = kept
            os.close(master)


def test_a_yes_goes_on(capsys):
    answered("y\n")
    assert "do it?" in capsys.readouterr().err


def test_a_no_changes_nothing_and_says_so(capsys):
    with pytest.raises(click.exceptions.Exit) as caught:
        answered("n\n")
    assert caught.value.exit_code == 130
    assert "nothing was changed" in capsys.readouterr().err


def test_nobody_is_asked_where_nobody_is_or_all_is_said():
    confirm("do it?", True, NOBODY)
    with open(os.devnull) as nobody:
        kept, sys.stdin = sys.stdin, nobody
        try:
            with pytest.raises(UsageError, match="this would do it"):
                confirm("do it?", False, NOBODY)
        finally:
            sys.stdin = kept
