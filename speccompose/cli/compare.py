"""`accept --compare A B`: two kept results side by side.

Layer: cli.
"""

from pathlib import Path

from speccompose.cli import session
from speccompose.cli.output import echo, echo_json
from speccompose.errors import ExitStatus, UsageError
from speccompose.report.comparison import comparison_document, comparison_page, comparison_text
from speccompose.world.kept_results import find_acceptance
from speccompose.world.output_file import write_output


def compare_results(
    named: tuple[str, str], stack: str | None, html: str | None, as_json: bool
) -> int:
    """Print what two results have in common and where they differ.

    Raises:
        UsageError: a STACK beside it, or nothing of that name.
        DataError: one of them is no result.
    """
    if stack is not None:
        raise UsageError(
            f"--compare takes two results; {stack} would not be measured",
            hint="leave STACK out",
            code="compare_with_stack",
        )
    root = Path(session.settings().state_root)
    a, b = (find_acceptance(name, root) for name in named)
    if html is not None:
        write_output(comparison_page(a, b), Path(html))
        echo(f"written to {html}", err=True)
    if as_json:
        echo_json(comparison_document(a, b))
    elif html is None:
        echo(comparison_text(a, b))
    return int(ExitStatus.DONE)
