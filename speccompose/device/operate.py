"""What an operator asks of an installed stack: status, logs, verify, stop, remove.

Layer: device (standard library, Python 3.8). Starting is ``transaction.deploy`` of the installed
release, stopping and removing are in ``take_down``. An unknown stack is status 2 with the names
that are known.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from speccompose.device import command, state
from speccompose.device.api_key import installed_key, installed_keys
from speccompose.device.docker_cli import LOOK_S, ContainerInfo
from speccompose.device.errors import HEALTH, USAGE, DeviceError
from speccompose.device.held import hold_reason
from speccompose.device.machine import Machine
from speccompose.device.paths import Roots, StackPaths, find_stack, known_stacks
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Say, silent
from speccompose.device.prove import Proof, prove
from speccompose.device.redact import RedactedLines, redact
from speccompose.device.release import release_fault, release_plan
from speccompose.device.watch_file import watch_notices


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


def status(name: str, roots: Roots, *, ports: Ports) -> Status:
    """How a stack stands; a damaged release is told in ``notice``.

    Raises:
        DeviceError: 2 for an unknown stack, 15 when docker does not answer within ``LOOK_S``.
    """
    paths = find_stack(name, roots, traces=True)
    record = state.load(paths)
    digest = state.linked_digest(paths.current)
    plan, fault = release_plan(paths, digest), release_fault(paths, digest)
    container = _container(paths, plan, ports._replace(docker=ports.docker.within(LOOK_S)))
    notices = [] if record.notice is None else [record.notice]
    if fault is not None:
        notices.append(f"release damaged: {fault.details[-1]}")
    notices += _transaction_notices(paths, record, ports.machine)
    notices += watch_notices(paths, record)
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


def _transaction_notices(paths: StackPaths, record: state.Record, machine: Machine) -> List[str]:
    """Whose transaction is open and until when, how the last one failed, and what holds it."""
    found = []
    if record.confirm_by is not None:
        left_s = max(0, round(record.confirm_by.left_s(machine)))
        found.append(f"rolled back in {left_s} s unless confirmed")
    if record.is_open and record.owner is not None:
        found.append(f"open: {record.owner.who}")
    if record.last is not None and record.last.result != state.COMMITTED and not record.is_open:
        found.append(f"the last deploy was undone: {record.last.reason or record.last.code}")
    held = hold_reason(paths)
    return found if held is None else [*found, f"held: {held}"]


def health(name: str, roots: Roots, *, ports: Ports) -> Status:
    """How a stack stands, if it is up and healthy and its server says so too; no tokens asked for.

    Raises:
        DeviceError: status 9 when it is not, else as ``status``.
    """
    found = status(name, roots, ports=ports)
    plan = release_plan(find_stack(name, roots), found.digest)
    up = found.state == "running" and found.health in (None, "healthy") and plan is not None
    reply = None if not up or plan is None else ports.connect(plan, None).health(plan.health.path)
    if reply is None or reply.status != 200:
        said = "nothing" if reply is None else str(reply.status or reply.body)
        raise DeviceError(
            HEALTH,
            f"{name} is not healthy",
            [
                f"container {found.state or 'missing'}, health {found.health or 'unchecked'}",
                f"the server says: {said}",
            ],
            hint=f"see its log: speccompose logs {name}",
            code="unhealthy",
        )
    return found


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
    command.stream(ports.docker.follow(container.id, tail), lines.feed, None)
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
