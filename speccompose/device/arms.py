"""An installed stack becomes one that can be run with other commands, for a while.

Layer: device (standard library, Python 3.8). An arm is the same release with one change: an
override file, outside the release, replaces the command: by the baseline's that acceptance.json
carries, or by the planned one at another depth. So image, weights, mounts and environment are the
same by construction. The release itself and its links stay untouched. After a power cut here the
container may be another arm's; the next deploy of the release sees that it runs another command
than planned, and makes it anew.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Mapping, Optional, Sequence, Tuple

from speccompose.device import state
from speccompose.device.api_key import installed_key
from speccompose.device.compose_cli import Compose
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import HEALTH, ROLLBACK_INCOMPLETE, DeviceError
from speccompose.device.health import Waiter
from speccompose.device.interrupts import uninterrupted
from speccompose.device.paths import StackPaths
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Say
from speccompose.device.stack_folder import StackFolder
from speccompose.device.stream import Endpoint
from speccompose.device.window import Served

Command = Tuple[str, ...]


class StackArms:
    """The arms of one installed release, by name; ``commands`` says what each of them runs."""

    def __init__(
        self,
        paths: StackPaths,
        folder: StackFolder,
        commands: Mapping[str, Command],
        ports: Ports,
        say: Say,
    ) -> None:
        self._paths = paths
        self._folder = folder
        self._plan: Plan = folder.plan
        self._commands = commands
        self._ports = ports
        self._say = say
        self._key = installed_key(folder.plan, paths)

    def must_run(self) -> None:
        """Refuse a stack that does not run: nothing would be left to put back."""
        plan = self._plan
        container = self._ports.docker.container(plan.project, plan.service)
        if container is None or not container.running:
            raise DeviceError(
                HEALTH,
                f"{plan.name} does not run, so there is nothing to measure",
                ["no container" if container is None else f"container {container.status}"],
                hint=f"start it: speccompose deploy {plan.name}",
                code="not_running",
            )

    def start(self, arm: str) -> Served:
        """Let one arm serve, and wait until it is ready."""
        wanted = self._commands[arm]
        with tempfile.TemporaryDirectory(prefix="speccompose-accept-") as folder:
            overrides: Tuple[Path, ...] = ()
            if wanted != self._plan.command:
                overrides = (self._write_override(Path(folder), wanted),)
            self._compose(overrides).up()
        container = self._wait()
        if container.command != wanted:
            raise DeviceError(
                HEALTH,
                f"the {arm} arm of {self._plan.name} runs another command than planned",
                [f"planned: {' '.join(wanted)}", f"runs: {' '.join(container.command)}"],
                code="wrong_arm",
            )
        return self._served(container)

    def serving(self) -> Served:
        """Whatever serves now, as it is."""
        return self._served(self._ports.docker.container(self._plan.project, self._plan.service))

    def restore(self) -> None:
        """Let the planned arm serve again and write down its container."""
        with uninterrupted():
            try:
                self._compose(()).up()
                container = self._wait()
            except DeviceError as error:
                with suppress(OSError):  # the error says it
                    self._save(state.STUCK, None)
                brief = f"{self._plan.name} does not serve again after the measurement"
                raise self._stuck(brief, [error.brief, *error.details]) from error
            try:
                self._save(state.COMMITTED, container.id)
            except OSError as error:
                brief = f"{self._plan.name} serves as planned, but that could not be written down"
                raise self._stuck(brief, [str(error)]) from error

    def _save(self, phase: str, container: Optional[str]) -> None:
        """What else is known of the stack stays; an unconfirmed release goes on waiting."""
        now = state.load(self._paths)
        if phase == state.COMMITTED and (now.is_open or now.phase in state.SERVING):
            record = now._replace(container=container)
        elif now.is_open:
            record = now._replace(phase=phase, container=container, confirm_by=None)
        else:
            record = now.settled(phase, self._plan.digest, container)
        state.save_on_full_disk(self._paths, record)

    def _stuck(self, brief: str, why: Sequence[str]) -> DeviceError:
        return DeviceError(
            ROLLBACK_INCOMPLETE,
            brief,
            why,
            hint=f"mend the cause, then: speccompose deploy {self._plan.name}",
            code="stuck",
        )

    def _served(self, container: Optional[ContainerInfo]) -> Served:
        plan = self._plan
        endpoint = Endpoint(plan.local_host, plan.port, plan.served_name, self._key)
        held_by = None if container is None else container.id
        return Served(endpoint, self._ports.connect(plan, self._key), held_by)

    def _wait(self) -> ContainerInfo:
        keys = () if self._key is None else (self._key,)
        server = self._ports.connect(self._plan, self._key)
        return Waiter(self._ports, self._plan, server, keys, self._say).wait()

    def _compose(self, overrides: Tuple[Path, ...]) -> Compose:
        return Compose(self._ports.docker, self._plan.project, self._folder.path, overrides)

    def _write_override(self, folder: Path, wanted: Command) -> Path:
        """JSON is YAML to Compose; a dollar sign would start a variable, so it is doubled."""
        command = [word.replace("$", "$$") for word in wanted]
        path = folder / "arm.yaml"
        body = {"services": {self._plan.service: {"command": command}}}
        path.write_text(json.dumps(body), encoding="utf-8")
        return path
