"""One transaction for stacks with and without a container: deployed, switched, given back."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from speccompose.device import operate, state, take_down, transaction
from speccompose.device.command import Completed
from speccompose.device.errors import DeviceError
from speccompose.device.host_docker import HostDocker
from speccompose.device.measured_stack import open_stack
from speccompose.device.ports import silent
from tests.device.fakes import FakeServer
from tests.device.serviced import Serviced, add_sums, serviced

UNIT = "speccompose@tiny.service"


class Host:
    """A board with vLLM at ``vllm``; processes of units are real ones, in their real folders."""

    def __init__(self, here: Serviced) -> None:
        self.here, self.board = here, here.board
        self.vllm = self.board.scratch / "vllm"
        self.install("0.27.1")
        self.started: list[subprocess.Popen[bytes]] = []
        here.systemd.on_start, here.systemd.on_stop = self.start, self.stop
        systemd = here.systemd.systemd()
        docker = HostDocker(self.run, systemd=systemd)
        self.board.ports = self.board.ports._replace(
            docker=docker, units=systemd, connect=lambda plan, key: Vllm(self, plan)
        )
        self.ready = True

    def install(self, version: str) -> None:
        self.vllm.write_text(f"#!/bin/sh\necho {version}\n")
        self.vllm.chmod(0o755)

    def run(self, argv, timeout_s: float) -> Completed:
        words = tuple(argv)
        if words[0] in ("systemctl", "systemd-run"):
            return self.here.systemd(words, timeout_s)
        if words[0] == "journalctl":
            return Completed(words, 0, "the log\n", "")
        return self.board.docker(words, timeout_s)

    def start(self, unit: str) -> bool:
        if unit == UNIT and b"Type=exec" in (self.here.systemd.folder / unit).read_bytes():
            process = subprocess.Popen(["sleep", "600"], cwd=self.board.paths.current.resolve())
            self.started.append(process)
            self.here.systemd.processes[unit] = process.pid
        return True

    def stop(self, unit: str) -> None:
        if self.here.systemd.processes.pop(unit, None):
            self.started[-1].kill()
            self.started[-1].wait()

    def native(self, **changes: object) -> Path:
        """A rendered folder without a container."""
        body = {
            "image": {
                "id": "vllm-native", "reference": f"host:{self.vllm}@0.27.1", "engine": "vllm",
                "engine_version": "0.27.1", "digest": None,
            },
            "entrypoint": [str(self.vllm), "serve"],
        }  # fmt: skip
        folder = self.here.folder(changes={**body, **changes.pop("changes", {})}, **changes)
        (folder / "compose.yaml").unlink()
        unit = folder / "tiny.service"
        unit.write_text(unit.read_text().replace("[Service]\n", "[Service]\nType=exec\n"))
        add_sums(folder)
        return folder

    def deploy(self, folder: Path):
        return transaction.deploy(folder, self.board.roots, ports=self.board.ports)

    @property
    def runs(self) -> bool:
        return UNIT in self.here.systemd.processes

    def container(self):
        return self.board.ports.docker.container("speccompose-tiny", "server")


class Vllm(FakeServer):
    """What serves, with or without a container."""

    def __init__(self, host: Host, plan) -> None:
        super().__init__(host.board.docker, plan, plan.engine_version)
        self._host = host

    def _command(self) -> list[str]:
        if not self._plan.is_native:
            return super()._command()
        return [] if self._host.runs and self._host.ready else ["--never-ready"]


@pytest.fixture
def host(board) -> Iterator[Host]:
    made = Host(serviced(board))
    yield made
    for process in made.started:
        process.kill()
        process.wait()


def test_deployed_it_runs_from_its_release_and_a_second_time_nothing_happens(host):
    done = host.deploy(host.native())
    assert (done.changed, done.phase) == (True, "committed")
    found = host.container()
    assert (found.status, found.command) == ("running", tuple(host.board.stack.command))
    assert found.entrypoint == (str(host.vllm), "serve")
    assert UNIT in host.here.systemd.enabled & host.here.systemd.active
    pid = host.here.systemd.processes[UNIT]
    again = host.deploy(host.native())
    assert (again.changed, host.here.systemd.processes[UNIT]) == (False, pid)
    assert host.board.docker.containers == {}


def test_status_logs_verify_stop_and_remove(host):
    host.deploy(host.native())
    roots, ports = host.board.roots, host.board.ports
    assert operate.status("tiny", roots, ports=ports).state == "running"
    assert operate.logs("tiny", roots, ports=ports) == "the log\n"
    assert operate.verify("tiny", roots, ports=ports).engine_version == "0.27.1"
    take_down.stop("tiny", roots, ports=ports)
    assert not host.runs
    assert UNIT not in host.here.systemd.enabled
    assert operate.status("tiny", roots, ports=ports).phase == "stopped"
    assert host.deploy(host.board.paths.current.resolve()).changed
    take_down.remove("tiny", roots, ports=ports)
    assert not host.runs
    assert not (host.here.systemd.folder / UNIT).exists()


def test_another_release_replaces_it_and_a_bad_one_is_rolled_back(host):
    first = host.deploy(host.native())
    second = host.deploy(host.native(deadline_s=5))
    assert second.previous_digest == first.digest
    host.ready = False
    host.board.machine.on_sleep = lambda: setattr(host, "ready", current(host) == second.digest)
    with pytest.raises(DeviceError) as caught:
        host.deploy(host.native(deadline_s=6))
    assert caught.value.status == 8
    assert current(host) == second.digest
    assert host.runs
    release = host.board.paths.release(second.digest)
    assert Path(f"/proc/{host.here.systemd.processes[UNIT]}/cwd").resolve() == release.resolve()


def current(host: Host) -> str | None:
    return state.linked_digest(host.board.paths.current)


def test_from_a_container_to_none_and_back(host):
    host.deploy(host.here.folder())
    assert list(host.board.docker.containers) == ["speccompose-tiny"]
    host.deploy(host.native())
    assert host.runs
    assert ("docker", "rm", "--force") in {words[:3] for words in host.board.docker.calls}
    host.board.docker.containers.clear()
    host.deploy(host.here.folder(deadline_s=9))
    assert not host.runs
    assert list(host.board.docker.containers) == ["speccompose-tiny"]


@pytest.mark.parametrize("version", ["0.28.0", ""])
def test_another_vllm_than_planned_is_refused_before_anything_is_touched(host, version):
    host.install(version)
    with pytest.raises(DeviceError) as caught:
        host.deploy(host.native())
    assert (caught.value.status, caught.value.code) == (15, "native_other_version")
    assert not host.runs
    assert not host.board.paths.current.exists()


def test_a_unit_that_does_not_start_tells_its_log(host):
    host.here.systemd.on_start = lambda unit: unit != UNIT
    with pytest.raises(DeviceError) as caught:
        host.deploy(host.native())
    assert caught.value.status == 8
    assert "the log" in "\n".join(caught.value.details)
    assert not host.board.paths.current.exists()


def test_a_measurement_says_that_it_cannot(host):
    host.deploy(host.native())
    roots, ports = host.board.roots, host.board.ports
    with (
        pytest.raises(DeviceError) as caught,
        open_stack("tiny", roots, "accept", ports=ports, say=silent),
    ):
        pass
    assert (caught.value.status, caught.value.code) == (2, "native_not_measured")
    assert host.runs


def test_a_pull_does_not_ask_a_registry(host):
    from speccompose.device.image_pull import pull_image

    reference = f"host:{host.vllm}@0.27.1"
    assert not pull_image(host.board.ports, reference, silent)
    with pytest.raises(DeviceError) as caught:
        pull_image(host.board.ports, reference.replace("27.1", "28.0"), silent)
    assert caught.value.code == "native_other_version"


def test_without_systemd_everything_is_dockers(host):
    docker = HostDocker(host.run)
    host.deploy(host.here.folder())
    assert docker.container("speccompose-tiny", "server").status == "running"
    assert docker.within(3.0).container("speccompose-none", "server") is None
