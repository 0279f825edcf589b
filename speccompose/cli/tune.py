"""`tune`: find the depth at which a stack drafts best on this board.

Layer: cli.
"""

import re
from typing import Any

import click
import msgspec

from speccompose.cli.accept import HTML, confirm, measuring, prompts_of
from speccompose.cli.measured_page import keep_tuning_page
from speccompose.cli.numbers import Number, Whole
from speccompose.cli.other_runner import runner_of, tell_reports
from speccompose.cli.output import echo, echo_json
from speccompose.cli.serve import AS_JSON, this_machine
from speccompose.errors import UsageError
from speccompose.report.tuning_text import tuning_text
from speccompose.serving import stack_of
from speccompose.tuning import Tuned, tune_here
from speccompose.tuning_session import Wanted
from speccompose.vocab.request import MAX_DEPTH
from speccompose.vocab.tuning_result import TuneLimits

_DEPTHS = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?")
MOST_CLIENTS = 256
"""Clients that one machine plays at once and still measures right."""

_POSITIVE = Number(min=0, min_open=True)


@click.command()
@click.argument("stack", metavar="STACK")
@click.option("--depths", metavar="1,2,4|1-5", help="these depths; default: around the start")
@click.option(
    "--concurrency",
    type=Whole(1, MOST_CLIENTS),
    metavar="N",
    help="what to be fast at; default: what the stack was planned for",
)
@click.option("--max-tpot-ms", type=_POSITIVE, metavar="X", help="TPOT p50 at most")
@click.option("--max-ttft-ms", type=_POSITIVE, metavar="X", help="TTFT p50 at most")
@click.option("--max-e2e-ms", type=_POSITIVE, metavar="X", help="end to end p50 at most")
@click.option("--max-memory-mib", type=Whole(1), metavar="N", help="board's peak at most")
@click.option("--exhaustive", is_flag=True, help="every depth, whatever the curve says")
@click.option("--apply", "apply_it", is_flag=True, help="deploy the depth that was chosen")
@click.option("--fresh", is_flag=True, help="take nothing over from an earlier search")
@measuring
@HTML
@AS_JSON
def tune(stack: str, html: str | None, as_json: bool, **values: Any) -> int:
    """Measure the stack without speculation and at several depths, and choose.

    By tokens/s at the concurrency it was planned for, within the limits that are given. After
    each depth the curve is fitted, and only what may be best is measured next. A search that was
    cut short goes on where it was. Exit 0 with a choice (also: speculation off), 9 when nothing
    is within the limits, 11 when the measurement does not count.
    """
    wanted = wanted_of(values)
    confirm(stack, values["yes"])
    with this_machine() as here:
        tuned = tune_here(stack_of(stack, here.settings), here, wanted)
        tell_reports(values, tuned.result.artifacts, here.say)
    keep_tuning_page(tuned.result.artifacts, html)
    return show(tuned, as_json)


def wanted_of(values: dict[str, Any]) -> Wanted:
    """The options as what is wanted.

    Raises:
        UsageError: --depths names none, or what is no depth.
    """
    return Wanted(
        depths=() if values["depths"] is None else parse_depths(values["depths"]),
        concurrency=values["concurrency"],
        limits=TuneLimits(
            tpot_ms=values["max_tpot_ms"],
            ttft_ms=values["max_ttft_ms"],
            e2e_ms=values["max_e2e_ms"],
            memory_mib=values["max_memory_mib"],
        ),
        exhaustive=values["exhaustive"],
        apply=values["apply_it"],
        fresh=values["fresh"],
        quick=values["quick"],
        prompts=prompts_of(values),
        other=runner_of(values),
    )


def parse_depths(text: str) -> tuple[int, ...]:
    """'1,2,4' and '1-5' as depths, ascending; 0 is the baseline, which is always measured.

    Raises:
        UsageError: saying what is no depth.
    """
    found: set[int] = set()
    for part in text.split(","):
        match = _DEPTHS.fullmatch(part.strip())
        low = int(match[1]) if match else -1
        high = int(match[2] or match[1]) if match else -1
        if not 0 <= low <= high <= MAX_DEPTH:
            raise UsageError(
                f"--depths {text}: {part.strip()!r} is no depth",
                [f"wanted: whole numbers from 1 to {MAX_DEPTH}, or ranges of them"],
                hint="for example --depths 1,2,4 or --depths 1-5",
                code="bad_option",
            )
        found |= set(range(low, high + 1))
    if not found - {0}:
        raise UsageError(
            f"--depths {text} names no depth to speculate with",
            hint="for example --depths 1,2,4; the baseline is measured anyway",
            code="bad_option",
        )
    return tuple(sorted(found - {0}))


def show(tuned: Tuned, as_json: bool) -> int:
    """Print the result, whatever came of it; returns the exit status.

    Raises:
        SpecComposeError: the chosen depth was to be deployed and does not come up.
    """
    if as_json:
        echo_json(msgspec.to_builtins(tuned.result))
    else:
        echo(tuning_text(tuned.result, tuned.deployed))
    if tuned.failure is not None:
        raise tuned.failure
    return tuned.status
