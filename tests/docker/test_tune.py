"""A depth search with the real llama-server: acceptance is scripted (synthetic), all else is real.

A random target of 250 MB, so that a pass mostly reads weights, and a tiny draft: the curve has its
best somewhere. Where depends on the machine: what must hold is that the search is as good as a
sweep with the same server, takes at most half of its runs, and leaves the planned stack behind.
"""

import hashlib
import json

import pytest

from speccompose.device.arms import StackArms
from speccompose.device.conditions import Conditions
from speccompose.device.depth_bench import DepthBench, Sweep
from speccompose.device.measured_stack import Prompts, open_stack
from speccompose.device.request_depth import takes_depth
from speccompose.device.runner import NativeRunner
from speccompose.device.window import Pace
from speccompose.measure.depth_choice import Thresholds
from speccompose.measure.depth_search import Space
from speccompose.measure.tune_loop import Curve, Search
from tests.docker.conftest import Board
from tests.docker.stacks import SPECULATING
from tests.docker.test_accept import RULES
from tests.docker.tiny_gguf import write_tiny_model

pytestmark = [pytest.mark.docker, pytest.mark.bench]  # what it compares are speeds: pytest -m bench

DEPTHS = (1, 2, 3, 4, 5, 6, 7)
ROOM = ("-c", "4096", "-np", "1", "-t", "1")
PACE = Pace(prompts=3, prompts_per_client=1, output_tokens=64, check_prompts=1, check_tokens=4)
SHORT = [f"Name {what}." for what in ("a river", "a tree", "a bird", "a town")]
"""Reading a prompt takes this CPU longer than drafting it spares, and is the same at all depths."""
QUIET = Conditions(None, (), (), (), None)
RATE = 0.75


@pytest.fixture(scope="module")
def tiny_models(tmp_path_factory):
    """In the place of the other tests' models."""
    folder = tmp_path_factory.mktemp("models")
    found = {"target": folder / "target.gguf", "draft": folder / "draft.gguf"}
    write_tiny_model(found["target"], layers=6, seed=1, widen=16)
    write_tiny_model(found["draft"], layers=1, seed=2)
    return found


def at(depth):
    """The same acceptance of every token, whatever the depth: the length that this gives."""
    length = sum(RATE**power for power in range(depth + 1))
    flags = ("--spec-draft-n-max", str(depth), "--spec-synth-len", f"{length:.4f}")
    return (*SPECULATING, *flags, *ROOM)


def installed(board: Board, depth: int):
    """The stack at one depth, with the rules that a rendered one carries."""
    folder = board.write(extra=at(depth))
    plain = [word for word in board.stack.command if word not in SPECULATING]
    body = json.dumps({**RULES, "baseline_command": [*plain, *ROOM]})
    (folder / "acceptance.json").write_text(body)
    with (folder / "SHA256SUMS").open("a") as sums:
        sums.write(f"{hashlib.sha256(body.encode()).hexdigest()}  acceptance.json\n")
    board.deploy(folder)


def test_a_search_is_as_good_as_a_sweep(board: Board, tmp_path):
    installed(board, 3)
    plain = [word for word in board.stack.command if word not in SPECULATING]
    commands = {depth: (*plain, *at(depth)) for depth in DEPTHS}
    commands[0] = (*plain, *ROOM)
    with open_stack(
        board.stack.name, board.roots, "tune", ports=board.ports, say=board.said.append
    ) as stack:
        arms = StackArms(
            stack.paths,
            stack.folder,
            {f"depth {depth}": words for depth, words in commands.items()},
            board.ports,
            board.said.append,
        )
        assert not takes_depth(arms.serving()), "b11669 ignores speculative.n_max in a request"
        prompts = tmp_path / "short.jsonl"
        prompts.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in SHORT))
        runner = NativeRunner(Prompts(file=prompts).read(), PACE)
        sweep = Sweep((1,), 3, "tune", runner, commands)
        bench = DepthBench(
            arms,
            sweep,
            tmp_path / "kept",
            arm_of=lambda depth: (f"depth {depth}", False),
            say=board.said.append,
            conditions=lambda: QUIET,
        )
        found = searched(bench, exhaustive=False)
        swept = searched(bench, exhaustive=True)
        arms.restore()
    assert found.choice().outcome in ("chosen", "none"), found.choice().reasons
    assert 2 * len(found.order) <= len(swept.order)
    told = swept.points[4].acceptance_by_position
    # Some hundreds of drafts give a share to a few percent; the last of an answer is cut short.
    assert all(abs(share - RATE**n) < 0.15 for n, share in enumerate(told, 1)), told
    container = board.ports.docker.container(stack.plan.project, stack.plan.service)
    assert container.command == stack.plan.command
    compare(found, swept)


def compare(found: Curve, swept: Curve) -> None:
    """The best depth of the search is within 3 % of the sweep's, and within what repeats differ."""
    speeds = {point.depth: point.levels[0].output_tokens_s for point in swept.points.values()}
    best = max(found.order, key=lambda depth: speeds[depth])
    if blur(swept) > 0.2:
        pytest.skip(f"too busy to tell depths apart: repeats differ by {blur(swept):.0%}")
    assert speeds[best] >= (0.97 - blur(swept)) * max(speeds.values()), speeds


def blur(curve: Curve) -> float:
    """How far repeats of one depth lay apart on this machine now."""
    runs = [[run.output_tokens_s for run in point.runs] for point in curve.points.values()]
    return max((max(speeds) - min(speeds)) / max(speeds) for speeds in runs)


def searched(bench: DepthBench, *, exhaustive: bool) -> Curve:
    """The sweep takes over what the search has measured, so both see the same figures."""
    curve = Curve(
        Search(
            space=Space(depths=DEPTHS, start=3),
            thresholds=Thresholds(
                concurrency=1, loaded=1, gain_reject_pct=10.0, no_regression_ratio=0.97
            ),
            running=3,
            exhaustive=exhaustive,
        )
    )
    curve.fill(bench.measure)
    return curve
