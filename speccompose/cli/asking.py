"""Somebody at the terminal is asked before anything is interrupted or changed.

Layer: cli. A no is an answer, not an interrupt; status 130 all the same, since nothing was done.
"""

import sys

import click

from speccompose.cli.output import echo
from speccompose.cli.streams import shown
from speccompose.errors import ExitStatus, UsageError


def confirm(question: str, yes: bool, unattended: UsageError) -> None:
    """Go on only with a yes; ``unattended`` is what is wrong where nobody can be asked.

    Raises:
        UsageError: ``unattended``: this is no terminal, and --yes is missing.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise unattended
    if not click.confirm(shown(question), err=True):
        echo("nothing was changed", err=True)
        raise click.exceptions.Exit(ExitStatus.INTERRUPTED)
