"""A depth search as text: the curve, what was chosen, why, what follows.

Layer: report. Pure.
"""

from speccompose.device.transaction import DeployResult
from speccompose.report.failure import wrapped
from speccompose.vocab.tuning_result import DepthPoint, LevelPoint, TuningResult

MEANING = {
    "none": "speculation off is best here",
    "out_of_limits": "nothing is within the limits, not even speculation off",
    "invalid": "the measurement does not count; nothing was changed",
}


def tuning_text(result: TuningResult, deployed: DeployResult | None) -> str:
    """Headline, one row per depth, reasons, consequence."""
    stack = result.subject.stack if result.subject else "the stack"
    mark = " (synthetic: proves nothing about real text)" if result.synthetic else ""
    lines = [f"{stack}: {headline(result)}{mark}", "", *curve_lines(result), ""]
    for reason in result.reasons:
        lines += wrapped(f"  - {reason}", indent="    ")
    if deployed is not None:
        changed = "deployed" if deployed.changed else "served already"
        lines += ["", f"depth {result.depth} {changed}: {deployed.endpoint}"]
    elif result.outcome in ("chosen", "none"):
        lines += ["", f"to deploy it: speccompose tune {stack} --apply --yes"]
    return "\n".join(lines)


def headline(result: TuningResult) -> str:
    """'depth 2 is best for mtp at concurrency 1'."""
    if result.outcome == "chosen":
        return f"depth {result.depth} is best for {result.method} at concurrency " + str(
            result.concurrency
        )
    return MEANING[result.outcome]


def curve_lines(result: TuningResult) -> list[str]:
    """One row per depth; '~' before what is only predicted."""
    levels = sorted({level.concurrency for point in result.curve for level in point.levels})
    names = [f"tokens/s at {level}" for level in levels] or ["tokens/s"]
    head = f"  {'depth':<8}" + "".join(f"{name:>16}" for name in names)
    return [
        f"{head}{'TPOT ms':>10}{'TTFT ms':>10}{'accepted':>10}",
        *(_row(point, levels or [result.concurrency], result) for point in result.curve),
    ]


def _row(point: DepthPoint, levels: list[int], result: TuningResult) -> str:
    found = {level.concurrency: level for level in point.levels}
    speeds = "".join(f"{_speed(found.get(level), point, level, result):>16}" for level in levels)
    mine = found.get(result.concurrency)
    times = (
        _number(mine.tpot_ms_p50 if mine else None, 2),
        _number(mine.ttft_ms_p50 if mine else None, 1),
        _number(mine.mean_accepted_length if mine else None, 2),
    )
    mark = "*" if result.outcome in ("chosen", "none") and point.depth == result.depth else " "
    return f"{mark} {point.depth or 'off':<8}{speeds}" + "".join(f"{each:>10}" for each in times)


def _speed(level: LevelPoint | None, point: DepthPoint, at: int, result: TuningResult) -> str:
    if level is not None:
        return f"{level.output_tokens_s:.1f}"
    if at == result.concurrency and point.predicted_tokens_s is not None:
        return f"~{point.predicted_tokens_s:.1f}"
    return "-"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
