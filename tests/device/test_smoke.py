"""A kernel that does not run ends a deploy before anything is touched."""

import pytest

from speccompose.device import state
from speccompose.device.command import TIMED_OUT, Completed
from speccompose.device.errors import DeviceError
from speccompose.device.smoke import smoke_test
from speccompose.device.transaction import deploy
from tests.docker.stacks import IMAGE

KERNEL = ["python3", "-c", "import torch"]


def runs(board) -> list[tuple[str, ...]]:
    return [call for call in board.docker.calls if call[:2] == ("docker", "run")]


def try_it(board, **changes) -> None:
    plan = board.plan(changes={"smoke_test": KERNEL, **changes})
    smoke_test(board.ports, plan, board.said.append)


def fails(board, returncode: int = 1, text: str = ""):
    board.docker.smoke = lambda words: Completed(words, returncode, "", text)


def test_a_plan_without_one_runs_nothing(board):
    smoke_test(board.ports, board.plan(), board.said.append)
    assert runs(board) == []


def test_it_runs_in_the_planned_image_with_the_planned_runtime_and_no_network(board):
    try_it(board, gpu_runtime="nvidia", user="7:8")
    (argv,) = runs(board)
    assert argv[-5:] == ("--entrypoint", "python3", IMAGE, "-c", "import torch")
    text = " ".join(argv)
    for part in ("--rm", "--runtime nvidia", "--network none", "--user 7:8", "--pull never"):
        assert part in text
    try_it(board, gpu_runtime=None)
    assert "--runtime" not in runs(board)[-1]


def test_what_it_wrote_last_is_told(board):
    fails(board, text="\n".join(f"line {n}" for n in range(20)) + "\nno kernel image is available")
    with pytest.raises(DeviceError) as caught:
        try_it(board)
    error = caught.value
    assert (error.status, error.code) == (8, "kernel_smoke_failed")
    assert error.details[-1] == "| no kernel image is available"
    assert len(error.details) == 9
    assert "--image" in error.hint


@pytest.mark.parametrize("how", ["timeout", "interrupt"])
def test_a_container_that_hangs_is_removed(board, how):
    def hang(words):
        if how == "interrupt":
            raise KeyboardInterrupt
        return Completed(words, TIMED_OUT, "", "docker timed out after 180 s")

    board.docker.smoke = hang
    with pytest.raises((DeviceError, KeyboardInterrupt)):
        try_it(board)
    (argv,) = runs(board)
    name = argv[argv.index("--name") + 1]
    assert board.docker.calls[-1] == ("docker", "rm", "--force", name)


def test_the_old_stack_goes_on_serving(board):
    old = deploy(board.write(), board.roots, ports=board.ports)
    before = dict(board.docker.containers)
    tree = {path: path.lstat().st_mtime_ns for path in board.paths.home.rglob("*")}
    fails(board)
    new = board.write(extra=("--new",), changes={"smoke_test": KERNEL})
    with pytest.raises(DeviceError) as caught:
        deploy(new, board.roots, ports=board.ports)
    assert caught.value.code == "kernel_smoke_failed"
    assert board.docker.containers == before
    assert {path: path.lstat().st_mtime_ns for path in board.paths.home.rglob("*")} == tree
    assert state.linked_digest(board.paths.current) == old.digest


def test_it_comes_after_preflight_and_not_for_what_serves_already(board):
    folder = board.write(changes={"smoke_test": KERNEL})
    board.docker.images.clear()
    with pytest.raises(DeviceError) as caught:
        deploy(folder, board.roots, ports=board.ports)
    assert caught.value.status == 15
    assert runs(board) == []
    board.docker.images[IMAGE] = "arm64"
    for _ in range(2):
        deploy(folder, board.roots, ports=board.ports)
    assert len(runs(board)) == 1
