"""What doctor adds to the checks: other ports, room for an image, the network when asked."""

import json

import pytest

from speccompose.device.doctor import Asked, examine, examine_stack, explain_stack, refused
from speccompose.device.errors import DeviceError
from speccompose.device.host_finding import error, warning
from speccompose.device.host_reader import Disk, Reached
from speccompose.device.transaction import deploy


def codes(findings) -> list[str]:
    return [item.code for item in findings]


def test_a_healthy_host(board):
    assert examine(board.ports, board.roots, Asked(gpu_runtime="nvidia", host_network=True)) == []


def test_the_network_is_asked_only_when_somebody_wants_it(board):
    asked: list[str] = []

    def reach(url, timeout_s):
        asked.append(url)
        return Reached("[Errno -3] Temporary failure in name resolution", None)

    board.machine.reader.reach = reach
    examine(board.ports, board.roots, Asked())
    assert asked == []
    found = examine(board.ports, board.roots, Asked(sources=("https://me:pw@hub.example/x",)))
    assert codes(found) == ["name_not_found"]
    assert not refused(found)
    assert "hub.example: " in found[0].message
    assert "pw" not in repr(found)


def test_of_a_stack_too_the_network_and_the_time_are_asked(board):
    folder = board.write()
    board.machine.reader.reach = lambda url, timeout_s: Reached("timed out", None)
    now = board.machine.wall_s()
    found = examine_stack(
        folder,
        board.roots,
        ports=board.ports,
        asked=Asked(sources=("https://hub.example",), clock_s=now + 86_400),
    )
    assert sorted(codes(found)) == ["clock_skewed", "source_unreachable"]
    assert examine_stack(folder, board.roots, ports=board.ports, asked=Asked(clock_s=now)) == []


def test_a_port_that_an_engine_uses_by_default(board):
    board.machine.port_fault = "Address already in use"
    board.machine.holder = "nginx (process 7)"
    found = examine(board.ports, board.roots, Asked(usual_ports=(("vLLM", 8000),)))
    assert codes(found) == ["default_port_taken"]
    assert "port 8000, vLLM's own, is taken by nginx" in found[0].message


def test_a_port_that_our_own_stack_has_is_no_surprise(board):
    deploy(board.write(), board.roots, ports=board.ports)
    board.machine.port_fault = "Address already in use"
    asked = Asked(usual_ports=(("llama.cpp", board.stack.port), ("vLLM", 8000)))
    assert codes(examine(board.ports, board.roots, asked)) == ["default_port_taken"]


def test_room_for_the_smallest_image(board):
    board.machine.reader.disks["/var/lib/docker"] = Disk(9_000, 50_000, 10**6, 10**6)
    assert codes(examine(board.ports, board.roots, Asked(image_mib=9_001))) == ["disk_low"]
    assert examine(board.ports, board.roots, Asked(image_mib=9_000)) == []


def test_weights_that_come_slowly(board):
    board.machine.reader.large_file = lambda folder: folder + "/big"
    board.machine.reader.read_rate_mib_s = lambda path: 8.0
    assert codes(examine(board.ports, board.roots, Asked())) == ["disk_slow"]


def test_a_stack_with_what_a_pull_would_bring(board):
    folder = board.write()
    assert examine_stack(folder, board.roots, ports=board.ports) == []
    board.docker.images.clear()
    found = examine_stack(folder, board.roots, ports=board.ports)
    assert [(item.code, item.severity) for item in found] == [("would_pull", "info")]
    board.machine.memory = {"MemAvailable": 10}
    assert refused(examine_stack(folder, board.roots, ports=board.ports))


def test_what_the_plan_knows_of_the_release_is_told_on_the_board(board):
    told = {"severity": "warning", "code": "nvmap_36_4_7", "message": "m", "hint": "reboot"}
    other = {"severity": "warning", "code": "draft_precision", "message": "m", "hint": None}
    folder = board.write(changes={"findings": [told, other, "no finding", {}]})
    found = examine_stack(folder, board.roots, ports=board.ports)
    assert [(item.code, item.severity, item.hint) for item in found] == [
        ("nvmap_36_4_7", "warning", "reboot")
    ]


def test_only_errors_refuse():
    assert not refused([warning("a", "b")])
    assert refused([warning("a", "b"), error("c", "d")])


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("srv  start: couldn't bind HTTP server socket, hostname: x, port: 1", "port_in_use"),
        ("load_model: all is well", None),
    ],
)
def test_a_stack_whose_server_is_explained(board, log, cause):
    deploy(board.write(), board.roots, ports=board.ports)
    board.docker.log = log
    found = explain_stack(board.stack.name, board.roots, ports=board.ports)
    assert [item.id for item in found] == ([cause] if cause else [])


def test_a_server_that_was_killed_is_told_by_its_exit_status(board):
    deploy(board.write(), board.roots, ports=board.ports)
    (body,) = board.docker.containers.values()
    body["State"].update(Status="exited", ExitCode=137)
    found = explain_stack(board.stack.name, board.roots, ports=board.ports)
    assert [item.id for item in found] == ["killed_for_memory"]


def test_a_failed_deploy_tells_the_cause_and_not_only_the_last_lines(board):
    """The root stands above the last 20 lines that are shown."""
    board.docker.log = "\n".join(
        [
            "W init: context type MTP requested but model doesn't contain MTP layers",
            *(f"noise {number}" for number in range(100)),
            "srv  llama_server: exiting due to model loading error",
        ]
    )
    with pytest.raises(DeviceError) as failed:
        deploy(board.write(extra=("--crash",)), board.roots, ports=board.ports)
    told = failed.value
    assert (told.status, told.code) == (8, "exited")
    assert any("(mtp_weights_missing)" in line for line in told.details)
    assert any("doesn't contain MTP layers" in line for line in told.details)
    assert "| noise 0" not in told.details
    assert "--method none" in told.hint


def test_a_compose_that_fails_tells_its_cause(board):
    compose = board.docker.compose

    def failing(words):
        done = compose(words)
        said = "Error response from daemon: unknown or invalid runtime name: nvidia"
        return done._replace(returncode=1, stderr=said) if "up" in words else done

    board.docker.compose = failing
    with pytest.raises(DeviceError) as failed:
        deploy(board.write(), board.roots, ports=board.ports)
    assert any("(gpu_runtime_missing)" in line for line in failed.value.details)
    assert "nvidia-ctk runtime configure" in failed.value.hint


def test_findings_are_json(board):
    board.docker.info["Driver"] = "vfs"
    found = examine(board.ports, board.roots, Asked())
    body = json.loads(json.dumps([dict(item._asdict()) for item in found]))
    assert body[0]["code"] == "vfs_driver"
    assert body[0]["evidence"] == ["docker info: Driver vfs"]
