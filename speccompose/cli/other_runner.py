"""`--runner aiperf` on every verb that measures: who is made, what it is asked, what it reports.

Layer: cli. AIPerf's modules are imported only where it is asked for.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from speccompose.cli import session
from speccompose.device.dataset import Dataset
from speccompose.device.ports import Progress, Say
from speccompose.device.runner import NATIVE, Runner, RunnerMaker
from speccompose.errors import UsageError
from speccompose.world.onboard import as_our_errors

AIPERF = "aiperf"
RUNNERS = (NATIVE, AIPERF)


def runner_of(values: Mapping[str, Any]) -> RunnerMaker | None:
    """Who measures: None for our own client.

    Raises:
        UsageError: options that the runner does not have.
    """
    if values["runner"] == NATIVE:
        if values["osl"] is not None:
            raise UsageError(
                f"--osl {values['osl']} goes with --runner aiperf only",
                hint="the native runner asks for as many tokens as the acceptance rules say",
                code="osl_without_aiperf",
            )
        return None
    if values["quick"]:
        raise UsageError(
            "--quick does not go with --runner aiperf",
            hint="--requests N and --osl N make AIPerf's runs short",
            code="quick_with_runner",
        )
    return RunnerMaker(AIPERF, partial(_aiperf, values))


def output_tokens_of(values: Mapping[str, Any]) -> int | None:
    """The longest answer that AIPerf asks for; None leaves the length to the rules."""
    if values["runner"] == NATIVE:
        return None
    from speccompose.measure.aiperf_job import OUTPUT_TOKENS

    return OUTPUT_TOKENS if values["osl"] is None else int(values["osl"])


def tell_reports(values: Mapping[str, Any], folder: str | None, say: Say) -> None:
    """After a measurement by AIPerf: its own throughput report of every arm or depth."""
    if values["runner"] == NATIVE or folder is None:
        return
    from speccompose.measure.aiperf_program import find_aiperf
    from speccompose.measure.aiperf_report import throughput_reports

    with as_our_errors():
        reports = throughput_reports(find_aiperf(session.search_path()), Path(folder))
    for report in reports:
        told = str(report.path) if report.fault is None else f"none: {report.fault}"
        say(Progress("note", f"AIPerf's throughput report of {report.group}: {told}"))


def _aiperf(values: Mapping[str, Any], dataset: Dataset, root: Path) -> Runner:
    """AIPerf, found on this machine now.

    Raises:
        DeviceError: status 15 when there is none that works, 2 for a dataset that it would ask
            differently.
    """
    from speccompose.measure.aiperf import Asked, aiperf_runner
    from speccompose.measure.aiperf_job import OUTPUT_TOKENS
    from speccompose.measure.aiperf_program import find_aiperf

    asked = Asked(
        category=values["category"],
        requests=values["requests"],
        output_tokens=output_tokens_of(values) or OUTPUT_TOKENS,
    )
    return aiperf_runner(find_aiperf(session.search_path()), dataset, root, asked=asked)
