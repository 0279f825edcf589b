"""Each exit status of the contract is really returned: by a command line, or by the call behind it.

The command lines run whole, with the programs of the machine hidden or replaced; where a server
and its container are needed, the same code runs on the fakes of tests/serving_board.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from speccompose.acceptance import accept_here, follow
from speccompose.device.accept import Result
from speccompose.device.accept_stack import Asked
from speccompose.device.errors import DeviceError
from speccompose.device.lock import hold
from speccompose.device.paths import Roots, StackPaths
from speccompose.device.verdict import Verdict
from speccompose.errors import ExitStatus, SpecComposeError
from speccompose.fleet.drift import DriftRow, drift_status
from speccompose.fleet.simulated_board import Trouble
from tests.cli.conftest import cli
from tests.cli.harness import ORIN_R36, THOR, Terminal
from tests.cli.test_serve import DOCKER, installed, no_hub
from tests.fleet.made import NEW, World, plan, policy
from tests.generated_docs import STATUS_TEXTS
from tests.serving_board import ServingBoard, serving_board

__all__ = ["cli", "installed", "no_hub", "serving_board"]

ROOT = Path(__file__).resolve().parent.parent
QWEN = ("--model", "qwen3-8b")
NAME = "smollm2-135m"
SMALL = ("--model", "smollm2-135m")
Fixtures = pytest.FixtureRequest


def terminal(fixtures: Fixtures) -> Terminal:
    made: Terminal = fixtures.getfixturevalue("cli")
    return made


def board(fixtures: Fixtures) -> ServingBoard:
    made: ServingBoard = fixtures.getfixturevalue("serving_board")
    return made


def line(*words: str) -> Callable[[Fixtures], int]:
    """A whole command line."""
    return lambda fixtures: terminal(fixtures)(*words).status


def raised(call: Callable[[], object]) -> int:
    """The status with which the edge would end this call."""
    with pytest.raises(SpecComposeError) as caught:
        call()
    return int(caught.value.status)


def bug(fixtures: Fixtures) -> int:
    """A template that asks for a value which no view has can only be our mistake."""
    run = terminal(fixtures)
    data = run.here.parent / "data"
    data.mkdir()
    for name in ("profiles", "images"):
        (data / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "compose", data / "compose")
    (data / "compose" / "compose.yaml.j2").write_text("name: {{ nothing }}\n")
    words = ("render", *THOR, *QWEN, "-o", "stack")
    return run(*words, SPECCOMPOSE_DATA=str(data), SPECCOMPOSE_CACHE="").status


def faulty_compose(fixtures: Fixtures) -> int:
    """A command that says the image's entrypoint again."""
    run = terminal(fixtures)
    text = "services: {a: {image: 'vllm/vllm-openai:v0.27.1', command: vllm serve a/b}}\n"
    (run.here / "compose.yaml").write_text(text)
    return run("lint", "compose.yaml").status


def malformed_facts(fixtures: Fixtures) -> int:
    run = terminal(fixtures)
    (run.here / "facts.yaml").write_text("facts: 1\nfiles: [\n")
    return run("detect", "--facts", "facts.yaml").status


def failed_and_restored(fixtures: Fixtures) -> int:
    made = board(fixtures)
    first = made.deploy()
    made.docker.after_up = failing(times=1)
    status = raised(lambda: made.deploy(context_tokens=1024))
    assert made.deploy().digest == first.digest
    return status


def failed_and_stuck(fixtures: Fixtures) -> int:
    made = board(fixtures)
    made.deploy()
    made.docker.after_up = failing(times=99)
    return raised(lambda: made.deploy(context_tokens=1024))


def failing(*, times: int) -> Callable[[], None]:
    """A container that does not come up, so many times."""
    left = [times]

    def after_up() -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise DeviceError(9, "it fell over")

    return after_up


def not_running(fixtures: Fixtures) -> int:
    return terminal(fixtures)("verify", with_docker(fixtures), PATH=programs(fixtures)).status


def with_docker(fixtures: Fixtures) -> str:
    """An installed stack, and a docker that has everything but its container."""
    name: str = fixtures.getfixturevalue("installed")
    machine = os.uname().machine
    docker = terminal(fixtures).here.parent / "bin" / "docker"
    docker.parent.mkdir(exist_ok=True)
    docker.write_text(DOCKER % (machine, machine))
    docker.chmod(0o755)
    return name


