"""What an operator asks of an installed stack: status, logs, verify, stop, remove.

Layer: device (standard library, Python 3.8). Starting is ``transaction.deploy`` of the installed
release. An unknown stack is status 2 with the names that are known.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from speccompose.device import command, state
from speccompose.device.api_key import installed_key, installed_keys
from speccompose.device.compose_cli import Compose
from speccompose.device.docker_cli import LOOK_S, ContainerInfo
from speccompose.device.errors import HEALTH, USAGE, DeviceError
from speccompose.device.file_faults import unwritable
from speccompose.device.lock import hold
from speccompose.device.paths import Roots, StackPaths, find_stack, known_stacks
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Say, silent
from speccompose.device.prove import Proof, prove
from speccompose.device.redact import RedactedLines, redact
from speccompose.device.release import release_fault, release_plan
from speccompose.device.restore import settle


class Status(NamedTuple):
    """One stack as it stands. Container fields are None when there is no container."""

    name: str
    phase: str
    digest: Optional[str]
    previous_digest: Optional[str]
    endpoint: Optional[str]
    model: Optional[str]
    method: Optional[str]
    container: Optional[str]
    state: Optional[str]
    health: Optional[str]
    started_at: Optional[str]
    restarts: Optional[int]
    notice: Optional[str]

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        return dict(self._asdict())


class Removed(NamedTuple):
    """What `remove` took away."""

    name: str
    weights: Tuple[str, ...]


def status(name: str, roots: Roots, *, ports: Ports) -> Status:
    """How a stack stands; a damaged release is told in ``notice``.

    Raises:
        DeviceError: 2 for an unknown stack, 15 when docker does not answer within ``LOOK_S``.
    """
    paths = find_stack(name, roots)
    record = state.load(paths)
    digest = state.linked_digest(paths.current)
    plan, fault = release_plan(paths, digest), release_fault(paths, digest)
    container = _container(paths, plan, ports._replace(docker=ports.docker.within(LOOK_S)))
    notices = [] if record.notice is None else [record.notice]
    if fault is not None:
        notices.append(f"release damaged: {fault.details[-1]}")
    return Status(
        name=name,
        phase=record.phase,
        digest=digest,
        previous_digest=state.linked_digest(paths.previous),
        endpoint=None if plan is None else plan.endpoint,
        model=None if plan is None else plan.served_name,
        method=None if plan is None else plan.method,
        container=None if container is None else container.id,
        state=None if container is None else container.status,
        health=None if container is None else container.health,
        started_at=None if container is None else container.started_at,
        restarts=None if container is None else container.restarts,
        notice="; ".join(notices) or None,
    )


def all_status(roots: Roots, *, ports: Ports) -> List[Status]:
    """All stacks of this board."""
    return [status(name, roots, ports=ports) for name in known_stacks(roots)]


def logs(name: str, roots: Roots, *, ports: Ports, tail: int = 200) -> str:
    """The last lines of the server's log, without secrets."""
    paths, container = _present(name, roots, ports)
    return redact(ports.docker.logs(container.id, tail), installed_keys(paths))


def follow_logs(
    name: str, roots: Roots, *, ports: Ports, on_text: Callable[[str], None], tail: int = 200
) -> None:
    """Hand on the log as it grows, until the container ends or we are interrupted."""
    paths, container = _present(name, roots, ports)
    lines = RedactedLines(on_text, installed_keys(paths))
    argv = ("docker", "logs", "--follow", "--tail", str(tail), container.id)
    command.stream(argv, lines.feed, None)
    lines.finish()


def verify(name: str, roots: Roots, *, ports: Ports, say: Say = silent) -> Proof:
    """Health, one real answer, speculation, version; nothing is changed.

    Raises:
        DeviceError: status 9 when any of it fails, 19 when the installed release is damaged.
    """
    paths = find_stack(name, roots)
    digest = state.linked_digest(paths.current)
    fault = release_fault(paths, digest)
    if fault is not None:
        raise fault
    plan = release_plan(paths, digest)
    container = None if plan is None else ports.docker.container(plan.project, plan.service)
    if plan is None or container is None or not container.running:
        found = "no container" if container is None else f"container {container.status}"
        raise DeviceError(
            HEALTH,
            f"{name} does not run",
            [found],
            hint=f"start it: speccompose deploy {name}",
            code="not_running",
        )
    server = ports.connect(plan, installed_key(plan, paths))
    reply = server.health(plan.health.path)
    if reply.status != 200:
        said = f"status {reply.status}" if reply.status else reply.body
        raise DeviceError(
            HEALTH, f"{name} is not healthy", [f"{plan.health.path}: {said}"], code="unhealthy"
        )
    return prove(ports, plan, container, server, say)


