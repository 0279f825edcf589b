"""S12: what is pruned, and that current and previous never are."""

import pytest

from speccompose.device import state
from speccompose.device.errors import DeviceError
from speccompose.device.lock import hold
from speccompose.device.order import Order
from speccompose.device.pruning import prune_board
from speccompose.device.transaction import deploy, rollback, stage
from tests.device.fakes import image_id
from tests.device.test_steps import tree
from tests.docker.stacks import DRAFT, TARGET


def install(board, number: int, **changes) -> str:
    image = f"speccompose/image:{number}"
    board.docker.images[image] = "arm64"
    folder = board.write(image=image, extra=("-md", f"--{number}"), **changes)
    return deploy(folder, board.roots, ports=board.ports).digest


def prune(board, **options):
    return prune_board(board.roots, ports=board.ports, **options)


def present(board) -> set[str]:
    return {name for name in board.docker.images if name.startswith("speccompose/image")}


def test_an_image_that_only_an_old_release_ran_goes_by_its_id(board):
    for number in (1, 2, 3):
        install(board, number)
    before = tree(board.roots.state)
    foreseen = prune(board, dry_run=True)
    assert (foreseen.images, foreseen.dry_run) == ((image_id("speccompose/image:1"),), True)
    assert tree(board.roots.state) == before
    assert len(present(board)) == 3
    done = prune(board)
    assert done.images == foreseen.images
    assert present(board) == {"speccompose/image:2", "speccompose/image:3"}
    assert prune(board).images == ()
    assert rollback("tiny", board.roots, ports=board.ports).changed
    known = {item.reference for item in state.load(board.paths).images}
    assert known == {"speccompose/image:2", "speccompose/image:3"}


def test_what_another_stack_needs_stays(board):
    for number in (1, 2, 3):
        install(board, number)
    install(board, 1, name="other", port=8111)
    assert prune(board).images == ()


def test_what_docker_does_not_let_go_is_told_and_stays_known(board):
    for number in (1, 2, 3):
        install(board, number)
    board.docker.in_use.add(image_id("speccompose/image:1"))
    done = prune(board)
    assert (done.images, len(done.kept)) == ((), 1)
    assert "being used" in done.kept[0]
    board.docker.in_use.clear()
    assert len(prune(board).images) == 1


def test_halves_and_strangers_below_releases_go(board):
    install(board, 1)
    for name in (".staging-abc", "0" * 64):
        (board.paths.releases / name).mkdir()
    assert set(prune(board, dry_run=True).releases) == {f"tiny/{'0' * 64}", "tiny/.staging-abc"}
    prune(board)
    assert len(list(board.paths.releases.iterdir())) == 1


def test_a_staged_release_and_its_image_stay(board):
    install(board, 1)
    board.docker.images["speccompose/image:2"] = "arm64"
    folder = board.write(image="speccompose/image:2")
    stage(folder, board.roots, ports=board.ports, order=Order(rollout="r1"))
    assert prune(board).releases == ()
    assert len(list(board.paths.releases.iterdir())) == 2


def test_weights_only_when_asked_for_and_only_those_nobody_reads(board):
    install(board, 1)
    for name in ("somebody--else", ".hidden"):
        (board.roots.models / name).mkdir()
    assert prune(board).weights == ()
    assert prune(board, weights=True, dry_run=True).weights == ("somebody--else",)
    assert prune(board, weights=True).weights == ("somebody--else",)
    assert sorted(path.name for path in board.roots.models.iterdir()) == [".hidden", DRAFT, TARGET]


def test_while_a_release_is_damaged_no_weights_go(board):
    install(board, 1)
    (board.paths.current / "plan.json").write_text("")
    (board.roots.models / "somebody--else").mkdir()
    with pytest.raises(DeviceError) as caught:
        prune(board, weights=True)
    assert caught.value.status == 19
    assert (board.roots.models / "somebody--else").exists()


def test_a_stack_that_is_being_changed_is_left_alone(board):
    install(board, 1)
    with hold(board.paths, "deploy"), pytest.raises(DeviceError) as caught:
        prune(board)
    assert caught.value.status == 12
