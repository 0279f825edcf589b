"""An installed stack becomes one that can be run with and without speculation, for a while.

Layer: device (standard library, Python 3.8). The baseline is the same release with one change: an
override file, outside the release, replaces the command by the one that acceptance.json carries.
So image, weights, mounts and environment are the same by construction. The release itself and its
links stay untouched. After a power cut here the container may be the baseline's; the next deploy
of the release sees that it runs another command than planned, and makes it anew.

    accept_stack(name, roots, ports=..., quick=..., say=...) -> Result
"""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Optional, Sequence, Tuple

from speccompose.device import state
from speccompose.device.accept import Result, Trial, accept
from speccompose.device.acceptance_file import Acceptance, parse_acceptance
from speccompose.device.api_key import installed_key
from speccompose.device.artifacts import Artifacts
from speccompose.device.compose_cli import Compose
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import DATA, HEALTH, ROLLBACK_INCOMPLETE, USAGE, DeviceError
from speccompose.device.health import Waiter
from speccompose.device.interrupts import signals_interrupt, uninterrupted
from speccompose.device.lock import hold
from speccompose.device.paths import Roots, StackPaths, find_stack
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Say, silent
from speccompose.device.restore import settle
from speccompose.device.runs import BASELINE
from speccompose.device.small_file import read_small_text
from speccompose.device.stack_folder import StackFolder, read_stack
from speccompose.device.stream import Endpoint
from speccompose.device.window import Served, full_pace, quick_pace

QUICK_REPEATS = 5
"""At most so many repeats for a demonstration; the rules of the verdict stay the same."""


def accept_stack(
    name: str, roots: Roots, *, ports: Ports, quick: bool = False, say: Say = silent
) -> Result:
    """Judge an installed, running stack. It is interrupted while the baseline runs.

    Raises:
        DeviceError: 2 for an unknown stack or one that does not speculate, 9 when it does not
            run, 12 when it is being changed, 14 when the planned arm cannot be put back.
    """
    paths = find_stack(name, roots)
    with signals_interrupt(), hold(paths, "accept"):
        settle(paths, ports=ports, say=say)
        folder = _current(paths)
        acceptance = _acceptance(folder)
        arms = StackArms(paths, folder, acceptance, ports, say)
        arms.must_run()
        now = time.gmtime()
        mark = time.strftime("%Y%m%dT%H%M%SZ", now)
        trial = _trial(folder, acceptance, mark, quick)
        return accept(trial, arms, artifacts=Artifacts(paths.home / "accept" / mark), say=say)


class StackArms:
    """Both arms of one installed release; the planned one is what its compose.yaml says."""

    def __init__(
        self,
        paths: StackPaths,
        folder: StackFolder,
        acceptance: Acceptance,
        ports: Ports,
        say: Say,
    ) -> None:
        self._paths = paths
        self._folder = folder
        self._plan: Plan = folder.plan
        self._acceptance = acceptance
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
        with tempfile.TemporaryDirectory(prefix="speccompose-accept-") as folder:
            overrides: Tuple[Path, ...] = ()
            if arm == BASELINE:
                overrides = (self._write_override(Path(folder)),)
            self._compose(overrides).up()
        container = self._wait()
        wanted = self._acceptance.baseline_command if arm == BASELINE else self._plan.command
        if container.command != wanted:
            raise DeviceError(
                HEALTH,
                f"the {arm} arm of {self._plan.name} runs another command than planned",
                [f"planned: {' '.join(wanted)}", f"runs: {' '.join(container.command)}"],
                code="wrong_arm",
            )
        return self._served()

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
        record = state.Record(phase, digest=self._plan.digest, container=container)
        state.save_on_full_disk(self._paths, record)

    def _stuck(self, brief: str, why: Sequence[str]) -> DeviceError:
        return DeviceError(
            ROLLBACK_INCOMPLETE,
            brief,
            why,
            hint=f"mend the cause, then: speccompose deploy {self._plan.name}",
            code="stuck",
        )

    def _served(self) -> Served:
        plan = self._plan
        endpoint = Endpoint(plan.local_host, plan.port, plan.served_name, self._key)
        return Served(endpoint, self._ports.connect(plan, self._key))

    def _wait(self) -> ContainerInfo:
        keys = () if self._key is None else (self._key,)
        server = self._ports.connect(self._plan, self._key)
        return Waiter(self._ports, self._plan, server, keys, self._say).wait()

    def _compose(self, overrides: Tuple[Path, ...]) -> Compose:
        return Compose(self._ports.docker, self._plan.project, self._folder.path, overrides)

    def _write_override(self, folder: Path) -> Path:
        """JSON is YAML to Compose; a dollar sign would start a variable, so it is doubled."""
        command = [word.replace("$", "$$") for word in self._acceptance.baseline_command]
        path = folder / "baseline.yaml"
        body = {"services": {self._plan.service: {"command": command}}}
        path.write_text(json.dumps(body), encoding="utf-8")
        return path


def _current(paths: StackPaths) -> StackFolder:
    digest = state.linked_digest(paths.current)
    if digest is None:
        raise DeviceError(USAGE, f"{paths.name} has no current release", code="nothing_installed")
    return read_stack(paths.release(digest))


def _acceptance(folder: StackFolder) -> Acceptance:
    path = folder.path / "acceptance.json"
    try:
        text = read_small_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise DeviceError(
            DATA,
            f"{folder.plan.name} carries no acceptance rules",
            [f"{path}: {error}"],
            hint="render the stack again",
            code="incomplete_stack",
        ) from None
    acceptance = parse_acceptance(text, str(path))
    if not acceptance.speculation_expected:
        raise DeviceError(
            USAGE,
            f"{folder.plan.name} does not speculate, so there is nothing to accept",
            [f"method: {folder.plan.method}"],
            hint="plan it with a speculation method first",
            code="nothing_to_accept",
        )
    return acceptance


def _trial(folder: StackFolder, acceptance: Acceptance, mark: str, quick: bool) -> Trial:
    rules = acceptance.rules
    if quick:
        most = max(rules.min_repeats, min(rules.max_repeats, QUICK_REPEATS))
        rules = rules._replace(max_repeats=most)
    pace = quick_pace(rules.output_tokens) if quick else full_pace(rules.output_tokens)
    return Trial(rules, pace, mark, acceptance.synthetic, _sequences(folder))


def _sequences(folder: StackFolder) -> Optional[int]:
    """How many requests the engine runs at once, as the plan says."""
    body = json.loads((folder.path / "plan.json").read_text(encoding="utf-8"))
    memory = body.get("memory")
    value = memory.get("sequences") if isinstance(memory, dict) else None
    return value if isinstance(value, int) else None
