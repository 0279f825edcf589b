"""Everything that would go wrong is found before anything is changed, and all of it at once."""

import pytest

from speccompose.device.docker_answers import ContainerInfo, read_container
from speccompose.device.errors import DeviceError
from speccompose.device.preflight import check_host, check_stack, disk_findings, refuse
from tests.docker.stacks import IMAGE, TARGET


def container(*command: str) -> ContainerInfo:
    """Our own, running these words."""
    body = {"Id": "1", "State": {"Status": "running"}, "Config": {"Cmd": list(command)}}
    return read_container(body)


def codes(findings) -> list[str]:
    return [finding.code for finding in findings]


def check(board, *, own=None, running=None, **plan):
    made = board.plan()._replace(**plan)
    return check_stack(board.ports, made, board.roots, own=own, running=running)


def test_a_board_that_is_ready(board):
    assert check(board, gpu_runtime="nvidia") == []


def test_each_cause_has_its_code(board):
    board.docker.info["Runtimes"] = {"runc": {}}
    board.docker.compose_versions = {"docker compose": "1.29.2"}
    board.docker.images.clear()
    board.machine.port_fault = "Address already in use"
    board.machine.holder = "nginx (process 7)"
    board.machine.memory = {"MemAvailable": 1000}
    (board.roots.models / TARGET / "model.gguf").unlink()
    findings = check(board, gpu_runtime="nvidia")
    assert set(codes(findings)) == {
        "no_compose",
        "no_gpu_runtime",
        "image_missing",
        "weights_missing",
        "port_taken",
        "memory_short",
    }
    with pytest.raises(DeviceError) as caught:
        refuse(findings)
    assert caught.value.status == 15
    assert caught.value.brief == "6 things stand in the way"
    assert "port 8099 on 127.0.0.1 is taken by nginx (process 7)" in caught.value.details


def test_one_cause_is_told_as_itself(board):
    board.docker.installed = False
    with pytest.raises(DeviceError) as caught:
        refuse(check(board))
    assert (caught.value.code, caught.value.brief) == ("no_docker", "docker is not installed")


def test_a_dead_daemon_is_not_also_a_missing_image(board):
    board.docker.answers = False
    assert codes(check(board)) == ["docker_down"]


def test_an_image_for_another_machine(board):
    board.docker.images[IMAGE] = "amd64"
    assert codes(check(board)) == ["image_architecture"]
    board.machine.arch = "x86_64"
    assert check(board) == []


def test_the_port_that_our_own_stack_holds_is_free_for_it(board):
    board.machine.port_fault = "Address already in use"
    own, running = board.plan(), container("--port", "8099")
    assert check(board, own=own, running=running) == []
    assert codes(check(board, own=own, running=running, port=8100)) == ["port_taken"]
    assert codes(check(board, own=own, running=None)) == ["port_taken"]


def test_a_bind_address_of_another_machine(board):
    board.machine.port_fault = "192.0.2.1 is no address of this machine"
    assert codes(check(board)) == ["bad_bind"]


def test_an_older_generation_on_another_port_than_its_release_says(board):
    board.machine.port_fault = "Address already in use"
    own = board.plan()._replace(port=8100)
    assert check(board, own=own, running=container("--port", "8099")) == []
    assert codes(check(board, own=own, running=container("--port", "8"))) == ["port_taken"]


def memory(board, **parts: int):
    return board.plan().memory._replace(**parts)


def test_memory_that_our_own_stack_holds_counts_as_there(board):
    need = memory(board, weights_mib=10_000)
    board.machine.memory = {"MemAvailable": 3_000}
    own = board.plan()._replace(memory=need)
    assert check(board, own=own, running=object(), memory=need) == []
    findings = check(board, own=own, running=None, memory=need)
    assert codes(findings) == ["memory_short"]
    assert "10066 MiB needed" in findings[0].message
    assert "3000 MiB there" in findings[0].message
    assert "assumed" not in findings[0].message
    board.machine.memory = {"MemAvailable": 1_000}
    (found,) = check(board, own=own, running=object(), memory=need)
    assert "assumed: the running release gives back the 10066 MiB" in found.message


