"""`accept`: measure speculation against its baseline on this board, and act on the verdict.

Layer: cli.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from speccompose.acceptance import Judged, accept_here
from speccompose.catalog.text_file import expanded
from speccompose.cli import asking
from speccompose.cli.compare import compare_results
from speccompose.cli.measured_page import keep_acceptance_page
from speccompose.cli.numbers import Whole
from speccompose.cli.options import refuse_beside
from speccompose.cli.other_runner import RUNNERS, output_tokens_of, runner_of, tell_reports
from speccompose.cli.output import echo, echo_json
from speccompose.cli.serve import AS_JSON, this_machine
from speccompose.device.accept_stack import Asked
from speccompose.device.measured_stack import Prompts
from speccompose.errors import UsageError
from speccompose.report.verdict_text import verdict_text
from speccompose.serving import stack_of

Verb = TypeVar("Verb", bound=Callable[..., Any])


MEASURED_WITH = (
    click.option("--quick", is_flag=True, help="short outputs and few repeats, to demonstrate"),
    click.option("--yes", is_flag=True, help="do not ask: the stack is interrupted meanwhile"),
    click.option("--dataset", metavar="FILE", help="prompts of your own, as JSON lines"),
    click.option("--category", metavar="C", help="one kind of prompts"),
    click.option("--requests", type=Whole(1), metavar="N", help="requests per repeat"),
    click.option("--runner", type=click.Choice(RUNNERS), default=RUNNERS[0], help="who measures"),
    click.option("--osl", type=Whole(1), metavar="N", help="AIPerf: longest answer, 4096"),
)
"""Options of every verb that measures a stack."""


def measuring(verb: Verb) -> Verb:
    """Add --quick, --yes, --dataset, --category, --requests, --runner and --osl."""
    for option in reversed(MEASURED_WITH):
        verb = option(verb)
    return verb


HTML = click.option("--html", metavar="FILE", help="also write the page of the result here")


@click.command()
@click.argument("stack", metavar="[STACK]", required=False)
@click.option("--strict", is_flag=True, help="a marginal gain counts as rejected")
@measuring
@HTML
@click.option("--compare", nargs=2, metavar="A B", help="two measurements instead of a STACK")
@AS_JSON
def accept(
    stack: str | None,
    strict: bool,
    compare: tuple[str, str] | None,
    html: str | None,
    as_json: bool,
    **values: Any,
) -> int:
    """Measure the stack without and with speculation, at concurrency 1 and 8.

    Where speculation does not pay, the stack is redeployed without it. Exit 0 accepted or
    marginal, 9 rejected, 11 inconclusive or invalid. --quick follows the same rules with less
    to go by, so it ends undecided more often. --runner aiperf lets AIPerf put on the load; the
    rules are the same. --compare lays two kept results side by side: result files, their folders,
    or names of stacks, whose newest one is meant.
    """
    if compare is not None:
        refuse_beside("--compare", ("compare", "stack", "html", "as_json"))
        return compare_results(compare, stack, html, as_json)
    if stack is None:
        raise click.UsageError("Missing argument 'STACK'.")
    confirm(stack, values["yes"])
    asked = Asked(
        quick=values["quick"], strict=strict, prompts=prompts_of(values), other=runner_of(values)
    )
    with this_machine() as here:
        stack = stack_of(stack, here.settings)
        judged = accept_here(stack, here, asked)
        tell_reports(values, judged.artifacts, here.say)
        keep_acceptance_page(judged.artifacts, stack, html, here.settings.state_root)
    return show(stack, judged, as_json)


def prompts_of(values: Mapping[str, Any]) -> Prompts:
    """Which prompts the options name; a relative path is of this folder."""
    file = values["dataset"]
    return Prompts(
        file=None if file is None else expanded(file).absolute(),
        category=values["category"],
        requests=values["requests"],
        output_tokens=output_tokens_of(values),
    )


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


def confirm(stack: str, yes: bool) -> None:
    """Ask before the stack is interrupted.

    Raises:
        UsageError: nobody is there to ask, and --yes is missing.
    """
    unattended = UsageError(
        f"measuring {stack} interrupts it",
        hint="add --yes if nobody depends on it now",
        code="needs_yes",
    )
    asking.confirm(f"measuring {stack} interrupts it for some minutes; go on?", yes, unattended)
