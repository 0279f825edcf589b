"""Going back: to what ran, to what was stopped, to nothing, and after a power cut."""

import pytest

from speccompose.device import state
from speccompose.device.compose_cli import Compose
from speccompose.device.errors import DeviceError
from speccompose.device.recover import recover
from speccompose.device.restore import restore
from speccompose.device.stack_folder import read_stack, stage
from speccompose.device.transaction import deploy


def install(board, **changes) -> str:
    """Deploy a good release; returns its digest."""
    folder = board.write(**changes)
    return deploy(folder, board.roots, ports=board.ports).digest


def cut(board, running: bool = True, **changes) -> str:
    """A release that was switched to and started when the power went."""
    before = state.Before(
        state.linked_digest(board.paths.current),
        state.linked_digest(board.paths.previous),
        running,
    )
    folder = read_stack(board.write(**changes))
    release = stage(folder, board.paths)
    digest = folder.plan.digest
    record = state.load(board.paths).opened(state.SWITCHING, digest, before, None)
    state.save(board.paths, record)
    state.point(board.paths.previous, before.current)
    state.point(board.paths.current, digest)
    Compose(board.ports.docker, folder.plan.project, release).up()
    return digest


def back(board) -> str | None:
    return recover("tiny", board.roots, ports=board.ports, say=board.said.append)


def test_nothing_to_recover(board):
    install(board)
    calls = len(board.docker.calls)
    assert back(board) is None
    assert len(board.docker.calls) == calls


def test_an_unconfirmed_release_is_rolled_back(board):
    old = install(board)
    cut(board, extra=("--new",))
    assert "previous stack restored" in back(board)
    assert state.linked_digest(board.paths.current) == old
    assert state.linked_digest(board.paths.previous) is None
    assert "--new" not in board.docker.containers["speccompose-tiny"]["Config"]["Cmd"]
    assert state.load(board.paths).phase == state.ROLLED_BACK
    assert back(board) is None


@pytest.mark.parametrize("now", ["sha256:" + "9" * 64, None])
def test_what_is_brought_back_runs_with_its_own_image_though_its_tag_moved(board, now):
    """A local build takes the tag, or somebody removes it; the image is still there by its id."""
    install(board)
    cut(board, extra=("--new",))
    ran = state.load(board.paths).images[0]
    board.docker.moved[ran.reference] = now
    back(board)
    assert state.load(board.paths).phase == state.ROLLED_BACK
    assert board.docker.containers["speccompose-tiny"]["Image"] == ran.image_id


def undo_while_docker_is_down(board, until_s: float) -> None:
    digest = cut(board, extra=("--new",))
    begun = board.machine.clock_s
    board.docker.answers = False

    def slept() -> None:
        board.docker.answers = board.machine.clock_s - begun >= until_s

    board.machine.on_sleep = slept
    before = state.load(board.paths).before
    restore(board.paths, before, digest, ports=board.ports, say=board.said.append)


def test_a_docker_that_is_being_restarted_is_waited_for(board):
    old = install(board)
    undo_while_docker_is_down(board, 60)
    assert (state.load(board.paths).phase, board.docker.answers) == (state.ROLLED_BACK, True)
    assert state.linked_digest(board.paths.current) == old
    assert "waiting for docker" in " ".join(item.message for item in board.said)


def test_a_docker_that_stays_down_is_stuck_with_its_links_put_back(board):
    old = install(board)
    with pytest.raises(DeviceError) as caught:
        undo_while_docker_is_down(board, 1e9)
    assert (caught.value.status, state.load(board.paths).phase) == (14, state.STUCK)
    assert state.linked_digest(board.paths.current) == old


def test_an_unconfirmed_first_install_is_taken_away(board):
    digest = cut(board)
    assert "nothing is left running" in back(board)
    assert board.docker.containers == {}
    assert not board.paths.release(digest).exists()


def test_what_did_not_run_before_does_not_run_after(board):
    old = install(board)
    cut(board, running=False, extra=("--new",))
    assert "stopped again" in back(board)
    assert board.docker.containers == {}
    assert state.linked_digest(board.paths.current) == old


def test_it_can_be_repeated_when_the_power_goes_again(board):
    old = install(board)
    attempted = cut(board, extra=("--new",))
    before = state.Before(old, None, True)
    for _ in range(2):
        restore(board.paths, before, attempted, ports=board.ports, say=board.said.append)
    assert state.linked_digest(board.paths.current) == old


def test_a_damaged_old_release_is_stuck(board):
    old = install(board)
    cut(board, extra=("--new",))
    (board.paths.release(old) / "compose.yaml").write_text("damaged")
    with pytest.raises(DeviceError) as caught:
        back(board)
    assert (caught.value.status, caught.value.code) == (14, "stuck")
    assert "differs from SHA256SUMS: compose.yaml" in caught.value.details
    assert state.load(board.paths).phase == state.STUCK


def test_an_unknown_stack(board):
    with pytest.raises(DeviceError) as caught:
        back(board)
    assert caught.value.status == 2
