"""`plan` and `render`: decide, and write down what was decided.

Layer: cli.
"""

from pathlib import Path
from typing import Any

import click

from speccompose import pipeline, proposals
from speccompose.cli import session
from speccompose.cli.options import board_options, board_source, stack_options, stack_request
from speccompose.cli.output import echo, echo_json
from speccompose.errors import ExitStatus, MemoryFitError, SpecComposeError
from speccompose.plan.export import plan_document
from speccompose.report.failure import failure_text
from speccompose.report.fits_text import fits_text
from speccompose.report.plan_text import plan_text
from speccompose.vocab.plan import StackPlan
from speccompose.world.stack_folder import write_stack


@click.command()
@board_options
@stack_options
@click.option("--json", "as_json", is_flag=True, help="the plan as JSON")
@click.option("--explain", is_flag=True, help="rule and source of every decision")
@click.option("--suggest", is_flag=True, help="when it does not fit: nearest plans that do")
def plan(as_json: bool, explain: bool, suggest: bool, **values: Any) -> int:
    """Decide image, speculation and memory for a board; touch nothing."""
    settings = session.settings()
    catalog = session.catalog(settings)
    board = board_source(values)
    if not values["model"]:
        device = pipeline.identify_board(board, catalog)
        echo(fits_text(device, proposals.what_fits(board, catalog)))
        echo("\nname one with --model", err=True)
        return int(ExitStatus.USAGE)
    request = stack_request(values, settings)
    try:
        planned = pipeline.plan_stack(request, board, catalog)
    except SpecComposeError as error:
        if as_json:
            echo_json(pipeline.explain_refusal(error, request, board, catalog))
        if suggest and isinstance(error, MemoryFitError):
            echo(failure_text(error), err=True)
            echo(fits_text(None, proposals.suggest(request, board, catalog)), err=True)
            return int(error.status)
        raise
    document = plan_document(planned, catalog)
    if as_json:
        echo_json(document)
    else:
        echo(plan_text(document, explain=explain))
    return int(ExitStatus.DONE)


@click.command()
@board_options
@stack_options
@click.option("-o", "--output", required=True, metavar="DIR", help="folder to write")
@click.option("--json", "as_json", is_flag=True, help="the plan as JSON")
def render(output: str, as_json: bool, **values: Any) -> int:
    """Write the planned stack to a folder: Compose file, unit, plan, checks."""
    settings = session.settings()
    catalog = session.catalog(settings)
    board = board_source(values)
    request = stack_request(require_model(values), settings)
    try:
        planned: StackPlan = pipeline.plan_stack(request, board, catalog)
    except SpecComposeError as error:
        if as_json:
            echo_json(pipeline.explain_refusal(error, request, board, catalog))
        raise
    write_stack(pipeline.render_plan(planned, catalog), Path(output))
    document = plan_document(planned, catalog)
    if as_json:
        echo_json(document)
    else:
        echo(plan_text(document))
        echo(f"\nwritten to {output}; next: speccompose pull {output}")
    return int(ExitStatus.DONE)


def require_model(values: dict[str, Any]) -> dict[str, Any]:
    """Refuse a missing --model the way click would."""
    if not values["model"]:
        raise click.UsageError("--model is missing; `speccompose plan` shows what fits this board")
    return values