@pytest.mark.parametrize(("available", "fits"), [(12_114, True), (12_113, False)])
def test_two_gib_stay_free(board, available, fits):
    board.machine.memory = {"MemAvailable": available}
    assert (check(board, memory=memory(board, weights_mib=10_000)) == []) is fits


def test_page_cache_is_no_shortage(board):
    board.machine.memory = {"MemFree": 85, "MemAvailable": 16_000}
    found = check(board)
    assert [(item.code, item.severity) for item in found] == [("page_cache", "info")]


def test_vllm_wants_its_share_at_start(board):
    share = memory(board, total_mib=20_000, utilization=0.7)
    board.machine.memory = {"MemAvailable": 15_000}
    assert codes(check(board, memory=share)) == ["memory_short"]
    board.machine.memory = {"MemAvailable": 16_100}
    assert check(board, memory=share) == []


def test_b_02_a_missing_runtime_is_refused_with_the_steps_and_none_of_them_is_taken(board):
    board.docker.info["Runtimes"] = {"runc": {}}
    with pytest.raises(DeviceError) as caught:
        refuse(check(board, gpu_runtime="nvidia"))
    assert (caught.value.status, caught.value.code) == (15, "no_gpu_runtime")
    assert [line for line in caught.value.details if line.startswith("fix: ")] == [
        "fix: sudo apt-get install nvidia-container-toolkit",
        "fix: sudo nvidia-ctk runtime configure --runtime=docker",
        "fix: sudo systemctl restart docker",
    ]
    ran = [*board.docker.calls, *board.machine.reader.calls]
    assert not [argv for argv in ran if {"sudo", "configure", "restart", "install"} & {*argv}]


def test_docker_28_without_the_raw_table_is_a_warning(board):
    board.machine.raw_table = False
    board.docker.info["KernelVersion"] = "5.15.148-tegra"
    found = check_host(board.ports)
    assert (codes(found), found[0].severity) == (["no_raw_table"], "warning")
    refuse(found)
    board.docker.info["ServerVersion"] = "27.5.1"
    assert check_host(board.ports) == []


def test_vfs_is_a_warning(board):
    board.docker.info["Driver"] = "vfs"
    assert codes(check_host(board.ports)) == ["vfs_driver"]


def test_disk_for_an_image_is_three_times_its_download(board):
    plan = board.plan()._replace(image_download_mib=1000)
    board.machine.disk_mib = 3300
    assert disk_findings(board.ports, plan, board.roots, image_missing=True) == []
    board.machine.disk_mib = 3299
    found = disk_findings(board.ports, plan, board.roots, image_missing=True)
    assert codes(found) == ["disk_full"]
    assert "3300 MiB needed, 3299 MiB free" in found[0].message
    assert disk_findings(board.ports, plan, board.roots, image_missing=False) == []


def test_weights_that_are_there_need_no_disk(board):
    plan = board.plan()
    big = tuple(item._replace(mib=5000) for item in plan.downloads)
    board.machine.disk_mib = 100
    assert disk_findings(board.ports, plan._replace(downloads=big), board.roots, False) == []
    (board.roots.models / TARGET / ".complete").unlink()
    found = disk_findings(board.ports, plan._replace(downloads=big), board.roots, False)
    assert "5500 MiB needed" in found[0].message


def test_a_new_cache_for_kernels_counts_and_one_that_is_there_does_not(board):
    plan = board.plan()._replace(cache_mib=1000, cache_volumes=("speccompose-cache-x",))

    def found(plan=plan):
        return codes(disk_findings(board.ports, plan, board.roots, image_missing=False))

    board.machine.disk_mib = 1099
    assert found() == ["disk_full"]
    board.docker.volumes.add("speccompose-cache-x")
    assert found() == []
    assert found(plan._replace(cache_volumes=())) == ["disk_full"]
    board.machine.disk_mib = 1100
    assert found(plan._replace(cache_volumes=("speccompose-cache-y",))) == []


def test_cache_and_image_are_counted_together(board):
    plan = board.plan()._replace(image_download_mib=1000, cache_mib=1000)
    board.machine.disk_mib = 4399
    (found,) = disk_findings(board.ports, plan, board.roots, image_missing=True)
    assert "4400 MiB needed" in found.message
