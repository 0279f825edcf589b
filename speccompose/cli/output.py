"""The only printing door of the verbs: text with colour on a terminal, JSON as it is.

Layer: cli.
"""

import click
import msgspec

from speccompose.cli.streams import shown
from speccompose.vocab.base import Frozen


class ReaderGoneError(Exception):
    """Whoever read our output has gone. No OSError: click would end the program with status 1,
    and forget the refusal that was being printed."""


def echo(text: str, *, err: bool = False) -> None:
    """Print text, whoever made it: what looks like a token, a login or a header is not shown."""
    try:
        click.echo(shown(text), err=err)
    except BrokenPipeError as error:
        raise ReaderGoneError from error


def echo_json(document: Frozen | dict[str, object]) -> None:
    """Print one JSON object to standard output."""
    echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
