"""The command group: each verb's module is imported only when that verb is called.

Layer: cli.
"""

from importlib import import_module

import click

import speccompose

Given = str | tuple[str, ...] | None

VERBS: dict[str, tuple[str, str]] = {
    "detect": ("detect", "which board is this, and how is that known"),
    "plan": ("plan", "decide image, speculation and memory; touch nothing"),
    "render": ("plan", "write the planned stack to a folder"),
    "pull": ("serve", "bring the image and weights of a stack, resumable"),
    "deploy": ("serve", "bring a stack up on this board and prove it"),
    "verify": ("serve", "health, then one real answer"),
    "accept": ("accept", "measure whether speculation pays here"),
    "tune": ("tune", "find the depth at which it pays most"),
    "status": ("serve", "what runs, since when, and how it does"),
    "logs": ("serve", "the server's log"),
    "stop": ("serve", "stop a stack; it stays installed"),
    "remove": ("serve", "remove a stack; weights stay"),
    "rollback": ("serve", "return to the previous release"),
    "confirm": ("upkeep", "commit what deploy --confirm-within left waiting"),
    "recover": ("upkeep", "finish what a crash or power cut left"),
    "drift": ("upkeep", "what is not as it was committed"),
    "prune": ("upkeep", "remove old releases and their images"),
    "doctor": ("doctor", "would a deploy work on this host"),
    "lint": ("lint", "the faults of a Compose file that someone else wrote"),
    "lock": ("lock", "pin tags to digests and revisions to commits"),
    "bundle": ("bundle", "everything that a sealed site needs, in one file"),
    "fleet": ("fleet", "many boards: plan, roll out in waves, watch, take back"),
    "catalog": ("catalog", "what is known: devices, images, models, methods"),
    "inspect": ("inspect", "what a checkpoint really is, and whether a draft fits it"),
}


class Verbs(click.Group):
    """A group that imports a verb's module when the verb is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Verbs in the order of the job, not of the alphabet."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command."""
        if cmd_name not in VERBS:
            return None
        module = import_module(f"speccompose.cli.{VERBS[cmd_name][0]}")
        command = getattr(module, cmd_name)
        return refuse_blank(command) if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


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
    for text in (value,) if isinstance(value, str) else value or ():
        if not text.strip():
            raise click.BadParameter("it is empty; leave it out, or say what is meant")
    return value


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(speccompose.__version__, prog_name="speccompose")
def app() -> None:
    """LLM serving with speculative decoding on NVIDIA Jetson: planned, deployed, proved."""
