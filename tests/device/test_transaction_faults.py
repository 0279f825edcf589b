"""What may hit a deploy in its middle: a full disk, a key that does not work, Ctrl-C twice."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from speccompose.device import state, take_down
from speccompose.device.errors import DeviceError
from speccompose.device.interrupts import signals_interrupt
from speccompose.device.recover import recover
from speccompose.device.stack_folder import read_stack
from speccompose.device.transaction import deploy, rollback

PROJECT = "speccompose-tiny"


def run(board, folder, say=None):
    return deploy(folder, board.roots, ports=board.ports, say=say or board.said.append)


def refused(board, folder, say=None) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        run(board, folder, say)
    return caught.value


def digest(folder) -> str:
    return read_stack(folder).plan.digest


def command(board) -> list[str]:
    body = board.docker.containers[PROJECT]
    assert body["State"]["Status"] == "running"
    return body["Config"]["Cmd"]


def phase(board) -> str:
    return state.load(board.paths).phase


def once(action):
    """A callback that acts the first time only."""
    calls = iter([action])
    return lambda *args: next(calls, lambda: None)()


def no_second_file(board):
    """No room beside state.json: a new file cannot be made, the old one can be overwritten."""
    return once((board.paths.home / ".state.json.new").mkdir)


@contextmanager
def full_disk() -> Iterator[list]:
    """From the moment that the list's function is called, no file can be written at all."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield [lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fills_up_before_the_commit_is_8_and_the_old_stack_serves(board):
    old = board.write()
    run(board, old)
    board.docker.after_up = no_second_file(board)
    error = refused(board, board.write(extra=("--new",)))
    assert (error.status, error.code) == (8, "file_fault")
    assert "previous stack restored" in error.details[-1]
    assert "--new" not in command(board)
    assert phase(board) == state.ROLLED_BACK
    assert state.linked_digest(board.paths.current) == digest(old)


def test_a_disk_on_which_nothing_can_be_written_is_14_and_the_old_stack_serves(board):
    run(board, board.write())
    new = board.write(extra=("--new",))
    with full_disk() as (fill,):
        board.docker.after_up = fill
        error = refused(board, new)
    assert (error.status, error.code) == (14, "stuck")
    assert "previous stack restored" in error.brief
    assert any("file_fault" in line or "cannot be read" in line for line in error.details)
    assert "--new" not in command(board)
    assert phase(board) == state.SWITCHING
    board.docker.after_up = lambda: None
    recover("tiny", board.roots, ports=board.ports, say=board.said.append)
    assert phase(board) == state.ROLLED_BACK


def test_no_room_at_the_switch_itself_changes_nothing(board):
    old = board.write()
    run(board, old)
    before = dict(board.docker.containers[PROJECT])
    (board.paths.home / ".state.json.new").mkdir()
    error = refused(board, board.write(extra=("--new",)))
    assert (error.status, error.code) == (15, "state_unwritable")
    assert board.docker.containers[PROJECT] == before
    assert phase(board) == state.COMMITTED
    assert len(list(board.paths.releases.iterdir())) == 1
    assert state.linked_digest(board.paths.current) == digest(old)


def test_stop_rollback_and_remove_work_without_room_for_a_new_file(board):
    first = board.write()
    run(board, first)
    run(board, board.write(extra=("-md", "x", "--second")))
    for link in ("current", "previous"):
        assert state.linked_digest(board.paths.home / link)
    (board.paths.home / ".state.json.new").mkdir()
    take_down.stop("tiny", board.roots, ports=board.ports)
    assert phase(board) == state.STOPPED
    with pytest.raises(DeviceError) as caught:
        rollback("tiny", board.roots, ports=board.ports)
    assert (caught.value.status, caught.value.code) == (15, "state_unwritable")
    with full_disk() as (fill,):
        fill()
        take_down.remove("tiny", board.roots, ports=board.ports)
    assert not board.paths.home.exists()
    assert board.docker.containers == {}


def test_a_full_disk_before_the_switch_refuses_and_changes_nothing(board):
    old = board.write()
    run(board, old)
    (board.paths.state_file).write_text("{")  # it would be set aside and written anew
    new = board.write(extra=("--new",))
    with full_disk() as (fill,):
        fill()
        error = refused(board, new)
    assert (error.status, error.code) == (15, "state_unwritable")
    assert "--new" not in command(board)


def test_a_full_disk_on_a_first_install_leaves_nothing(board):
    folder = board.write()
    with full_disk() as (fill,):
        board.docker.after_up = fill
        error = refused(board, folder)
    assert error.status == 8
    assert board.docker.containers == {}
    assert not board.paths.home.exists()


