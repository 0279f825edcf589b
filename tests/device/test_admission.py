"""What keeps a switch from being tried: holds (S23), older releases (S28), no way back (S12)."""

import json
import os

import pytest

from speccompose.device import state, take_down
from speccompose.device.counter import read_counter
from speccompose.device.errors import DeviceError
from speccompose.device.held import hold_reason
from speccompose.device.order import Order
from speccompose.device.transaction import deploy, rollback, stage
from speccompose.device.way_back import no_way_back
from tests.device.fakes import image_id
from tests.docker.stacks import IMAGE

OTHER = "speccompose/other:2"


def run(board, folder, **order):
    return deploy(folder, board.roots, ports=board.ports, order=Order(**order))


def refused(board, folder, **order) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        run(board, folder, **order)
    return caught.value


def ups(board) -> int:
    return sum("up" in call for call in board.docker.calls)


@pytest.mark.parametrize("name", ["hold", "stacks/tiny.hold"])
def test_a_held_board_defers_and_touches_nothing(board, name):
    old = board.write()
    run(board, old)
    file = board.roots.state / name
    file.write_text("camera job\nuntil noon\n")
    before = ups(board)
    error = refused(board, board.write(extra=("--new",)))
    assert (error.status, error.code) == (13, "deferred")
    assert error.details == (f"{file}: camera job until noon",)
    assert ups(board) == before
    assert not run(board, old).changed  # what serves already needs nothing
    file.unlink()
    assert run(board, board.write(extra=("--new",))).changed


def test_a_hold_of_another_stack_is_not_ours_and_a_pipe_is_one(board):
    board.roots.stacks.mkdir(parents=True)
    (board.roots.stacks / "other.hold").write_text("")
    run(board, board.write())
    os.mkfifo(board.roots.state / "hold")
    assert "no reason given" in refused(board, board.write(extra=("--new",))).details[0]


def test_a_hold_says_why(board):
    assert hold_reason(board.paths) is None
    (board.roots.state / "hold").write_text("x " * 500)
    assert len(hold_reason(board.paths)) < 300


def test_whether_there_is_a_way_back_is_asked_by_id(board):
    run(board, board.write())
    record = state.load(board.paths)
    before = state.Before(record.digest, None, True)
    assert no_way_back(board.paths, record, before, board.ports) is None
    board.docker.images.clear()
    assert "is gone" in no_way_back(board.paths, record, before, board.ports)
    stopped = before._replace(running=False)
    assert no_way_back(board.paths, record, stopped, board.ports) is None


def test_a_held_board_may_still_go_back(board):
    run(board, board.write())
    run(board, board.write(extra=("--new",)))
    (board.roots.state / "hold").write_text("")
    assert rollback("tiny", board.roots, ports=board.ports).changed


def test_s28_an_older_release_is_refused_unless_it_is_meant(board):
    run(board, board.write(counter=7))
    old = board.write(counter=6, extra=("--old",))
    error = refused(board, old)
    assert (error.status, error.code) == (15, "downgrade")
    assert error.details == ("its counter: 6", "committed: 7")
    assert refused(board, board.write(extra=("--none",))).code == "downgrade"
    assert run(board, board.write(counter=7, extra=("--same",))).changed
    done = run(board, old, allow_downgrade=True)
    assert any("counter 6 after 7" in notice for notice in done.notices)
    assert state.load(board.paths).counter == 6


def test_s28_going_back_is_exempt_and_does_not_open_the_door(board):
    run(board, board.write(counter=1))
    run(board, board.write(counter=2, extra=("--new",)))
    assert rollback("tiny", board.roots, ports=board.ports).changed
    assert refused(board, board.write(counter=1, extra=("--old",))).code == "downgrade"


def test_a_stack_may_come_again_with_a_new_counter(board):
    """What is still here of its first time has the old one, and must not speak for it."""
    run(board, board.write(counter=1))
    run(board, board.write(counter=2, extra=("--new",)))
    done = run(board, board.write(counter=3))
    assert done.changed
    assert state.load(board.paths).counter == 3


