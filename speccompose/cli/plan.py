"""`plan` and `render`: decide, and write down what was decided.

Layer: cli.
"""

from datetime import date
from pathlib import Path
from typing import Any

import click

from speccompose import pipeline, proposals
from speccompose.cli import session
from speccompose.cli.attempt import Attempt
from speccompose.cli.options import board_options, board_source, stack_options, stack_request
from speccompose.cli.output import echo, echo_json
from speccompose.errors import ExitStatus, MemoryFitError, UsageError
from speccompose.local_model import with_local_model
from speccompose.plan.export import plan_document
from speccompose.report.failure import failure_text
from speccompose.report.fits_text import fits_text
from speccompose.report.plan_text import plan_text
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.world.stack_folder import write_stack


@click.command()
@board_options
@stack_options
@click.option("--json", "as_json", is_flag=True, help="the plan as JSON")
@click.option("--explain", is_flag=True, help="rule and source of every decision")
@click.option("--suggest", is_flag=True, help="when it does not fit: nearest plans that do")
def plan(as_json: bool, explain: bool, suggest: bool, **values: Any) -> int:
    """Decide image, speculation and memory for a board; touch nothing."""
    with Attempt(as_json) as attempt:
        settings = session.settings()
        catalog = attempt.catalog = session.catalog(settings)
        board = attempt.board = board_source(values, settings)
        if not values["model"]:
            return offer_models(board, catalog, as_json=as_json)
        request = attempt.request = stack_request(values, settings)
        catalog = attempt.catalog = with_local_model(request, catalog, date.today())
        try:
            planned = pipeline.plan_stack(request, board, catalog)
        except MemoryFitError as error:
            if not suggest:
                raise
            nearest = proposals.suggest(request, board, catalog)
            attempt.tell(error)
            echo(failure_text(error), err=True)
            echo(fits_text(None, nearest), err=True)
            return int(error.status)
    document = plan_document(planned, catalog)
    if as_json:
        echo_json(document)
    else:
        echo(plan_text(document, explain=explain))
    return int(ExitStatus.DONE)


def offer_models(board: BoardSource, catalog: Catalog, *, as_json: bool) -> int:
    """Without --model: what fits this board, and exit status 2.

    Raises:
        UsageError: with ``as_json``, so that scripts get the contract's object.
    """
    device = pipeline.identify_board(board, catalog)
    rows = proposals.what_fits(board, catalog)
    if as_json:
        raise UsageError(
            "--model is missing",
            [f"fits: {row.label}" for row in rows if row.fits],
            hint="name one with --model",
            code="no_model",
        )
    echo(fits_text(device, rows))
    echo("\nname one with --model", err=True)
    return int(ExitStatus.USAGE)


@click.command()
@board_options
@stack_options
@click.option("-o", "--output", required=True, metavar="DIR", help="folder to write")
@click.option("--json", "as_json", is_flag=True, help="the plan as JSON")
def render(output: str, as_json: bool, **values: Any) -> int:
    """Write the planned stack to a folder: Compose file, unit, plan, checks."""
    with Attempt(as_json) as attempt:
        settings = session.settings()
        catalog = attempt.catalog = session.catalog(settings)
        board = attempt.board = board_source(values, settings)
        request = attempt.request = stack_request(require_model(values), settings)
        catalog = attempt.catalog = with_local_model(request, catalog, date.today())
        planned = pipeline.plan_stack(request, board, catalog)
        inside = Path(output).resolve() == Path.cwd()
        write_stack(pipeline.render_plan(planned, catalog), Path(output))
    document = plan_document(planned, catalog)
    if as_json:
        echo_json(document)
    else:
        echo(plan_text(document))
        enter = 'cd "$PWD" && ' if inside else ""  # the folder that the shell stands in is gone
        echo(f"\nwritten to {output}; next: {enter}speccompose pull {output}")
    return int(ExitStatus.DONE)


def require_model(values: dict[str, Any]) -> dict[str, Any]:
    """Refuse a missing --model the way click would."""
    if not values["model"]:
        raise click.UsageError("--model is missing; `speccompose plan` shows what fits this board")
    return values