def test_stopping_on_a_full_disk_says_so(board):
    run(board, board.write())
    with full_disk() as (fill,):
        fill()
        with pytest.raises(DeviceError) as caught:
            take_down.stop("tiny", board.roots, ports=board.ports)
    assert caught.value.code == "state_unwritable"


def test_a_listener_that_has_gone_cannot_keep_the_old_stack_from_coming_back(board):
    run(board, board.write())

    def gone(progress) -> None:
        if progress.step in ("start", "restore"):
            raise BrokenPipeError(32, "Broken pipe")

    error = refused(board, board.write(extra=("--new",)), gone)
    assert error.status == 8
    assert "--new" not in command(board)
    assert phase(board) == state.ROLLED_BACK


@pytest.mark.parametrize("fault", ["--never-ready", "--crash"])
def test_a_second_interruption_does_not_stop_the_undo(board, fault):
    """SIGINT while starting (or a start that fails), and again at every word of the undo."""
    old = board.write()
    run(board, old)

    def again(progress) -> None:
        if progress.step == "restore":
            os.kill(os.getpid(), signal.SIGINT)

    board.machine.on_sleep = once(lambda: os.kill(os.getpid(), signal.SIGINT))
    with signals_interrupt():
        error = refused(board, board.write(extra=(fault,)), again)
    assert error.status == (130 if fault == "--never-ready" else 8)
    assert fault not in command(board)
    assert state.linked_digest(board.paths.current) == digest(old)
    assert phase(board) == state.ROLLED_BACK


@pytest.fixture
def keyed(board, tmp_path):
    """A stack that serves with a first key; the folder, the key's source and its secret."""
    key = tmp_path / "key"
    key.write_text("first-key")
    folder = board.write(api_key_file=str(key))
    run(board, folder)
    key.write_text("second-key")
    return folder, board.paths.secrets / "api-key"


def test_a_rotation_that_fails_leaves_the_old_key_serving(board, keyed):
    folder, secret = keyed
    first = board.docker.containers[PROJECT]["State"]["StartedAt"]
    board.docker.after_up = once(
        lambda: board.docker.containers[PROJECT]["State"].update(Status="exited")
    )
    error = refused(board, folder)
    assert error.status == 8
    assert "previous stack restored" in error.details[-1]
    assert secret.read_text() == "first-key\n"
    assert command(board)
    assert board.docker.containers[PROJECT]["State"]["StartedAt"] != first  # it read the key anew
    assert phase(board) == state.ROLLED_BACK
    assert [path.name for path in secret.parent.iterdir()] == ["api-key"]


def test_a_rotation_that_cannot_be_undone_is_14(board, keyed):
    folder, secret = keyed
    board.docker.after_up = lambda: board.docker.containers[PROJECT]["State"].update(
        Status="exited"
    )
    assert refused(board, folder).status == 14
    assert secret.read_text() == "first-key\n"
    assert phase(board) == state.STUCK


def test_a_rotation_that_is_interrupted_puts_the_old_key_back(board, keyed):
    folder, secret = keyed

    def interrupt() -> None:
        raise KeyboardInterrupt

    board.docker.after_up = once(interrupt)
    assert refused(board, folder).status == 130
    assert secret.read_text() == "first-key\n"
    assert command(board)
    assert phase(board) == state.ROLLED_BACK


def test_a_rotation_that_a_power_cut_left_is_rolled_back(board, keyed):
    folder, secret = keyed

    class PowerCut(BaseException):
        pass

    def cut() -> None:
        raise PowerCut

    kept = state.Record(
        state.SWITCHING,
        digest=digest(folder),
        before=state.Before(digest(folder), None, True),
    )
    board.docker.after_up = once(cut)
    with pytest.raises(PowerCut):
        run(board, folder)
    # A process that lives undoes even this; so put the disk back as the cut left it.
    (secret.parent / ".api-key.before").hardlink_to(secret)
    secret.unlink()
    secret.write_text("second-key\n")
    state.save(board.paths, kept)
    said = recover("tiny", board.roots, ports=board.ports, say=board.said.append)
    assert "previous stack restored" in said
    assert secret.read_text() == "first-key\n"
    assert command(board)


def test_a_confirmed_key_stays_when_a_later_release_fails(board, keyed):
    folder, secret = keyed
    run(board, folder)
    (secret.parent / ".api-key.before").write_text("left by a crash after the commit")
    refused(
        board, board.write(api_key_file=read_stack(folder).plan.api_key_file, extra=("--crash",))
    )
    assert secret.read_text() == "second-key\n"