def stop(name: str, roots: Roots, *, ports: Ports) -> None:
    """Stop a stack; it stays installed and `deploy NAME` starts it again.

    A deploy that was cut short is rolled back first: what never proved itself does not stay.

    Raises:
        DeviceError: 2 when nothing is installed (any more), 12 locked, 14 when a deploy that was
            cut short cannot be rolled back, 15 when docker is down or the disk is full.
    """
    paths = find_stack(name, roots)
    with hold(paths, "stop"):
        ports.docker.info()
        done = settle(paths, ports=ports, say=silent, start=False)
        digest = state.linked_digest(paths.current)
        if digest is None:
            brief = f"{name} has no release to stop"
            why = [] if done is None else [f"its deploy was cut short: {done}"]
            raise DeviceError(USAGE, brief, why, code="nothing_installed")
        _compose(paths, digest, ports).stop()
        try:
            state.save_on_full_disk(paths, state.Record(state.STOPPED, digest=digest))
        except OSError as error:
            raise unwritable(f"{name} is stopped, but that could not be written down", error)


def remove(
    name: str, roots: Roots, *, ports: Ports, volumes: bool = False, weights: bool = False
) -> Removed:
    """Take a stack off this board.

    Compile caches stay unless ``volumes``; weights stay unless ``weights``, and then only those
    that no other stack uses go.

    Raises:
        DeviceError: 2 for an unknown stack, 12 locked, 15 when docker is down or the folder stays,
            19 when ``weights`` are asked for and another stack's release is damaged.
    """
    paths = find_stack(name, roots)
    with hold(paths, "remove"):
        ports.docker.info()
        digests = _digests(paths)
        directories = _directories(paths, digests)
        shared = _used_by_others(name, roots) if weights else set()
        for digest in digests[:1]:
            _compose(paths, digest, ports).down(volumes=volumes)
        try:
            shutil.rmtree(str(paths.home))
        except OSError as error:
            raise unwritable(f"{name} runs no more, but its folder cannot be removed", error)
        shutil.rmtree(str(paths.secrets), ignore_errors=True)
        taken = sorted(directories - shared) if weights else []
        for directory in taken:
            shutil.rmtree(str(roots.models / directory), ignore_errors=True)
        paths.lock_file.unlink()
    return Removed(name, tuple(taken))


def installed_folder(name: str, roots: Roots) -> Path:
    """The current release of a stack, to be deployed again.

    While a switch is open that is the one before it: the other never proved itself.
    """
    paths = find_stack(name, roots)
    before = state.load(paths).before
    digest = None if before is None else before.current
    if digest is None:
        digest = state.linked_digest(paths.current)
    if digest is None:
        raise DeviceError(USAGE, f"{name} has no current release", code="nothing_installed")
    return paths.release(digest)


def _present(name: str, roots: Roots, ports: Ports) -> Tuple[StackPaths, ContainerInfo]:
    """A stack and its container, found by its project: also where the release is damaged."""
    paths = find_stack(name, roots)
    plan = release_plan(paths, state.linked_digest(paths.current))
    container = _container(paths, plan, ports)
    if container is None:
        raise DeviceError(USAGE, f"{name} has no container, so no log", code="no_container")
    return paths, container


def _container(paths: StackPaths, plan: Optional[Plan], ports: Ports) -> Optional[ContainerInfo]:
    project = f"speccompose-{paths.name}" if plan is None else plan.project
    return ports.docker.container(project, "server" if plan is None else plan.service)


def _compose(paths: StackPaths, digest: str, ports: Ports) -> Compose:
    return Compose(ports.docker, f"speccompose-{paths.name}", paths.release(digest))


def _digests(paths: StackPaths) -> List[str]:
    linked = (state.linked_digest(paths.current), state.linked_digest(paths.previous))
    return [digest for digest in linked if digest is not None]


def _directories(paths: StackPaths, digests: List[str]) -> "set[str]":
    plans = [release_plan(paths, digest) for digest in digests]
    return {item.directory for plan in plans if plan is not None for item in plan.downloads}


def _used_by_others(name: str, roots: Roots) -> "set[str]":
    """Weights that other stacks need.

    Raises:
        DeviceError: status 19, when a damaged release of another stack keeps that from being known.
    """
    used: "set[str]" = set()
    for other in known_stacks(roots):
        if other != name:
            paths = StackPaths(other, roots)
            digests = _digests(paths)
            for fault in (release_fault(paths, digest) for digest in digests):
                if fault is not None:
                    raise fault
            used |= _directories(paths, digests)
    return used
