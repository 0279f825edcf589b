"""Stand-ins for Docker, this machine and a server, small enough to read in a minute.

FakeDocker is a runner: it takes the argument lists that `command.run` would run and behaves as
the docker command line does, with containers that come from the compose.yaml it is given. What a
container does is written in its command: --crash, --never-ready, --no-drafts, --unhealthy.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from speccompose.device.answers import Completion, Reply, Server
from speccompose.device.command import NOT_FOUND, Completed
from speccompose.device.conditions import Conditions
from speccompose.device.docker_cli import Docker
from speccompose.device.host_reader import Disk, HostReader
from speccompose.device.machine import Machine
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports

INFO = {
    "ServerVersion": "28.1.0",
    "Runtimes": {"runc": {}, "nvidia": {}},
    "DockerRootDir": "/var/lib/docker",
    "Driver": "overlay2",
    "Architecture": "aarch64",
    "KernelVersion": "6.8.12-tegra",
}


@dataclass
class FakeDocker:
    """One daemon. ``calls`` are the argument lists, in order."""

    images: dict[str, str] = field(default_factory=dict)
    volumes: set[str] = field(default_factory=set)
    containers: dict[str, dict] = field(default_factory=dict)
    info: dict = field(default_factory=lambda: dict(INFO))
    compose_versions: dict[str, str] = field(default_factory=lambda: {"docker compose": "v2.40.0"})
    installed: bool = True
    answers: bool = True
    fails_up: bool = False
    log: str = ""
    events: str = ""
    calls: list[tuple[str, ...]] = field(default_factory=list)
    smoke: Callable[[tuple[str, ...]], Completed] = lambda words: ok(words, "")
    after_up: Callable[[], None] = lambda: None
    config_hash: str = "0000"
    moved: dict[str, str | None] = field(default_factory=dict)
    in_use: set[str] = field(default_factory=set)
    _ids: itertools.count = field(default_factory=lambda: itertools.count(1))

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Completed:
        words = tuple(argv)
        self.calls.append(words)
        if not self.installed:
            return Completed(words, NOT_FOUND, "", "docker: command not found")
        if words[:2] == ("docker", "compose") or words[0].endswith("docker-compose"):
            return self.compose(words)
        if not self.answers:
            return Completed(words, 1, "", "Cannot connect to the Docker daemon at unix:///x.")
        return self.docker(words)

    def docker(self, words: tuple[str, ...]) -> Completed:
        if words[1] == "info":
            return ok(words, json.dumps(self.info))
        if words[1] == "version":
            return ok(words, json.dumps({"Client": {}, "Server": {}}))
        if words[1:3] == ("image", "inspect"):
            names = {image_id(name): kind for name, kind in self.images.items()}
            found = {**names, **self.images}.get(words[3])
            known = words[3] if words[3] in names else self.meant(words[3])
            found = None if known is None else found
            body = [{"Id": known, "Architecture": found}]
            return failed(words, "No such image") if found is None else ok(words, json.dumps(body))
        if words[1:3] == ("image", "tag"):
            self.moved[words[4]] = words[3]
            return ok(words, "")
        if words[1:3] == ("image", "rm"):
            return self.remove_image(words)
        if words[1] == "run":
            return self.smoke(words)
        if words[1:3] == ("rm", "--force"):
            return ok(words, "")
        if words[1:3] == ("volume", "inspect"):
            return ok(words, "[]") if words[3] in self.volumes else failed(words, "no such volume")
        if words[1] == "ps" and "--all" in words:
            project = next(w for w in words if "project=" in w).split("project=")[1]
            body = self.containers.get(project)
            return ok(words, "" if body is None else body["Id"])
        if words[1] == "ps":
            return ok(words, "")
        if words[1:3] == ("container", "inspect"):
            found_body = next(b for b in self.containers.values() if b["Id"] == words[3])
            return ok(words, json.dumps([found_body]))
        if words[1] == "logs":
            return ok(words, self.log)
        if words[1] == "events":
            return ok(words, self.events)
        raise AssertionError(f"unexpected: {words}")

    def meant(self, reference: str) -> str | None:
        """The id behind a reference: ``moved`` names those that mean another one, or none."""
        return self.moved.get(reference, image_id(reference))

    def remove_image(self, words: tuple[str, ...]) -> Completed:
        if words[3] in self.in_use:
            return failed(words, "conflict: image is being used by a running container")
        for name in [name for name in self.images if image_id(name) == words[3]]:
            del self.images[name]
        return ok(words, f"Deleted: {words[3]}")

    def compose(self, words: tuple[str, ...]) -> Completed:
        program = " ".join(words[: 2 if words[0] == "docker" else 1])
        version = self.compose_versions.get(program)
        if version is None:
            return failed(words, f"{program}: not found")
        if words[-2:] == ("version", "--short"):
            return ok(words, version)
        if not self.answers:
            return failed(words, "Cannot connect to the Docker daemon at unix:///x.")
        if "ls" in words:
            return ok(words, "")
        if "config" in words:
            return ok(words, f"{words[-1]} {self.config_hash}\n")
        project = words[words.index("--project-name") + 1]
        file = Path(words[words.index("--file") + 1])
        if "up" in words and self.fails_up:
            return failed(words, "it does not start")
        if "up" in words:
            self.up(project, json.loads(file.read_text()), "--force-recreate" in words)
            self.after_up()
        elif "down" in words:
            self.containers.pop(project, None)
        elif "stop" in words and project in self.containers:
            self.containers[project]["State"]["Status"] = "exited"
        return ok(words, "")

    def up(self, project: str, body: dict, recreate: bool) -> None:
        """As Compose: a container that fits and runs is left alone."""
        service = body["services"]["server"]
        config = {
            "Image": service["image"],
            "Entrypoint": service["entrypoint"],
            "Cmd": service["command"],
        }
        known = self.containers.get(project)
        fits = known is not None and known["Config"] == config and not recreate
        if fits and known["State"]["Status"] == "running":
            return
        number = next(self._ids)
        words = service["command"] or []
        crashed = "--crash" in words
        health = "unhealthy" if "--unhealthy" in words else "healthy"
        self.containers[project] = {
            "Id": known["Id"] if fits else f"container-{number}",
            "Image": self.meant(service["image"]),
            "RestartCount": 0,
            "State": {
                "Status": "exited" if crashed else "running",
                "ExitCode": 1 if crashed else 0,
                "OOMKilled": False,
                "StartedAt": f"start-{number}",
                "Health": {"Status": health, "Log": [{"ExitCode": 0, "Output": ""}]},
            },
            "Config": config,
            "HostConfig": {"Runtime": "nvidia"},
        }


def image_id(reference: str) -> str:
    """The id of an image in every FakeDocker."""
    return f"sha256:{hashlib.sha256(reference.encode()).hexdigest()}"


def ok(words: tuple[str, ...], out: str) -> Completed:
    return Completed(words, 0, out, "")


def failed(words: tuple[str, ...], reason: str) -> Completed:
    return Completed(words, 1, "", reason)


TOOLKIT = {
    "nvidia-ctk --version": Completed(
        ("nvidia-ctk", "--version"), 0, "NVIDIA Container Toolkit CLI version 1.18.0\n", ""
    )
}


@dataclass
class FakeHost(HostReader):
    """A host of which nothing is known but what a test says."""

    texts: dict[str, str] = field(default_factory=dict)
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outputs: dict[str, Completed] = field(default_factory=lambda: dict(TOOLKIT))
    disks: dict[str, Disk] = field(default_factory=dict)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    user: int = 0

    def run(self, argv: Sequence[str], timeout_s: float) -> Completed:
        self.calls.append(tuple(argv))
        known = self.outputs.get(" ".join(argv))
        return known or Completed(tuple(argv), NOT_FOUND, "", f"{argv[0]}: command not found")

    def text(self, path: str, most: int = 0) -> str | None:
        return self.texts.get(path)

    def lines_with(self, path: str, words: Sequence[str]) -> str | None:
        lines = self.texts.get(path, "").splitlines(keepends=True)
        kept = "".join(line for line in lines if any(word in line for word in words))
        return kept if path in self.texts else None

    def names(self, path: str) -> tuple[str, ...] | None:
        return self.folders.get(path)

    def exists(self, path: str) -> bool:
        return path in self.texts or path in self.folders

    def real(self, path: str) -> str:
        return path

    def disk(self, path: str) -> Disk | None:
        return self.disks.get(path)

    def writable(self, path: str) -> bool | None:
        return None

    def user_id(self) -> int | None:
        return self.user

    def host_name(self) -> str | None:
        return None

    def wall_clock_s(self) -> float:
        return 1_796_000_000.0

    def modified_s(self, path: str) -> float | None:
        return None

    def conditions(self) -> Conditions | None:
        return None

    def read_rate_mib_s(self, path: str) -> float | None:
        return None


@dataclass
class FakeMachine(Machine):
    """A board whose clock only moves when somebody sleeps."""

    clock_s: float = 0.0
    boot: str = "boot-1"
    wall: float = 1_796_000_000.0
    memory: dict[str, int] = field(default_factory=lambda: {"MemAvailable": 16000})
    disk_mib: int = 100_000
    arch: str = "aarch64"
    raw_table: bool = True
    port_fault: str | None = None
    holder: str | None = None
    on_sleep: Callable[[], None] = lambda: None
    reader: FakeHost = field(default_factory=lambda: FakeHost())

    def host(self) -> HostReader:
        return self.reader

    def now_s(self) -> float:
        return self.clock_s

    def boot_s(self) -> float:
        return self.clock_s

    def boot_id(self) -> str:
        return self.boot

    def wall_s(self) -> float:
        return self.wall

    def host_name(self) -> str:
        return "board-1"

    def sleep(self, seconds: float) -> None:
        self.clock_s += seconds
        self.on_sleep()

    def architecture(self) -> str:
        return self.arch

    def kernel(self) -> str:
        return "6.8.12-tegra"

    def memory_mib(self) -> dict[str, int]:
        return self.memory

    def free_disk_mib(self, path: Path) -> int:
        return self.disk_mib

    def has_raw_table(self) -> bool:
        return self.raw_table

    def bind_fault(self, host: str, port: int) -> str | None:
        return self.port_fault

    def port_holder(self, port: int) -> str | None:
        return self.holder


class FakeServer(Server):
    """What serves in a FakeDocker's container."""

    def __init__(self, docker: FakeDocker, plan: Plan, version: str = "b11669-fake") -> None:
        super().__init__(plan.engine, "127.0.0.1", plan.port)
        self._docker = docker
        self._plan = plan
        self._version = version
        self._drafts = 0

    def _command(self) -> list[str]:
        body = self._docker.containers.get(self._plan.project)
        running = body is not None and body["State"]["Status"] == "running"
        return body["Config"]["Cmd"] if running else ["--never-ready"]

    def health(self, path: str) -> Reply:
        if "--never-ready" in self._command():
            return Reply(503, "Loading model")
        return Reply(200, "ok")

    def version(self) -> str | None:
        return self._version

    def metrics(self, timeout_s: float = 5.0) -> str | None:
        name = "spec_decode_num_drafts_total"
        return f"{'vllm' if self.engine == 'vllm' else 'llamacpp'}:{name} {self._drafts}\n"

    def complete(self, model: str, max_tokens: int, timeout_s: float) -> Completion:
        if "--no-drafts" not in self._command():
            self._drafts += 4
        return Completion("text", max_tokens, None, 0.5)


def fake_ports(docker: FakeDocker, machine: FakeMachine | None = None) -> Ports:
    """Ports over the fakes."""
    return Ports(
        Docker(docker), machine or FakeMachine(), lambda plan, key: FakeServer(docker, plan)
    )
