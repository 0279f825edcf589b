"""Runs that AIPerf has measured become its own throughput report, one for each arm or depth.

Layer: measure. `aiperf speed-bench-report` puts categories side by side and knows models, not
depths: runs of two depths would overwrite each other in it, so each depth gets its own.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from speccompose.measure.aiperf import AIPERF
from speccompose.measure.aiperf_export import SUMMARY
from speccompose.measure.aiperf_program import AIPerf, last_words

REPORT = "speed_bench_report.csv"
_TIMEOUT_S = 120.0


class Reported(NamedTuple):
    """A report of one arm or depth; ``fault`` says why there is none."""

    group: str
    path: Path
    fault: str | None = None


def throughput_reports(program: AIPerf, folder: Path) -> tuple[Reported, ...]:
    """Write a report for every arm or depth below the folder of one measurement.

    It is of the lowest concurrency and, of a category that was measured several times, of the
    last repeat: so the tool takes it. What is no SPEED-Bench has none.
    """
    return tuple(
        _report(program, group, runs)
        for group in sorted({run.parent for run in _runs(folder)})
        if (runs := _alone(sorted(_runs(group))))
    )


def _runs(folder: Path) -> list[Path]:
    return [
        path.parent
        for path in folder.rglob(SUMMARY)
        if AIPERF in path.parts and _is_speed_bench(path)
    ]


def _is_speed_bench(summary: Path) -> bool:
    try:
        return b'"speed_bench_' in summary.read_bytes()
    except OSError:
        return False


def _alone(runs: Sequence[Path]) -> list[Path]:
    """Those of the lowest concurrency, in the order of their repeats."""
    places = {run: _place(run) for run in runs}
    known = [run for run in runs if places[run] is not None]
    lowest = min((place[0] for place in places.values() if place), default=0)
    alone = [run for run in known if (place := places[run]) and place[0] == lowest]
    return sorted(alone, key=lambda run: places[run] or (0, 0))


def _place(run: Path) -> tuple[int, int] | None:
    """Concurrency and repeat, as the folder's name says."""
    concurrency, _, rest = run.name.removeprefix("c").partition("-r")
    repeat = rest.partition("-")[0]
    if not (concurrency.isdigit() and repeat.isdigit()):
        return None
    return int(concurrency), int(repeat)


def _report(program: AIPerf, group: Path, runs: Sequence[Path]) -> Reported:
    path = group / REPORT
    name = group.parent.name if group.name == AIPERF else group.name
    words = ("--output", str(path), "--metric", "throughput", "--format", "both")
    done = program.call(
        ["speed-bench-report", *map(str, runs), *words], timeout_s=_TIMEOUT_S, secrets={}
    )
    if done.returncode == 0 and path.is_file():
        return Reported(name, path)
    return Reported(name, path, "; ".join(last_words(done)) or f"status {done.returncode}")
