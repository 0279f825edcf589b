"""A deploy that a crash cut short: whichever verb comes next, what is unproven does not stay."""

import pytest

from speccompose.device import operate, state, take_down
from speccompose.device.accept_stack import accept_stack
from speccompose.device.errors import DeviceError
from speccompose.device.recover import settle
from speccompose.device.transaction import deploy, rollback
from tests.device.test_restore import cut, install

PROJECT = "speccompose-tiny"


@pytest.fixture
def switched(board):
    """Two proved releases, and a third that was being tried; (older, old, tried)."""
    older = install(board)
    old = install(board, extra=("-md", "x", "--second"))
    return older, old, cut(board, extra=("--new",))


def links(board):
    return state.linked_digest(board.paths.current), state.linked_digest(board.paths.previous)


def phase(board) -> str:
    return state.load(board.paths).phase


def test_stop_rolls_it_back_without_starting_anything(board, switched):
    older, old, _ = switched
    ups = sum("up" in call for call in board.docker.calls)
    take_down.stop("tiny", board.roots, ports=board.ports)
    assert board.docker.containers == {}
    assert links(board) == (old, older)
    assert phase(board) == state.STOPPED
    assert sum("up" in call for call in board.docker.calls) == ups
    again = deploy(operate.installed_folder("tiny", board.roots), board.roots, ports=board.ports)
    assert again.digest == old


def test_stop_of_a_first_install_leaves_nothing(board):
    cut(board)
    with pytest.raises(DeviceError) as caught:
        take_down.stop("tiny", board.roots, ports=board.ports)
    assert (caught.value.status, caught.value.code) == (2, "nothing_installed")
    assert "cut short" in caught.value.details[0]
    assert board.docker.containers == {}
    assert board.left == ["state.json"]


def test_rollback_goes_back_once_not_twice(board, switched):
    older, old, _ = switched
    done = rollback("tiny", board.roots, ports=board.ports)
    assert (done.digest, done.previous_digest) == (old, older)
    assert "an open deploy was undone" in done.notices[0]
    assert board.docker.containers[PROJECT]["Id"] == done.container
    assert "--second" in board.docker.containers[PROJECT]["Config"]["Cmd"]
    assert rollback("tiny", board.roots, ports=board.ports).digest == older


def test_rollback_of_a_first_install(board):
    cut(board)
    with pytest.raises(DeviceError) as caught:
        rollback("tiny", board.roots, ports=board.ports)
    assert caught.value.code == "no_previous"
    assert board.left == ["state.json"]


def test_deploy_by_name_means_the_last_that_proved_itself(board, switched):
    older, old, _ = switched
    done = deploy(operate.installed_folder("tiny", board.roots), board.roots, ports=board.ports)
    assert done.digest == old
    assert links(board) == (old, older)
    assert "--new" not in board.docker.containers[PROJECT]["Config"]["Cmd"]


def test_remove_takes_all_of_it(board, switched):
    take_down.remove("tiny", board.roots, ports=board.ports)
    assert board.docker.containers == {}
    assert not board.paths.home.exists()


def test_accept_measures_no_unproven_release(board, switched):
    with pytest.raises(DeviceError) as caught:
        accept_stack("tiny", board.roots, ports=board.ports)
    assert caught.value.code == "incomplete_stack"  # these folders carry no acceptance.json
    assert links(board)[0] == switched[1]
    assert phase(board) == state.ROLLED_BACK


def test_of_a_stuck_stack_the_links_go_back(board, switched):
    older, old, tried = switched
    before = state.Before(old, older, True)
    state.save(board.paths, state.Record(state.STUCK, digest=old, before=before))
    assert links(board)[0] == tried
    take_down.stop("tiny", board.roots, ports=board.ports)
    assert links(board) == (old, older)
    assert phase(board) == state.STOPPED


def test_nothing_is_open_after_a_good_deploy(board):
    install(board)
    assert settle(board.paths, ports=board.ports, say=board.said.append) is None
    assert board.said == []
