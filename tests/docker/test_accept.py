"""Acceptance with the real llama-server under Compose: two tiny random models that speculate.

What the numbers are worth here depends on the machine; what must hold is that both arms really
ran, that their counters tell them apart, and that the planned stack is back afterwards.
"""

import hashlib
import json
from pathlib import Path

import pytest

from speccompose.device.accept_stack import Asked, accept_stack
from speccompose.device.prove import prove
from speccompose.device.runs import BASELINE, SPECULATIVE
from speccompose.device.stack_folder import read_stack
from tests.docker.conftest import Board
from tests.docker.stacks import SPECULATING

pytestmark = pytest.mark.docker

ROOM = ("-c", "32768", "-np", "8")
RULES = {
    "concurrency": [1, 8],
    "min_repeats": 2,
    "max_repeats": 3,
    "output_tokens": 16,
    "gain_accept_pct": 30.0,
    "tpot_accept_pct": -20.0,
    "gain_reject_pct": 10.0,
    "no_regression_ratio": 0.97,
    "min_accepted_length": 1.05,
    "speculation_expected": True,
    "synthetic": True,
}


def with_rules(folder: Path) -> Path:
    """Add acceptance.json: the same command, without the draft."""
    command = read_stack(folder).plan.command
    baseline = [word for word in command if word not in SPECULATING]
    body = json.dumps({**RULES, "baseline_command": baseline})
    (folder / "acceptance.json").write_text(body)
    with (folder / "SHA256SUMS").open("a") as sums:
        sums.write(f"{hashlib.sha256(body.encode()).hexdigest()}  acceptance.json\n")
    return folder


def test_both_arms_are_measured_and_the_planned_one_is_back(board: Board):
    folder = with_rules(board.write(extra=(*SPECULATING, *ROOM)))
    board.deploy(folder)
    plan = read_stack(folder).plan
    result = accept_stack(
        board.stack.name,
        board.roots,
        ports=board.ports,
        asked=Asked(quick=True),
        say=board.said.append,
    )
    report = result.as_dict()
    assert report["outcome"] != "invalid", report["reasons"]
    assert report["synthetic"] is True
    lengths = {
        arm: [run.mean_accepted_length for run in result.runs if run.arm == arm]
        for arm in (BASELINE, SPECULATIVE)
    }
    assert set(lengths[BASELINE]) == {None}
    assert all(length >= 1.0 for length in lengths[SPECULATIVE])
    container = board.ports.docker.container(plan.project, plan.service)
    assert container.command == plan.command
    server = board.ports.connect(plan, None)
    assert prove(board.ports, plan, container, server, board.said.append).drafts > 0
    assert not board.deploy(folder).changed
