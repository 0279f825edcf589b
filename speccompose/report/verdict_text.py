"""A verdict as text: the outcome in words, the numbers behind it, what follows.

Layer: report. Pure.
"""

from collections.abc import Sequence
from statistics import median

from speccompose.device.accept import Result
from speccompose.device.runs import Run
from speccompose.device.transaction import DeployResult
from speccompose.report.failure import wrapped
from speccompose.report.outcomes import MEANING


def verdict_text(stack: str, result: Result, redeployed: DeployResult | None) -> str:
    """Outcome, medians of both arms side by side, reasons, consequence."""
    verdict = result.verdict
    mark = " (synthetic: proves nothing about real text)" if verdict.synthetic else ""
    lines = [f"{stack}: {verdict.outcome}{mark}: {MEANING[verdict.outcome]}"]
    lines += ["", *arms_lines(result.runs), ""]
    for reason in verdict.reasons:
        lines += wrapped(f"  - {reason}", indent="    ")
    if redeployed is not None:
        lines += ["", f"redeployed without speculation: {redeployed.endpoint}"]
    return "\n".join(lines)


def arms_lines(runs: tuple[Run, ...]) -> list[str]:
    """Medians per arm and concurrency; tokens/s at the client."""
    if not runs:
        return ["  nothing was measured"]
    lines = [f"  {'':<24}{'tokens/s':>10}{'TPOT ms':>10}{'TTFT ms':>10}{'accepted':>10}"]
    keys = sorted({(run.concurrency, run.arm) for run in runs})
    for concurrency, arm in keys:
        group = [run for run in runs if (run.concurrency, run.arm) == (concurrency, arm)]
        cells = [
            median_text([run.output_tokens_s for run in group], digits=1),
            median_text([run.tpot_ms_p50 for run in group], digits=2),
            median_text([run.ttft_ms_p50 for run in group], digits=1),
            median_text([run.mean_accepted_length for run in group], digits=2),
        ]
        label = f"{concurrency} at once, {arm}"
        lines.append(f"  {label:<24}" + "".join(f"{cell:>10}" for cell in cells))
    return lines


def median_text(values: Sequence[float | None], *, digits: int) -> str:
    """The median of what was measured; '-' when nothing was."""
    measured = [value for value in values if value is not None]
    return f"{median(measured):.{digits}f}" if measured else "-"