def test_a_release_that_failed_does_not_count(board):
    run(board, board.write(counter=1))
    refused(board, board.write(counter=9, extra=("--crash",)))
    assert state.load(board.paths).counter == 1
    assert run(board, board.write(counter=2, extra=("--new",))).changed


def test_a_counter_survives_a_damaged_state_file(board):
    run(board, board.write(counter=5))
    board.paths.state_file.write_text("{")
    assert refused(board, board.write(counter=4, extra=("--old",))).code == "downgrade"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"counter": -1}', '{"counter": true}', "[" * 99])
def test_a_release_file_that_tells_no_counter_is_data(tmp_path, text):
    (tmp_path / "release.json").write_text(text)
    with pytest.raises(DeviceError) as caught:
        read_counter(tmp_path, ("release.json",))
    assert (caught.value.status, caught.value.code) == (3, "bad_release_file")


def test_a_counter_that_the_sums_do_not_vouch_for_counts_as_none(board):
    run(board, board.write(counter=3))
    folder = board.write(extra=("--x",))
    (folder / "release.json").write_text(json.dumps({"counter": 99}))
    assert refused(board, folder).code == "downgrade"


def test_a_digest_that_names_nothing_here_is_no_way_back(board):
    """Compose starts by the reference, and no tag can give it back."""
    run(board, board.write())
    record = state.load(board.paths)
    before = state.Before(record.digest, None, True)
    pinned = f"registry/image@sha256:{'a' * 64}"
    record = record._replace(images=(record.images[0]._replace(reference=pinned),))
    board.docker.images[pinned] = "arm64"
    assert no_way_back(board.paths, record, before, board.ports) is None
    board.docker.moved[pinned] = None
    assert "cannot be given back" in no_way_back(board.paths, record, before, board.ports)


def test_s12_without_the_old_image_there_is_no_way_back(board):
    board.docker.images[OTHER] = "arm64"
    run(board, board.write())
    assert state.load(board.paths).images[0].image_id == image_id(IMAGE)
    del board.docker.images[IMAGE]
    new = board.write(image=OTHER)
    error = refused(board, new)
    assert (error.status, error.code) == (15, "not_rollbackable")
    assert state.load(board.paths).phase == state.COMMITTED
    with pytest.raises(DeviceError) as caught:
        stage(new, board.roots, ports=board.ports)
    assert caught.value.code == "not_rollbackable"
    done = run(board, new, force=True)
    assert any("no way back" in notice for notice in done.notices)


def test_a_tag_that_moved_is_no_way_back(board):
    """The tag is there, the image that ran is not."""
    board.docker.images[OTHER] = "arm64"
    run(board, board.write())
    record = state.load(board.paths)
    known = record.images[0]._replace(image_id="sha256:" + "9" * 64)
    state.save(board.paths, record._replace(images=(known,)))
    assert refused(board, board.write(image=OTHER)).code == "not_rollbackable"


def test_a_state_file_of_version_1_knows_no_ids_so_the_reference_counts(board):
    board.docker.images[OTHER] = "arm64"
    run(board, board.write())
    body = json.loads(board.paths.state_file.read_text())
    kept = ("stack", "phase", "digest", "container", "since", "before")
    body = {"version": 1, **{key: body[key] for key in kept}}
    board.paths.state_file.write_text(json.dumps(body))
    new = board.write(image=OTHER)
    del board.docker.images[IMAGE]
    assert refused(board, new).code == "not_rollbackable"
    board.docker.images[IMAGE] = "arm64"
    assert run(board, new).changed


def test_what_does_not_run_need_not_come_back(board):
    board.docker.images[OTHER] = "arm64"
    run(board, board.write())
    take_down.stop("tiny", board.roots, ports=board.ports)
    del board.docker.images[IMAGE]
    assert run(board, board.write(image=OTHER)).changed
