"""What a pull cannot mend is refused before anything is pulled."""

import pytest

from speccompose.device import transaction
from speccompose.device.errors import DeviceError
from speccompose.device.gate import (
    preflight,
    preflight_before_pull,
    refuse_bad_disks,
    refuse_before_pull,
)
from speccompose.device.transaction import deploy
from tests.docker.stacks import TARGET


def codes(board, folder, look=preflight_before_pull) -> list[str]:
    return [item.code for item in look(folder, board.roots, ports=board.ports)]


def forget(board) -> None:
    """As on a fresh board: neither image nor weights."""
    board.docker.images.clear()
    (board.roots.models / TARGET / ".complete").unlink()


def test_what_a_pull_brings_is_no_finding(board):
    forget(board)
    folder = board.write()
    assert codes(board, folder) == []
    assert set(codes(board, folder, preflight)) == {"image_missing", "weights_missing"}
    refuse_before_pull(folder, board.roots, ports=board.ports)


def test_all_else_is_found_at_once(board):
    forget(board)
    board.docker.compose_versions = {}
    board.docker.info["Runtimes"] = {"runc": {}}
    board.machine.port_fault = "Address already in use"
    board.machine.memory = {"MemAvailable": 100}
    board.machine.disk_mib = 0
    folder = board.write(changes={"gpu_runtime": "nvidia"})
    with pytest.raises(DeviceError) as caught:
        transaction.refuse_before_pull(folder, board.roots, ports=board.ports)
    assert caught.value.status == 15
    assert caught.value.brief == "5 things stand in the way"
    assert set(codes(board, folder)) == {
        "no_compose",
        "no_gpu_runtime",
        "port_taken",
        "memory_short",
        "disk_full",
    }


def test_b_01_a_kernel_without_the_raw_table_is_told_before_anything_is_pulled(board):
    forget(board)
    board.machine.raw_table = False
    (found,) = preflight_before_pull(board.write(), board.roots, ports=board.ports)
    assert (found.code, found.severity) == ("no_raw_table", "warning")
    assert any("docker-ce=5:27.5.1" in line for line in found.fix)
    assert not any("pull" in call for call in board.docker.calls)


@pytest.mark.parametrize(
    ("fault", "code"), [("installed", "no_docker"), ("answers", "docker_down")]
)
def test_without_docker_there_is_one_finding(board, fault, code):
    setattr(board.docker, fault, False)
    assert codes(board, board.write()) == [code]


def test_an_image_for_another_machine_is_not_mended_by_a_pull(board):
    board.docker.images = dict.fromkeys(board.docker.images, "amd64")
    assert codes(board, board.write()) == ["image_architecture"]


def test_a_release_that_runs_already_is_not_asked_for_its_memory_again(board):
    folder = board.write()
    deploy(folder, board.roots, ports=board.ports)
    board.machine.memory = {"MemAvailable": 10}
    board.machine.port_fault = "Address already in use"
    assert codes(board, folder) == []
    assert codes(board, board.write(extra=("--new",))) == ["memory_short"]


def test_nothing_is_changed(board):
    forget(board)
    preflight_before_pull(board.write(), board.roots, ports=board.ports)
    assert not board.paths.home.exists()
    assert not any(verb in call for verb in ("up", "pull") for call in board.docker.calls)


def unmount(board) -> None:
    """The weights have a disk of their own, and it is not there."""
    board.machine.reader.texts["/proc/mounts"] = "/dev/mmcblk0p1 / ext4 rw 0 0\n"
    fstab = f"/dev/nvme0n1p1 {board.roots.models} ext4 defaults,nofail 0 2\n"
    board.machine.reader.texts["/etc/fstab"] = fstab


def test_b_05_nothing_is_pulled_into_an_empty_mount_point(board):
    unmount(board)
    folder = board.write()
    refuse_bad_disks(folder, board.roots, ports=board.ports)  # all is here: nothing would come
    (board.roots.models / TARGET / ".complete").unlink()
    with pytest.raises(DeviceError) as caught:
        refuse_bad_disks(folder, board.roots, ports=board.ports)
    assert (caught.value.status, caught.value.code) == (15, "mount_missing")
    assert str(board.roots.models) in caught.value.brief


def test_a_pull_alone_waits_neither_for_the_port_nor_for_the_runtime(board):
    forget(board)
    board.machine.port_fault = "Address already in use"
    board.machine.memory = {"MemAvailable": 100}
    board.docker.info["Runtimes"] = {"runc": {}}
    folder = board.write(changes={"gpu_runtime": "nvidia"})
    refuse_bad_disks(folder, board.roots, ports=board.ports)
