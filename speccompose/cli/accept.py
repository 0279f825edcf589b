"""`accept`: measure speculation against its baseline on this board, and act on the verdict.

Layer: cli.
"""

import sys

import click

from speccompose.acceptance import accept_here
from speccompose.cli.output import echo, echo_json
from speccompose.cli.serve import AS_JSON, STACK, this_machine
from speccompose.errors import UsageError
from speccompose.report.verdict_text import verdict_text
from speccompose.serving import stack_of


@click.command()
@STACK
@click.option("--strict", is_flag=True, help="a marginal gain counts as rejected")
@click.option("--quick", is_flag=True, help="short outputs and few repeats, for a demonstration")
@click.option("--yes", is_flag=True, help="do not ask: the stack is interrupted meanwhile")
@AS_JSON
def accept(stack: str, strict: bool, quick: bool, yes: bool, as_json: bool) -> int:
    """Measure the stack without and with speculation, at concurrency 1 and 8.

    Where speculation does not pay, the stack is redeployed without it. Exit 0 accepted or
    marginal, 9 rejected, 11 inconclusive or invalid.
    """
    confirm(stack, yes)
    with this_machine() as here:
        stack = stack_of(stack, here.settings)
        judged = accept_here(stack, here, quick=quick, strict=strict)
    if as_json:
        echo_json(judged.result.as_dict())
    else:
        echo(verdict_text(stack, judged.result, judged.redeployed))
    return judged.status


def confirm(stack: str, yes: bool) -> None:
    """Ask before the stack is interrupted.

    Raises:
        UsageError: nobody is there to ask, and --yes is missing.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"measuring {stack} interrupts it",
            hint="add --yes if nobody depends on it now",
            code="needs_yes",
        )
    click.confirm(f"measuring {stack} interrupts it for some minutes; go on?", abort=True, err=True)
