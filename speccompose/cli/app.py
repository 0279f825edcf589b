"""The command group: each verb's module is imported only when that verb is called.

Layer: cli.
"""

import click

import speccompose
from speccompose.cli.lazy_group import LazyGroup

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


@click.group(cls=LazyGroup, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(speccompose.__version__, prog_name="speccompose")
def app() -> None:
    """LLM serving with speculative decoding on NVIDIA Jetson: planned, deployed, proved."""
