"""`detect`: which board is this, and how is that known.

Layer: cli.
"""

from pathlib import Path

import click

from speccompose import pipeline
from speccompose.catalog.facts_file import write_facts
from speccompose.cli import session
from speccompose.cli.options import board_source
from speccompose.cli.output import echo, echo_json
from speccompose.errors import ExitStatus, SpecComposeError
from speccompose.plan.board_refusal import RefusedBoardError
from speccompose.plan.export import refusal_document
from speccompose.report.device_text import detect_document, device_text
from speccompose.world.machine import hide_secrets
from speccompose.world.output_file import write_output


@click.command()
@click.option("--root", metavar="DIR", help="read this root folder; no command is run")
@click.option("--facts", metavar="FILE", help="read a facts file")
@click.option("--assume-l4t", metavar="X.Y.Z", help="take this L4T; recorded")
@click.option("--save", metavar="FILE", help="write the facts, serial numbers and secrets removed")
@click.option("--json", "as_json", is_flag=True, help="device and findings as JSON")
def detect(
    root: str | None, facts: str | None, assume_l4t: str | None, save: str | None, as_json: bool
) -> int:
    """Read this machine (or a root folder, or a facts file) and name the board."""
    try:
        settings = session.settings()
        catalog = session.catalog(settings)
        board = board_source({"root": root, "facts": facts, "assume_l4t": assume_l4t}, settings)
        if save is not None and board.facts is not None:
            write_output(write_facts(hide_secrets(board.facts)), Path(save))
        device = pipeline.identify_board(board, catalog)
    except SpecComposeError as error:
        if as_json:
            known = error.device if isinstance(error, RefusedBoardError) else None
            refused = refusal_document(error, device=known)
            echo_json({"device": refused.device, "findings": refused.findings})
        raise
    if as_json:
        echo_json(detect_document(device))
    else:
        echo(device_text(device))
    return int(ExitStatus.DONE)
