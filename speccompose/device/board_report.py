"""One stack on this board becomes what a controller asks of it, in one flat object.

Layer: device (standard library, Python 3.8). Read only, no lock: it can be asked at any time, also
while a deploy is under way. A stack that was never here is ``idle``. With a rendered folder it also
says what would keep that one from being deployed (``unfit``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Optional

from speccompose.device import state
from speccompose.device.admission import refusals
from speccompose.device.docker_cli import LOOK_S, ContainerInfo
from speccompose.device.errors import LOCKED, PENDING, PREFLIGHT, DeviceError
from speccompose.device.gate import preflight_before_pull
from speccompose.device.held import hold_reason
from speccompose.device.order import Order
from speccompose.device.paths import Roots, StackPaths
from speccompose.device.ports import Ports
from speccompose.device.preflight import ERROR
from speccompose.device.release import claimed_plan
from speccompose.device.stack_folder import read_stack
from speccompose.device.standing import peek

Report = Dict[str, object]
POLL_S = 0.5
_NOT_UNFIT = (LOCKED, PENDING)
"""Another rollout and a held board have their own words."""


def board_report(name: str, roots: Roots, *, ports: Ports) -> Report:
    """How the stack stands, and how its last transaction did.

    ``state`` is the phase; ``target`` what the last transaction was to bring, ``digest`` what is
    committed, ``reason`` and ``message`` why it was rolled back.
    """
    paths = StackPaths(name, roots)
    container = _container(paths, ports)
    return {
        "name": name,
        **_transaction(paths, ports),
        "healthy": _healthy(container),
        "restarts": 0 if container is None else container.restarts,
        "hold": hold_reason(paths),
        "boot": ports.machine.boot_id(),
        "clock": round(ports.machine.wall_s(), 3),
    }


def wait_report(name: str, roots: Roots, *, ports: Ports, left: str, within_s: float) -> Report:
    """The same, once the state is another than ``left``, or after ``within_s``."""
    paths, machine = StackPaths(name, roots), ports.machine
    until = machine.now_s() + within_s
    while state.load(paths).phase == left and machine.now_s() < until:
        machine.sleep(POLL_S)
    return board_report(name, roots, ports=ports)


def unfit(folder: Path, roots: Roots, *, ports: Ports, order: Order) -> List[Report]:
    """Why a rendered folder could not be deployed here, though everything were pulled.

    Raises:
        DeviceError: 3 and 19 for a bad folder.
    """
    found: List[Report] = [
        {"code": item.code, "message": item.message}
        for item in preflight_before_pull(folder, roots, ports=ports)
        if item.severity == ERROR
    ]
    stack = read_stack(folder)
    paths = StackPaths(stack.plan.name, roots)
    try:
        now = peek(paths, stack.plan, ports)
    except DeviceError as error:
        return found if error.status == PREFLIGHT else [*found, _said(error)]
    refused = refusals(stack, paths, ports=ports, order=order, now=now)
    return [*found, *(_said(error) for error in refused if error.status not in _NOT_UNFIT)]


def _transaction(paths: StackPaths, ports: Ports) -> Report:
    record = state.load(paths)
    is_open = record.is_open or record.phase == state.STUCK
    before = record.before if is_open else None
    owner, last, by = record.owner, record.last, record.confirm_by
    linked = state.linked_digest(paths.previous)
    return {
        "state": record.phase,
        "rollout": owner.rollout if owner else last.rollout if last else None,
        "target": record.digest if record.is_open else last.digest if last else None,
        "digest": record.digest if before is None else before.current,
        "previous": linked if before is None else before.previous,
        "reason": last.code if last and not record.is_open else None,
        "message": last.reason if last and not record.is_open else None,
        "accepted_length": record.accepted_length,
        "counter": record.counter,
        "confirm_within_s": None if by is None else round(by.left_s(ports.machine)),
    }


def _said(error: DeviceError) -> Report:
    return {"code": error.code, "message": "; ".join((error.brief, *error.details))}


def _container(paths: StackPaths, ports: Ports) -> Optional[ContainerInfo]:
    """The container; None also where docker does not answer: the phase is known all the same."""
    plan = claimed_plan(paths, state.linked_digest(paths.current))
    project = f"speccompose-{paths.name}" if plan is None else plan.project
    try:
        docker = ports.docker.within(LOOK_S)
        return docker.container(project, "server" if plan is None else plan.service)
    except DeviceError:
        return None


def _healthy(container: Optional[ContainerInfo]) -> Optional[bool]:
    if container is None:
        return None
    return container.running and container.health in (None, "healthy")
