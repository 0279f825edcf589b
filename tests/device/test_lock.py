"""One at a time, and whoever waits learns for whom."""

import os
import subprocess
import sys
import threading

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.lock import hold, hold_file, holder
from speccompose.device.paths import Roots, StackPaths

HOLDER = """
import sys, time
from pathlib import Path
from speccompose.device.lock import hold_file
with hold_file(Path(sys.argv[1]), "it", "deploy"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_second_is_refused_and_told_who_holds_it(tmp_path):
    paths = StackPaths("tiny", Roots(tmp_path))
    with hold(paths, "deploy"), pytest.raises(DeviceError) as caught, hold(paths, "stop"):
        pass
    assert caught.value.status == 12
    assert "stack tiny" in caught.value.brief
    assert caught.value.details[0].startswith("deploy by ")
    assert f"process {os.getpid()}" in caught.value.details[0]


def test_it_is_free_again_afterwards_also_after_an_error(tmp_path):
    paths = StackPaths("tiny", Roots(tmp_path))
    with pytest.raises(RuntimeError), hold(paths, "deploy"):
        raise RuntimeError
    with hold(paths, "deploy"):
        pass


def test_a_killed_holder_leaves_no_lock(tmp_path):
    file = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(file)], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(DeviceError), hold_file(file, "it", "deploy"):
        pass
    holder.kill()
    holder.wait()
    with hold_file(file, "it", "deploy"):
        pass


def test_two_stacks_do_not_wait_for_each_other(tmp_path):
    roots = Roots(tmp_path)
    with hold(StackPaths("a", roots), "deploy"), hold(StackPaths("b", roots), "deploy"):
        pass


def test_a_tree_that_cannot_be_written_is_a_preflight_finding(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceError) as caught, hold(StackPaths("a", Roots(tmp_path / "file")), "x"):
        pass
    assert (caught.value.status, caught.value.code) == (15, "state_unwritable")


def test_a_pipe_in_the_place_of_the_lock_file_holds_as_well(tmp_path):
    os.mkfifo(tmp_path / "lock")
    lock = tmp_path / "lock"
    with (
        hold_file(lock, "it", "deploy"),
        pytest.raises(DeviceError) as caught,
        hold_file(lock, "it", "stop"),
    ):
        pass
    assert caught.value.status == 12


def test_who_holds_it_can_be_asked_without_taking_it(board):
    assert holder(board.paths) is None
    with hold(board.paths, "deploy"):
        assert str(holder(board.paths)).startswith("deploy by ")
        assert holder(board.paths) == holder(board.paths)
    assert holder(board.paths) is None
    with hold(board.paths, "again"):
        pass


def test_who_has_patience_gets_it_when_the_holder_is_done(tmp_path):
    """The confirm timer fires only once: it waits for a measurement to end."""
    paths = StackPaths("tiny", Roots(tmp_path))
    code = HOLDER.replace("time.sleep(60)", "time.sleep(0.5)")
    words = [sys.executable, "-c", code, str(paths.lock_file)]
    holder = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with hold(paths, "expire", rollout="r1", patience_s=60) as owner:
        assert (owner.verb, owner.rollout) == ("expire", "r1")
    holder.wait()


def test_the_holder_says_for_which_rollout(tmp_path):
    paths = StackPaths("tiny", Roots(tmp_path))
    with (
        hold(paths, "deploy", rollout="r7"),
        pytest.raises(DeviceError) as caught,
        hold(paths, "deploy", rollout="r8", patience_s=0.3),
    ):
        pass
    assert "deploy for rollout r7 by" in caught.value.details[0]


REMOVER = """
import sys, time
from pathlib import Path
from speccompose.device.lock import hold_file
path = Path(sys.argv[1])
with hold_file(path, "it", "remove"):
    print("held", flush=True)
    sys.stdin.readline()
    path.unlink()
"""


def test_who_waited_for_a_removal_holds_the_file_that_is_there_now(tmp_path):
    """`remove` takes the lock file away: the one who waited must not hold one nobody sees."""
    paths = StackPaths("tiny", Roots(tmp_path))
    words = [sys.executable, "-c", REMOVER, str(paths.lock_file)]
    remover = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert remover.stdout.readline() == b"held\n"
    later = threading.Timer(0.3, lambda: (remover.stdin.write(b"go\n"), remover.stdin.close()))
    later.start()
    with hold(paths, "deploy", patience_s=60):
        assert str(holder(paths)).startswith("deploy by ")
        with pytest.raises(DeviceError) as caught, hold(paths, "stop"):
            pass
        assert caught.value.status == 12
    later.join()
    remover.wait()
