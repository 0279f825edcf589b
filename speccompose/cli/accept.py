"""`accept`: measure speculation against its baseline on this board, and act on the verdict.

Layer: cli.
"""

import sys
from collections.abc import Mapping
from typing import Any

import click

from speccompose.acceptance import Judged, accept_here
from speccompose.cli.output import echo, echo_json
from speccompose.cli.serve import AS_JSON, this_machine
from speccompose.errors import UsageError
from speccompose.report.verdict_text import verdict_text
from speccompose.serving import stack_of


@click.command()
@click.argument("stack", metavar="[STACK]", required=False)
@click.option("--strict", is_flag=True, help="a marginal gain counts as rejected")
@click.option("--quick", is_flag=True, help="short outputs and few repeats, for a demonstration")
@click.option("--yes", is_flag=True, help="do not ask: the stack is interrupted meanwhile")
@click.option("--runner", type=click.Choice(["native", "aiperf"]), default="native")
@click.option("--dataset", metavar="FILE", help="prompts of your own")
@click.option("--category", metavar="C", help="one kind of prompts")
@click.option("--requests", type=click.IntRange(1), metavar="N", help="requests per repeat")
@click.option("--compare", nargs=2, metavar="A B", help="two measurements instead of a STACK")
@AS_JSON
def accept(
    stack: str | None, strict: bool, quick: bool, yes: bool, as_json: bool, **later: Any
) -> int:
    """Measure the stack without and with speculation, at concurrency 1 and 8.

    Where speculation does not pay, the stack is redeployed without it. Exit 0 accepted or
    marginal, 9 rejected, 11 inconclusive or invalid. --quick follows the same rules with less
    to go by, so it ends undecided more often. Not built yet: --runner aiperf, --dataset,
    --category, --requests, --compare.
    """
    refuse_unbuilt(later)
    if stack is None:
        raise click.UsageError("Missing argument 'STACK'.")
    confirm(stack, yes)
    with this_machine() as here:
        stack = stack_of(stack, here.settings)
        judged = accept_here(stack, here, quick=quick, strict=strict)
    return show(stack, judged, as_json)


def show(stack: str, judged: Judged, as_json: bool) -> int:
    """Print the verdict, whatever came of it; returns the exit status.

    Raises:
        SpecComposeError: speculation had to go and the stack without it did not come up.
    """
    if as_json:
        echo_json(judged.result.as_dict())
    else:
        echo(verdict_text(stack, judged.result, judged.redeployed))
    if judged.failure is not None:
        raise judged.failure
    return judged.status


def refuse_unbuilt(given: Mapping[str, Any]) -> None:
    """Refuse the contract's options that this version cannot honour.

    Raises:
        UsageError: status 2; an option is never dropped.
    """
    names = [f"--{name}" for name, value in given.items() if name != "runner" and value]
    if given["runner"] != "native":
        names.append(f"--runner {given['runner']}")
    if names:
        verb = "is" if len(names) == 1 else "are"
        raise UsageError(
            f"{', '.join(names)} {verb} not built yet",
            hint="without it, the built-in runner measures with prompts of its own",
            code="not_built",
        )


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