def programs(fixtures: Fixtures) -> str:
    return terminal(fixtures).programs("uname")


def rejected(fixtures: Fixtures) -> int:
    made = board(fixtures)
    made.deploy()
    return follow(NAME, Result(Verdict("rejected", False, ()), ()), made.here, strict=False).status


def unmeasurable(fixtures: Fixtures) -> int:
    """Nothing answers under the fake server's port, so the measurement is invalid."""
    made = board(fixtures)
    made.deploy(port=1)
    judged = accept_here(NAME, made.here, Asked(quick=True))
    assert judged.result.verdict.outcome == "invalid"
    return judged.status


def halted(fixtures: Fixtures) -> int:
    """The canary's release does not get ready."""
    del fixtures
    return int(World(plan("a1", "a2"), {"a1": Trouble(bad={NEW: "not_ready"})}).run())


def with_a_board_away(fixtures: Fixtures) -> int:
    del fixtures
    away = Trouble(away=((0, 10**12),))
    made = plan("a1", "a2 a3 a4 a5 a6 a7", rules=policy(allow_refused=True))
    return int(World(made, {"a4": away}).run())


def drifted(fixtures: Fixtures) -> int:
    del fixtures
    rows = [DriftRow(board="a1", kind="drift", expected=NEW, lines=("runs nothing",))]
    return int(drift_status(rows))


def locked(fixtures: Fixtures) -> int:
    run, name = terminal(fixtures), fixtures.getfixturevalue("installed")
    with hold(StackPaths(name, Roots(run.here / "state", run.here / "secrets")), "deploy"):
        return run("stop", name, PATH=programs(fixtures)).status


def without_docker(fixtures: Fixtures) -> int:
    return terminal(fixtures)("deploy", *SMALL, PATH=programs(fixtures)).status


def without_hub(fixtures: Fixtures) -> int:
    name = with_docker(fixtures)
    hub = fixtures.getfixturevalue("no_hub")
    return terminal(fixtures)("pull", name, PATH=programs(fixtures), SPECCOMPOSE_HUB=hub).status


def changed_folder(fixtures: Fixtures) -> int:
    run = terminal(fixtures)
    run("render", *THOR, *QWEN, "-o", "stack")
    (run.here / "stack" / "compose.yaml").write_text("changed")
    return run("pull", "./stack").status


def interrupted(fixtures: Fixtures) -> int:
    """A docker that sends us Ctrl-C."""
    run = terminal(fixtures)
    fake = Path(run.programs("sh", "uname")) / "docker"
    fake.write_text("#!/bin/sh\nkill -INT $PPID\nexec /bin/sleep 5\n")
    fake.chmod(0o755)
    (run.here / "state" / "stacks" / "x" / "releases").mkdir(parents=True)
    return run("status", PATH=str(fake.parent)).status


REACHED: list[tuple[int, Callable[[Fixtures], int]]] = [
    (0, line("plan", *THOR, *QWEN)),
    (1, bug),
    (2, line("plan", "--engine", "tgi")),
    (2, line("plan", *THOR)),
    (3, malformed_facts),
    (4, line("plan", "--device", "agx-orin-64gb", "--l4t", "35.4.1", *QWEN)),
    (5, line("plan", *ORIN_R36, *QWEN, "--image", "vllm/vllm-openai:v0.27.1")),
    (6, line("plan", "--device", "orin-nano-8gb", "--model", "qwen3.6-27b")),
    (7, line("plan", "--device", "orin-nx-16gb", *QWEN, "--method", "eagle3")),
    (8, failed_and_restored),
    (9, not_running),
    (9, rejected),
    (10, halted),
    (11, unmeasurable),
    (12, locked),
    (13, with_a_board_away),
    (14, failed_and_stuck),
    (15, without_docker),
    (16, drifted),
    (17, faulty_compose),
    (18, without_hub),
    (19, changed_folder),
    (130, interrupted),
]


def named(case: tuple[int, Callable[[Fixtures], int]]) -> str:
    return f"{case[0]}-{getattr(case[1], '__name__', 'line').strip('<>')}"


@pytest.mark.parametrize("case", REACHED, ids=named)
def test_the_status_is_returned(case, request):
    status, reach = case
    assert reach(request) == status


def test_every_status_is_accounted_for():
    reached = {status for status, _ in REACHED}
    assert reached == {int(status) for status in ExitStatus}
    assert set(STATUS_TEXTS) == reached
