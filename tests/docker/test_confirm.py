"""Commit-confirm with the real engine and the program that the release carries."""

import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from speccompose.device.confirm import confirm
from speccompose.device.drift import drift
from speccompose.device.errors import DeviceError
from speccompose.device.order import Order
from speccompose.device.paths import StackPaths
from speccompose.device.transaction import deploy
from speccompose.world.program import onboard_program
from tests.device.units import FakeUnits
from tests.docker.conftest import Board, docker

pytestmark = pytest.mark.docker

ORDER = Order(rollout="r1", confirm_within_s=600)


@pytest.fixture
def waiting(board: Board) -> Board:
    """A board with timers that a test fires itself."""
    board.units = FakeUnits()
    board.ports = board.ports._replace(units=board.units)
    return board


def with_program(folder: Path) -> Path:
    """As a rendered stack: it carries the on-board program."""
    (folder / "check").write_bytes(onboard_program())
    names = sorted(path.name for path in folder.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (folder / "SHA256SUMS").write_text("".join(lines))
    return folder


def order(board: Board, folder: Path):
    return deploy(folder, board.roots, ports=board.ports, order=ORDER)


def fire(board: Board) -> subprocess.CompletedProcess:
    """What the timer would run: no environment, no working folder of ours."""
    _, argv = board.units.timers.pop(f"speccompose-confirm-{board.stack.name}")
    assert argv[0] == sys.executable
    path = "/usr/local/bin:/usr/bin:/bin:" + str(Path(sys.executable).parent)
    return subprocess.run(argv, env={"PATH": path}, cwd="/", capture_output=True, text=True)


def pass_time(board: Board) -> None:
    """The deadline has come: state.json says so, the clock need not be waited for."""
    file = StackPaths(board.stack.name, board.roots).state_file
    body = json.loads(file.read_text())
    body["confirm_by"]["boot_s"] = time.clock_gettime(time.CLOCK_BOOTTIME) - 1
    file.write_text(json.dumps(body))


def test_confirmed_in_time_it_stays(waiting: Board):
    old = waiting.deploy(waiting.write())
    new = order(waiting, with_program(waiting.write(extra=(), method="none")))
    assert (new.phase, waiting.status().phase) == ("unconfirmed", "unconfirmed")
    assert waiting.ask().tokens == 8
    confirm(waiting.stack.name, waiting.roots, ports=waiting.ports, rollout="r1")
    assert (waiting.status().digest, waiting.status().previous_digest) == (new.digest, old.digest)
    assert drift(waiting.stack.name, waiting.roots, ports=waiting.ports) == []


def test_the_timers_program_brings_the_old_stack_back(waiting: Board):
    old = waiting.deploy(waiting.write())
    order(waiting, with_program(waiting.write(extra=(), method="none")))
    pass_time(waiting)
    done = fire(waiting)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["phase"], report["digest"]) == ("rolled_back", old.digest)
    assert waiting.ask().tokens == 8
    with pytest.raises(DeviceError) as caught:
        confirm(waiting.stack.name, waiting.roots, ports=waiting.ports, rollout="r1")
    assert caught.value.code == "not_confirmed"


def test_a_first_install_is_taken_away_by_the_program_that_goes_with_it(waiting: Board):
    order(waiting, with_program(waiting.write()))
    pass_time(waiting)
    done = fire(waiting)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["phase"] == "rolled_back"
    assert waiting.containers() == []
    home = StackPaths(waiting.stack.name, waiting.roots).home
    assert [path.name for path in home.iterdir()] == ["state.json"]


def test_a_timer_that_fires_too_early_changes_nothing(waiting: Board):
    waiting.deploy(waiting.write())
    new = order(waiting, with_program(waiting.write(extra=(), method="none")))
    done = fire(waiting)
    # This machine may have no systemd to arm it anew: then it says so, and waits for `recover`.
    assert done.returncode in (0, 15), done.stderr
    assert (waiting.status().phase, waiting.status().digest) == ("unconfirmed", new.digest)


def test_s25_real_drift_is_seen(waiting: Board):
    waiting.deploy(waiting.write())
    name, roots, ports = waiting.stack.name, waiting.roots, waiting.ports
    assert drift(name, roots, ports=ports) == []
    container = waiting.containers()[0]
    docker("kill", container)
    assert [item.code for item in drift(name, roots, ports=ports)] == ["container_down"]
    docker("rm", "--force", container)
    assert [item.code for item in drift(name, roots, ports=ports)] == ["container_missing"]
