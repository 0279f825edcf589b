"""The only printing door of the verbs: text with colour on a terminal, JSON as it is.

Layer: cli.
"""

import click
import msgspec

from speccompose.vocab.base import Frozen


def echo(text: str, *, err: bool = False) -> None:
    """Print text for people."""
    click.echo(text, err=err)


def echo_json(document: Frozen | dict[str, object]) -> None:
    """Print one JSON object to standard output."""
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
