"""`catalog`: what is known, what fits a board, and whether the data is sound.

Layer: cli.
"""

from datetime import date
from pathlib import Path
from typing import Any

import click
import msgspec

from speccompose import pipeline, proposals
from speccompose.catalog.schema import write_schemas
from speccompose.cli import session
from speccompose.cli.options import board_options, board_source
from speccompose.cli.output import echo, echo_json
from speccompose.errors import DataError, ExitStatus, UsageError
from speccompose.plan.models import find_model
from speccompose.recheck import recheck_models
from speccompose.report.catalog_text import catalog_text, drafts_text, tables
from speccompose.report.fits_text import fits_text
from speccompose.vocab.request import StackRequest


@click.group()
def catalog() -> None:
    """What is known: devices, images, models, methods, engines, releases."""


@catalog.command("list")
@board_options
@click.option("--fits", is_flag=True, help="only what runs on this board, with its plan")
@click.option("--drafts-for", metavar="M", help="the published ways to speculate for a model")
@click.option("--json", "as_json", is_flag=True)
def list_entries(fits: bool, drafts_for: str | None, as_json: bool, **values: Any) -> int:
    """List the catalog; with --fits, what runs on a board."""
    settings = session.settings()
    known = session.catalog(settings)
    if drafts_for is not None:
        model = find_model(StackRequest(model=drafts_for), known).model
        if as_json:
            echo_json({"model": model.id, "pairings": model.pairings})
        else:
            echo(drafts_text(model))
    elif fits or values.get("device"):
        board = board_source(values, settings)
        device = pipeline.identify_board(board, known)
        rows = proposals.what_fits(board, known)
        if as_json:
            echo_json({"device": device.id, "models": rows})
        else:
            echo(fits_text(device, rows))
    elif as_json:
        echo_json({name: tuple(entries) for name, entries in tables(known).items()})
    else:
        echo(catalog_text(known))
    return int(ExitStatus.DONE)


@catalog.command()
@click.argument("entry_id", metavar="ID")
def show(entry_id: str) -> int:
    """Show one entry with its sources, as JSON."""
    known = session.catalog(session.settings())
    for entries in tables(known).values():
        if entry_id in entries:
            echo(msgspec.json.format(msgspec.json.encode(entries[entry_id]), indent=2).decode())
            return int(ExitStatus.DONE)
    raise UsageError(
        f"nothing in the catalog is called {entry_id}",
        hint="see speccompose catalog list",
        code="unknown_entry",
    )


@catalog.command()
@click.option("-o", "--output", default="schemas", show_default=True, metavar="DIR")
def schema(output: str) -> int:
    """Write the JSON Schemas that editors use to check and complete data files."""
    write_schemas(Path(output))
    echo(f"schemas written to {output}")
    return int(ExitStatus.DONE)


@catalog.command()
def check() -> int:
    """Check every data file, shipped and your own; all mistakes at once.

    Figures of models whose weights are here are compared with what the files say.
    """
    settings = session.settings()
    known = session.catalog(settings)
    total = sum(len(entries) for entries in tables(known).values())
    echo(f"{total} entries, no mistakes")
    for overlay in known.overlays:
        echo(f"  yours: {overlay}")
    found = recheck_models(known, Path(settings.state_root) / "models", date.today())
    if found.compared:
        echo(f"compared with the weights that are here: {', '.join(found.compared)}")
    for line in found.unreadable:
        echo(f"  not readable: {line}")
    if found.differences:
        raise DataError(
            f"{len(found.differences)} catalog figures differ from the weights that are here",
            [
                f"{d.model} {d.figure}: catalog {d.catalog}, files {d.files}"
                for d in found.differences
            ],
            hint="mend profiles/models/<id>.yaml, or pull the checkpoint that it describes",
            code="figures_differ",
        )
    return int(ExitStatus.DONE)
