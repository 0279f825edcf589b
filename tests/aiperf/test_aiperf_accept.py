"""`accept --runner aiperf` on an installed stack: real Compose, real llama-server, real AIPerf."""

import json
from pathlib import Path

import pytest

from speccompose.device.accept_stack import Asked, accept_stack
from speccompose.device.measured_stack import Prompts
from speccompose.device.runner import RunnerMaker
from speccompose.device.runs import BASELINE, SPECULATIVE
from speccompose.device.stack_folder import read_stack
from speccompose.measure import aiperf
from speccompose.measure.aiperf_report import throughput_reports
from tests.docker.conftest import Board, board, cpu_image, provide, tiny_models
from tests.docker.stacks import SPECULATING
from tests.docker.test_accept import ROOM, with_rules

__all__ = ["board", "cpu_image", "provide", "tiny_models"]

pytestmark = pytest.mark.aiperf

TOKENS = 16


def test_a_stack_is_judged_by_aiperfs_figures(board: Board, program, speed_bench: Path):
    folder = with_rules(board.write(extra=(*SPECULATING, *ROOM)))
    board.deploy(folder)
    prompts = Prompts(speed_bench, "coding", 10, TOKENS)

    def make(dataset, root):
        asked = aiperf.Asked(category="coding", requests=10, output_tokens=TOKENS)
        return aiperf.aiperf_runner(program, dataset, root, asked=asked)

    result = accept_stack(
        board.stack.name,
        board.roots,
        ports=board.ports,
        asked=Asked(prompts=prompts, other=RunnerMaker("aiperf", make)),
        say=board.said.append,
    )
    report = result.as_dict()
    assert report["outcome"] != "invalid", report["reasons"]
    assert report["runner"] == "aiperf"
    assert report["commands"]["measure"] == (
        f"speccompose accept {board.stack.name} --yes --runner aiperf --dataset {speed_bench} "
        f"--category coding --requests 10 --osl {TOKENS}"
    )
    measured = {(run.arm, run.concurrency) for run in result.runs}
    assert measured == {(arm, level) for arm in (BASELINE, SPECULATIVE) for level in (1, 8)}
    lengths = [run.mean_accepted_length for run in result.runs if run.arm == SPECULATIVE]
    assert all(length >= 1.0 for length in lengths)
    kept = Path(report["artifacts"])
    assert json.loads((kept / "result.json").read_text())["outcome"] == report["outcome"]
    assert len(list(kept.glob("aiperf/*/c*/profile_export_aiperf.json"))) == len(result.runs)
    reports = throughput_reports(program, kept)
    assert [each.group for each in reports] == [BASELINE, SPECULATIVE]
    plan = read_stack(folder).plan
    container = board.ports.docker.container(plan.project, plan.service)
    assert container.command == plan.command
