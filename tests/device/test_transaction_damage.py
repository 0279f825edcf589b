"""A deploy onto an installed release that is damaged, and staging that comes to nothing."""

import shutil

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.paths import known_stacks
from speccompose.device.release import release_fault
from speccompose.device.transaction import deploy
from tests.device.fakes import ok

PROJECT = "speccompose-tiny"


def run(board, folder):
    return deploy(folder, board.roots, ports=board.ports, say=board.said.append)


@pytest.mark.parametrize("name", ["plan.json", "compose.yaml", "SHA256SUMS"])
@pytest.mark.parametrize("content", ["", None])
def test_the_same_again_mends_the_files_and_restarts_nothing(board, name, content):
    folder = board.write()
    digest = run(board, folder).digest
    before = dict(board.docker.containers[PROJECT])
    file = board.paths.current / name
    file.unlink() if content is None else file.write_text(content)
    done = run(board, folder)
    assert not done.changed
    assert "written anew" in done.notices[0]
    assert release_fault(board.paths, digest) is None
    assert board.docker.containers[PROJECT] == before
    assert run(board, folder).notices == ()
    assert [path.name for path in board.paths.releases.iterdir()] == [digest[7:]]


@pytest.mark.parametrize("content", ["", "x"])
def test_a_damaged_release_does_not_keep_the_next_from_its_own_port(board, content):
    run(board, board.write())
    file = board.paths.current / "plan.json"
    file.write_text(content and file.read_text() + content)
    board.machine.port_fault = "Address already in use"
    done = run(board, board.write(extra=("-md", "/models/draft/model.gguf", "--new")))
    assert done.changed
    assert "cannot be brought back" in done.notices[0]


def test_a_port_that_another_process_has_is_still_found(board):
    run(board, board.write())
    (board.paths.current / "plan.json").write_text("")
    board.machine.port_fault = "Address already in use"
    with pytest.raises(DeviceError) as caught:
        run(board, board.write(port=8111))
    assert caught.value.code == "port_taken"


def test_a_first_install_that_cannot_be_staged_leaves_no_stack(board):
    folder = board.write(changes={"smoke_test": ["true"]})

    def folder_goes(words):
        shutil.rmtree(folder)
        return ok(words, "")

    board.docker.smoke = folder_goes  # the last thing before staging
    with pytest.raises(DeviceError) as caught:
        run(board, folder)
    assert (caught.value.status, caught.value.code) == (15, "state_unwritable")
    assert known_stacks(board.roots) == ()
    assert not board.paths.home.exists()
