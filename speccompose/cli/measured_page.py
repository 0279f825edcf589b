"""What was measured becomes a page: written where the user says, and kept beside the result.

Layer: cli. A page that cannot be written costs a note, never the verdict.
"""

from pathlib import Path

from speccompose.cli.output import echo
from speccompose.errors import SpecComposeError
from speccompose.report.acceptance_page import acceptance_page
from speccompose.report.tuning_page import tuning_page
from speccompose.vocab.tuning_result import TuningResult
from speccompose.world.kept_results import load_acceptance, load_tuning, newest_tuning
from speccompose.world.output_file import write_output

NAME = "report.html"


def keep_acceptance_page(folder: str | None, stack: str, html: str | None, state: str) -> None:
    """Write the page of an acceptance into its folder, and where ``html`` says.

    Raises:
        UsageError: ``html`` cannot be written.
    """
    if folder is None:
        return
    try:
        result = load_acceptance(Path(folder))
        page = acceptance_page(result, _tuning(stack, state))
    except SpecComposeError as error:
        echo(f"note: no page: {error.brief}", err=True)
        return
    _write(page, Path(folder), html)


def keep_tuning_page(folder: str | None, html: str | None) -> None:
    """The same for a search of depths.

    Raises:
        UsageError: ``html`` cannot be written.
    """
    if folder is None:
        return
    try:
        page = tuning_page(load_tuning(Path(folder)))
    except SpecComposeError as error:
        echo(f"note: no page: {error.brief}", err=True)
        return
    _write(page, Path(folder), html)


def _write(page: str, folder: Path, html: str | None) -> None:
    try:
        write_output(page, folder / NAME)
    except SpecComposeError as error:
        echo(f"note: no page beside the result: {error.brief}", err=True)
    else:
        echo(f"report: {folder / NAME}", err=True)
    if html is not None:
        write_output(page, Path(html))


def _tuning(stack: str, state: str) -> TuningResult | None:
    """The newest search of depths of this stack; it adds the curve."""
    try:
        return newest_tuning(stack, Path(state))
    except SpecComposeError:
        return None
