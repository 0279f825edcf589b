"""A board and a plan become what stands in the plan's place now, before anything is changed.

Layer: device (standard library, Python 3.8). The first step of ``transaction``: what ran before
decides what a failed deploy goes back to, and whether there is anything to do at all.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from speccompose.device import state
from speccompose.device.api_key import Secret, confirm, planned_secret, unconfirmed
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import DeviceError
from speccompose.device.paths import StackPaths
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports
from speccompose.device.preflight import check_stack, refuse
from speccompose.device.release import release_fault


class Standing(NamedTuple):
    """``running`` is our container, if it runs; ``notes`` are for people."""

    record: state.Record
    running: Optional[ContainerInfo]
    before: state.Before
    notes: Tuple[str, ...]


def look(paths: StackPaths, plan: Plan, ports: Ports) -> Standing:
    """See what stands; a damaged state.json is set aside.

    Raises:
        DeviceError: status 15, when docker cannot be asked.
        OSError: the state tree cannot be written.
    """
    record = state.set_damaged_aside(paths, state.load(paths))
    if not record.is_open and record.phase != state.STUCK:
        confirm(paths)  # a crash right after the commit left it
    return _seen(paths, plan, ports, record)


def peek(paths: StackPaths, plan: Plan, ports: Ports) -> Standing:
    """The same, and nothing is touched.

    Raises:
        DeviceError: status 15, when docker cannot be asked.
    """
    return _seen(paths, plan, ports, state.load(paths))


def _seen(paths: StackPaths, plan: Plan, ports: Ports, record: state.Record) -> Standing:
    notes: List[str] = []
    if record.notice is not None:
        notes.append(record.notice)
    running = _running(paths, plan, ports)
    before = _before(paths, record, running, notes)
    if before.running and before.current != plan.digest and release_fault(paths, before.current):
        notes.append("the release that serves is damaged: it cannot be brought back")
    return Standing(record, running, before, tuple(notes))


def glance(paths: StackPaths, plan: Plan, ports: Ports) -> Optional[Standing]:
    """What stands, if that is this plan, whole and proved: seen without lock and without a write.

    None when anything is to be done, or may be: then ``look`` sees to it under the lock.
    """
    record = state.load(paths)
    current = state.linked_digest(paths.current)
    if record.notice is not None or record.phase not in state.SERVING or current != plan.digest:
        return None
    if unconfirmed(paths) or release_fault(paths, current) is not None:
        return None
    try:
        secret = planned_secret(plan, paths, is_installed=True)
        found = ports.docker.container(plan.project, plan.service)
        running = found if found is not None and found.running else None
        previous = state.linked_digest(paths.previous)
        before = state.Before(current, previous, running is not None, record.phase)
        now = Standing(record, running, before, ())
        return now if serves_already(now, plan, secret, paths, ports=ports) else None
    except DeviceError:
        return None


def serves_already(
    now: Standing, plan: Plan, secret: Optional[Secret], paths: StackPaths, *, ports: Ports
) -> bool:
    """Whether the plan's own container runs, proved and healthy, with the key that it shall have.

    The files of its release are not looked at: they can be mended while it serves.
    """
    running = now.running
    if running is None or now.record.phase not in state.SERVING:
        return False
    if state.linked_digest(paths.current) != plan.digest or not _fits(running, plan):
        return False
    if running.health not in (None, "healthy") or (secret and not secret.installed):
        return False
    return ports.connect(plan, None).health(plan.health.path).status == 200


def _running(paths: StackPaths, plan: Plan, ports: Ports) -> Optional[ContainerInfo]:
    """Our container. A daemon that does not answer is preflight's finding, with all others."""
    try:
        found = ports.docker.container(plan.project, plan.service)
    except DeviceError as error:
        refuse(check_stack(ports, plan, paths.roots, own=None, running=None))
        raise error
    return found if found is not None and found.running else None


def _before(
    paths: StackPaths, record: state.Record, running: Optional[ContainerInfo], notes: List[str]
) -> state.Before:
    if record.before is not None:
        if record.phase == state.UNCONFIRMED:
            notes.append("an unconfirmed release stands; what stood before it counts as before")
        elif record.phase != state.STAGED:
            notes.append("an earlier deploy was cut short; what stood before it counts as before")
        return record.before
    return state.Before(
        current=state.linked_digest(paths.current),
        previous=state.linked_digest(paths.previous),
        running=running is not None,
        phase=record.phase,
    )


def _fits(container: ContainerInfo, plan: Plan) -> bool:
    """Whether a container runs what the plan says, however it came to be."""
    runs = (container.image, container.entrypoint, container.command)
    return runs == (plan.image, plan.entrypoint, plan.command)
