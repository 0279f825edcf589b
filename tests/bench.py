"""Timings, printed and never asserted in a test: `make bench`.

Budgets of the project: --version at most 100 ms, a full plan at most 300 ms wall median, 1,000
boards planned and rendered in one process in at most 5 s and 300 MiB.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from speccompose.catalog.load import load_catalog
from speccompose.pipeline import plan_stack, render_plan
from speccompose.vocab.board import BoardSource
from speccompose.vocab.facts import RawFacts
from speccompose.vocab.request import StackRequest
from tests import bench_measure
from tests.fleet import bench_fleet, bench_ssh

ROOT = Path(__file__).resolve().parent.parent
RUNS = 15
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""As installed: pip compiles bytecode; a shell that forbids it measures the compiler."""


def command_ms(*arguments: str) -> float:
    """Median wall time of one command line, in ms."""
    taken = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "speccompose", *arguments],
            cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


def fleet(boards: int) -> tuple[float, int]:
    """Seconds and peak MiB to plan and render boards that all differ in memory."""
    catalog = load_catalog(ROOT, (), None)
    started = time.perf_counter()
    stacks = []
    for number in range(boards):
        available_kib = (56 * 1024 - number) * 1024
        facts = RawFacts(
            origin=f"board {number}",
            files={
                "/etc/nv_tegra_release": "# R36 (release), REVISION: 4.4, GCID: 1, BOARD: generic",
                "/sys/firmware/devicetree/base/compatible": (
                    "nvidia,p3737-0000+p3701-0005\\0nvidia,p3701-0005\\0nvidia,tegra234\\0"
                ).replace("\\0", "\0"),
                "/proc/meminfo": f"MemTotal: 64349184 kB\nMemAvailable: {available_kib} kB\n",
            },
            commands={"uname -m": "aarch64\n"},
        )
        request = StackRequest(model="qwen3-8b", name=f"board-{number}")
        stacks.append(render_plan(plan_stack(request, BoardSource(facts=facts), catalog), catalog))
    seconds = time.perf_counter() - started
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Print every figure beside its budget."""
    sys.stdout.write(f"--version      {command_ms('--version'):7.0f} ms   (budget 100)\n")
    plan = ("plan", "--facts", "tests/facts/d-02.yaml", "--model", "qwen3-8b")
    command_ms(*plan)
    sys.stdout.write(f"plan --facts   {command_ms(*plan):7.0f} ms   (budget 300)\n")
    seconds, mib = fleet(1000)
    sys.stdout.write(f"1,000 boards   {seconds:7.1f} s    (budget 5), {mib} MiB (budget 300)\n")


if __name__ == "__main__":
    main()
    bench_fleet.main()
    bench_ssh.main()
    bench_measure.main()
