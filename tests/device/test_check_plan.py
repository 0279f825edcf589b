"""What one plan asks of this host: every figure told, and its boundary."""

import pytest

from speccompose.device.check_plan import (
    disk_findings,
    image_findings,
    memory_findings,
    port_findings,
    weight_findings,
)
from tests.docker.stacks import DRAFT, IMAGE, TARGET


def codes(findings) -> list[str]:
    return [item.code for item in findings]


def test_an_image_that_is_here_and_one_that_is_not(board):
    assert image_findings(board.ports, board.plan()) == []
    board.docker.images.clear()
    (found,) = image_findings(board.ports, board.plan())
    assert (found.code, found.hint) == ("image_missing", "run: speccompose pull tiny")


@pytest.mark.parametrize(
    ("image", "machine", "fits"),
    [("arm64", "aarch64", True), ("amd64", "x86_64", True), ("amd64", "aarch64", False)],
)
def test_an_image_is_for_one_kind_of_machine(board, image, machine, fits):
    board.docker.images[IMAGE] = image
    board.machine.arch = machine
    assert (image_findings(board.ports, board.plan()) == []) is fits


def test_weights_that_are_half_there(board):
    assert weight_findings(board.plan(), board.roots) == []
    (board.roots.models / TARGET / "model.gguf").write_bytes(b"GG")
    (found,) = weight_findings(board.plan(), board.roots)
    assert "has 2 bytes, 4 were pulled" in found.message


def test_who_holds_the_port_is_told(board):
    board.machine.port_fault = "Address already in use"
    (found,) = port_findings(board.ports, board.plan(), own=None, running=None)
    assert "a process not ours to see" in found.message
    board.machine.holder = "nginx (process 7)"
    (found,) = port_findings(board.ports, board.plan(), own=None, running=None)
    assert found.message == "port 8099 on 127.0.0.1 is taken by nginx (process 7)"


@pytest.mark.parametrize("family", ["generic", "orin-nano"])
def test_memory_of_the_running_release_counts_as_there(board, family):
    plan = board.plan()._replace(family=family)
    plan = plan._replace(memory=plan.memory._replace(weights_mib=8_000))
    board.machine.memory = {"MemAvailable": 2_100}
    assert codes(memory_findings(board.ports, plan, None)) == ["memory_short"]
    assert memory_findings(board.ports, plan, plan) == []
    board.machine.memory = {}
    assert memory_findings(board.ports, plan, None) == []


def test_two_disks_each_with_its_own_need(board):
    """Images on docker's disk, weights on ours: each is asked for what it must take."""
    free = {"models": 10_000, "docker": 3_299}

    def free_disk_mib(path):
        return free["models" if "models" in str(path) else "docker"]

    board.machine.free_disk_mib = free_disk_mib
    plan = board.plan()._replace(image_download_mib=1_000)
    (found,) = disk_findings(board.ports, plan, board.roots, image_missing=True)
    assert found.message == "/var/lib/docker: 3300 MiB needed, 3299 MiB free"
    free["docker"] = 3_300
    assert disk_findings(board.ports, plan, board.roots, image_missing=True) == []


def test_n_03_target_and_draft_are_counted_with_a_tenth_on_top(board):
    plan = board.plan()
    plan = plan._replace(downloads=tuple(item._replace(mib=1_000) for item in plan.downloads))
    for directory in (TARGET, DRAFT):
        (board.roots.models / directory / ".complete").unlink()
    board.machine.disk_mib = 2_199
    (found,) = disk_findings(board.ports, plan, board.roots, image_missing=False)
    assert "2200 MiB needed, 2199 MiB free" in found.message
    board.machine.disk_mib = 2_200
    assert disk_findings(board.ports, plan, board.roots, image_missing=False) == []


def test_a_new_cache_for_kernels_is_counted_once(board):
    plan = board.plan()._replace(cache_mib=1_000, cache_volumes=("speccompose-cache-x",))
    board.machine.disk_mib = 1_099
    assert codes(disk_findings(board.ports, plan, board.roots, False)) == ["disk_full"]
    board.docker.volumes.add("speccompose-cache-x")
    assert disk_findings(board.ports, plan, board.roots, False) == []
