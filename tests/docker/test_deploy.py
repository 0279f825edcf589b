"""The transaction with the real engine: serves, stays, restores, refuses, rolls back."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from speccompose.device import operate, take_down, transaction
from speccompose.device.errors import DeviceError
from speccompose.device.lock import hold
from speccompose.device.long_prompt import try_long_prompt
from speccompose.device.paths import StackPaths
from tests.docker.conftest import Board, docker

pytestmark = pytest.mark.docker

BROKEN = ("--this-flag-does-not-exist",)


def test_first_deploy_serves_and_drafts(board: Board):
    done = board.deploy(board.write())

    assert done.changed
    assert done.previous_digest is None
    assert done.proof is not None
    assert done.proof.engine_version == "b11669-Debian"
    assert done.proof.drafts > 0
    assert board.ask().tokens == 8
    assert board.status().phase == "committed"
    assert board.status().health == "healthy"


def test_a_served_stack_answers_a_prompt_as_long_as_its_context(board: Board):
    board.deploy(board.write())
    done = try_long_prompt(board.stack.name, board.roots, ports=board.ports)
    assert 0.75 * 512 <= done.prompt_tokens <= 512
    assert board.status().restarts == 0


def test_s14_the_same_deploy_twice_changes_and_restarts_nothing(board: Board):
    folder = board.write()
    first = board.deploy(folder)
    before = board.status()
    tree = snapshot(board)

    second = board.deploy(folder)

    assert not second.changed
    assert second.digest == first.digest
    assert board.status() == before
    assert before.restarts == 0
    assert snapshot(board) == tree


def test_a_new_release_replaces_the_old_and_rollback_brings_it_back(board: Board):
    old = board.deploy(board.write())
    new = board.deploy(board.write(extra=(), method="none"))

    assert new.previous_digest == old.digest
    assert new.proof is not None
    assert new.proof.drafts is None
    assert len(board.containers()) == 1

    back = transaction.rollback(board.stack.name, board.roots, ports=board.ports)
    assert (back.digest, back.previous_digest) == (old.digest, new.digest)
    assert back.proof is not None
    assert back.proof.drafts > 0
    assert board.ask().tokens == 8


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        ({"extra": BROKEN}, "exited"),
        ({"engine_version": "b99999"}, "engine_version_mismatch"),
        ({"extra": (), "method": "draft_model"}, "not_speculating"),
        ({"health_test": ("CMD", "no-such-tool")}, "bad_health_check"),
        ({"extra": ("--sleep-idle-seconds", "x")}, "exited"),
    ],
)
def test_a_broken_release_leaves_the_old_one_serving(board: Board, broken, code):
    old = board.deploy(board.write())

    with pytest.raises(DeviceError) as caught:
        board.deploy(board.write(**broken))

    assert caught.value.status == 8
    assert caught.value.code == code
    assert "previous stack restored" in caught.value.details[-1]
    assert board.ask().tokens == 8
    status = board.status()
    assert (status.digest, status.phase, status.health) == (old.digest, "rolled_back", "healthy")
    assert len(board.containers()) == 1


def test_a_broken_image_leaves_the_old_stack_serving(board: Board, cpu_image):
    image = "speccompose/tests-broken:1"
    broken_server = "#!/bin/sh\necho this image is broken\nexit 1\n"
    file = board.scratch / "llama-server"
    file.write_text(broken_server)
    file.chmod(0o755)
    made = docker("create", cpu_image).strip()
    try:
        docker("cp", str(file), f"{made}:/usr/bin/llama-server")
        docker("commit", made, image)
        old = board.deploy(board.write())
        with pytest.raises(DeviceError) as caught:
            board.deploy(board.write(image=image))
        assert board.ask().tokens == 8
    finally:
        docker("rm", "--force", made)
        docker("image", "rm", "--force", image)
    assert caught.value.status == 8
    assert any("this image is broken" in line for line in caught.value.details)
    assert board.ask().tokens == 8
    assert board.status().digest == old.digest


def test_a_broken_first_install_leaves_nothing(board: Board):
    with pytest.raises(DeviceError) as caught:
        board.deploy(board.write(extra=BROKEN))
    assert caught.value.status == 8
    assert "nothing is left running" in caught.value.details[-1]
    assert any("this-flag-does-not-exist" in line for line in caught.value.details)
    assert board.containers() == []
    home = StackPaths(board.stack.name, board.roots).home
    assert [path.name for path in home.iterdir()] == ["state.json"]
    assert board.status().phase == "rolled_back"


def test_s27_one_that_never_gets_ready_is_undone_at_its_deadline(board: Board):
    stuck = board.write(health_test=("CMD-SHELL", "exit 0"), deadline_s=4, changes=NO_SUCH_PATH)
    started = time.monotonic()
    with pytest.raises(DeviceError) as caught:
        board.deploy(stuck)
    assert caught.value.code == "start_deadline"
    assert time.monotonic() - started < 20
    assert board.containers() == []


NO_SUCH_PATH = {
    "health": {"start_deadline_s": 4, "interval_s": 1, "timeout_s": 2, "path": "/no-such-path"}
}


def test_a_taken_port_is_refused_with_its_holder(board: Board):
    folder = board.write()
    with socket.socket() as other:
        other.bind(("127.0.0.1", board.stack.port))
        other.listen()
        with pytest.raises(DeviceError) as caught:
            board.deploy(folder)
    assert (caught.value.status, caught.value.code) == (15, "port_taken")
    assert f"process {os.getpid()}" in caught.value.brief
    assert board.containers() == []


def test_a_second_deploy_meanwhile_is_refused(board: Board):
    folder = board.write()
    paths = StackPaths(board.stack.name, board.roots)
    with hold(paths, "deploy"), pytest.raises(DeviceError) as caught:
        board.deploy(folder)
    assert caught.value.status == 12
    assert f"process {os.getpid()}" in caught.value.details[0]


def test_stop_then_deploy_by_name_then_remove(board: Board):
    name = board.stack.name
    board.deploy(board.write())
    take_down.stop(name, board.roots, ports=board.ports)
    assert board.status().state == "exited"
    assert board.status().phase == "stopped"

    again = board.deploy(operate.installed_folder(name, board.roots))
    assert again.changed
    assert board.ask().tokens == 8

    take_down.remove(name, board.roots, ports=board.ports)
    assert board.containers() == []
    assert board.roots.models.is_dir()
    with pytest.raises(DeviceError) as caught:
        board.status()
    assert caught.value.status == 2


def test_logs_are_followed_until_somebody_has_seen_enough(board: Board):
    board.deploy(board.write())
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        if "listening on" in "".join(heard):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        operate.follow_logs(board.stack.name, board.roots, ports=board.ports, on_text=hear)
    assert "loading model" in "".join(heard)


def test_the_key_guards_the_server_and_shows_nowhere(board: Board):
    key = "sk-tests-0123456789abcdef"
    key_file = board.scratch / "key"
    key_file.write_text(key + "\n")
    done = board.deploy(board.write(api_key_file=str(key_file)))

    assert done.proof.drafts > 0
    with pytest.raises(DeviceError, match="generates nothing"):
        board.ask()
    seen = docker("inspect", *board.containers()) + docker("logs", *board.containers())
    seen += "".join(path.read_text() for path in text_files(board))
    assert key not in seen
    secret = board.roots.secrets / board.stack.name / "api-key"
    assert oct(secret.stat().st_mode & 0o777) == "0o400"


def test_a_lost_session_puts_the_old_stack_back(board: Board):
    old = board.deploy(board.write())
    never = board.write(extra=(), method="none", deadline_s=60, health_test=("CMD", "false"))
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "speccompose.device", "--state", str(board.roots.state)),
            *("--secrets", str(board.roots.secrets), "deploy", str(never)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if line.startswith("start") and "starting:" in line:
            break
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "previous stack restored" in json.loads(out)["error"]["details"][-1]
    assert board.ask().tokens == 8
    assert board.status().digest == old.digest


def test_a_killed_deploy_is_finished_by_the_next(board: Board):
    old = board.deploy(board.write())
    never = board.write(extra=(), method="none", deadline_s=60, health_test=("CMD", "false"))
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "speccompose.device", "--state", str(board.roots.state)),
            *("--secrets", str(board.roots.secrets), "deploy", str(never)),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if line.startswith("start") and "starting:" in line:
            break
    process.kill()
    process.wait()
    assert board.status().phase == "checking"

    with pytest.raises(DeviceError) as caught:
        board.deploy(board.write(extra=BROKEN))
    assert caught.value.status == 8
    assert board.status().digest == old.digest
    assert board.ask().tokens == 8


def snapshot(board: Board) -> dict[str, int]:
    """Every file and link of the stack with the moment of its last change."""
    home = StackPaths(board.stack.name, board.roots).home
    return {str(path): path.lstat().st_mtime_ns for path in home.rglob("*")}


def text_files(board: Board) -> list:
    home = StackPaths(board.stack.name, board.roots).home
    return [path for path in home.rglob("*") if path.is_file()]


def test_a_smoke_test_that_fails_leaves_the_old_stack_serving(board: Board):
    good = board.write(changes={"smoke_test": ["true"]})
    old = board.deploy(good)
    before = board.status()
    words = ["sh", "-c", "echo no kernel image is available >&2; exit 3"]

    with pytest.raises(DeviceError) as caught:
        board.deploy(board.write(extra=(), method="none", changes={"smoke_test": words}))

    assert (caught.value.status, caught.value.code) == (8, "kernel_smoke_failed")
    assert caught.value.details == ("exit status 3", "| no kernel image is available")
    assert board.status() == before
    assert board.status().digest == old.digest
    assert "speccompose-smoke" not in docker("ps", "--all", "--format", "{{.Names}}")
