"""A group of verbs of which each one's module is imported only when that verb is called.

Layer: cli. Imports nothing but click: `--version` and help are asked of it, too.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.core import ParameterSource

Given = str | tuple[str, ...] | None


class LazyGroup(click.Group):
    """``verbs``: name -> (module of speccompose.cli, one line of help), in the order of the job.

    The command of ``catch-up`` is called ``catch_up`` in its module.
    """

    def __init__(self, *, verbs: Mapping[str, tuple[str, str]], **rest: Any) -> None:
        super().__init__(**rest)
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Verbs in the order of the job, not of the alphabet."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command."""
        if cmd_name not in self._verbs:
            return None
        module = import_module(f"speccompose.cli.{self._verbs[cmd_name][0]}")
        command = getattr(module, cmd_name.replace("-", "_"))
        return refuse_blank(command) if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._verbs.items()])


def refuse_blank(command: click.Command) -> click.Command:
    """Let no text option or argument of a verb, or of its sub-verbs, be empty or white space.

    Once for all verbs: an empty path would mean this folder, an empty name anything.
    """
    for parameter in command.params:
        if parameter.type is click.STRING or isinstance(parameter.type, click.Tuple):
            parameter.callback = _not_blank
    for verb in command.commands.values() if isinstance(command, click.Group) else ():
        refuse_blank(verb)
    return command


def _not_blank(ctx: click.Context, parameter: click.Parameter, value: Given) -> Given:
    if ctx.get_parameter_source(str(parameter.name)) is ParameterSource.DEFAULT:
        return value
    for text in (value,) if isinstance(value, str) else value or ():
        if not text.strip():
            raise click.BadParameter("it is empty; leave it out, or say what is meant")
    return value
