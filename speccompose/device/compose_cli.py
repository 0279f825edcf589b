"""A release folder and a verb become one Compose call.

Layer: device (standard library, Python 3.8), over ``docker_cli``. Always with the project's name,
its folder and its one file, so that neither the working directory nor an override file beside it
can change what runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Tuple

from speccompose.device.boot_faults import cause_of
from speccompose.device.command import Completed
from speccompose.device.docker_cli import LOOK_S, Docker
from speccompose.device.errors import DEPLOY, DeviceError
from speccompose.device.redact import redact

UP_S = 900.0
DOWN_S = 300.0

# `up --pull` came during Compose 2; before that an image that is there is never pulled anyway.
_HAS_UP_PULL = (2, 5)
COMPOSE_FAILED = "compose_failed"
"""Docker did not make or start the container: that says nothing of what it was to run."""


class Compose(NamedTuple):
    """Compose for one release of one project; ``overrides`` are further files, read after it."""

    docker: Docker
    project: str
    folder: Path
    overrides: Tuple[Path, ...] = ()

    def up(self, recreate: bool = False) -> None:
        """Create and start what the file says; containers that already fit are left alone.

        Raises:
            DeviceError: status 8 with what Compose said.
        """
        _, version = self.docker.compose()
        options = ["up", "--detach", "--remove-orphans"]
        if version >= _HAS_UP_PULL:
            options += ["--pull", "never"]
        if recreate:
            options.append("--force-recreate")
        self._must(tuple(options), UP_S)

    def config_hash(self, service: str) -> str:
        """Compose's hash of a service as the file says it now; a container carries it as a label.

        It differs between versions of Compose.
        """
        words = self._must(("config", "--hash", service), LOOK_S).stdout.split()
        return words[-1] if words else ""

    def stop(self) -> None:
        """Stop the containers and keep them."""
        self._must(("stop",), DOWN_S)

    def down(self, volumes: bool = False) -> None:
        """Stop and remove containers and networks; named volumes only when asked."""
        options = (
            ("down", "--remove-orphans", "--volumes") if volumes else ("down", "--remove-orphans")
        )
        self._must(options, DOWN_S)

    def _must(self, verb: Tuple[str, ...], timeout_s: float) -> Completed:
        program, _ = self.docker.compose()
        where = (
            "--project-directory",
            str(self.folder),
            "--file",
            str(self.folder / "compose.yaml"),
        )
        more = tuple(word for path in self.overrides for word in ("--file", str(path)))
        argv = (*program, "--project-name", self.project, *where, *more, *verb)
        answer = self.docker.ask(argv, timeout_s)
        if answer.returncode != 0:
            text = redact(answer.stderr or answer.stdout).strip()
            why = cause_of(text)
            cause = [] if why is None else [f"cause: {why.meaning} ({why.id})"]
            raise DeviceError(
                DEPLOY,
                f"docker compose {verb[0]} failed for {self.project}",
                [*cause, *(text.splitlines()[-8:] or [f"exit status {answer.returncode}"])],
                hint=None
                if why is None
                else why.do_for(self.project.replace("speccompose-", "", 1)),
                code=COMPOSE_FAILED,
            )
        return answer
