"""A release that waits for its confirmation becomes the committed one, or is rolled back.

Layer: device (standard library, Python 3.8).

    confirm(name, ...)   whoever ordered the deploy has reached the board again   -> committed
    expire(name, ...)    its timer fired, or somebody gives it up                 -> rolled back

Both may be called again and again. What was rolled back is never confirmed afterwards.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional

from speccompose.device import state
from speccompose.device.claim import refuse_other
from speccompose.device.commit import arm_confirm, call_off, commit
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import DEPLOY, HEALTH, USAGE, DeviceError
from speccompose.device.expire_command import expire_argv
from speccompose.device.file_faults import unwritable
from speccompose.device.lock import hold
from speccompose.device.paths import Roots, StackPaths, find_stack
from speccompose.device.ports import Ports, Progress, Say, silent
from speccompose.device.recover import give_up_staged, settle, waits
from speccompose.device.restore import restore
from speccompose.device.service import align_service, enable_service
from speccompose.device.stack_folder import read_stack

CONFIRM_PATIENCE_S = 30.0
EXPIRE_PATIENCE_S = 3600.0
"""A measurement may hold the stack when the time is over; the timer fires only once."""

AGAIN_S = 60.0
"""When the timer is set anew because docker is down: nobody else would try again before a boot."""

EARLY_S = 2.0
"""Timers of the init process are rounded to seconds."""


class Settled(NamedTuple):
    """How a stack stands after a confirmation or the lack of one."""

    name: str
    changed: bool
    phase: str
    digest: Optional[str]
    done: Optional[str] = None

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        return {**self._asdict(), "result": self.phase if self.changed else "already"}


def confirm(
    name: str, roots: Roots, *, ports: Ports, rollout: Optional[str] = None, say: Say = silent
) -> Settled:
    """Commit what is unconfirmed; what is committed already stays so.

    Raises:
        DeviceError: 2 for an unknown stack or nothing to confirm, 8 when it was rolled back or it
            is too late (it is rolled back then), 9 when it does not run any more, 12 when it is
            another rollout's or being changed.
    """
    paths = find_stack(name, roots, traces=True)
    with hold(
        paths, "confirm", rollout=rollout, machine=ports.machine, patience_s=CONFIRM_PATIENCE_S
    ):
        record = state.load(paths)
        if rollout is not None:
            refuse_other(name, record, rollout, ports.machine)
        if record.phase != state.UNCONFIRMED:
            return _nothing_to_confirm(paths, record, rollout)
        if not waits(record, ports):
            done = settle(paths, ports=ports, say=say)
            raise _too_late(name, f"the confirmation came too late: {done}")
        _commit(paths, record, ports)
        call_off(name, ports)
        notices = align_service(paths, ports)
        return Settled(name, True, state.COMMITTED, record.digest, "; ".join(notices) or None)


def expire(
    name: str, roots: Roots, *, ports: Ports, rollout: Optional[str] = None, say: Say = silent
) -> Settled:
    """Called by the timer: roll back what is still unconfirmed, and nothing else.

    A timer of an earlier rollout finds nothing of its own. One that fires too early is set again,
    and so is one that finds docker down: with nobody to start the old stack, it would be stuck.

    Raises:
        DeviceError: 12 when the stack is being changed for an hour, 14 when it is stuck, 15 when
            docker is down (it stays as it is, and is tried again in a minute).
    """
    return _end(name, roots, ports=ports, rollout=rollout, say=say, early=False)


def give_up(
    name: str, roots: Roots, *, ports: Ports, rollout: Optional[str] = None, say: Say = silent
) -> Settled:
    """Roll back what is open, staged and unconfirmed releases too; what is committed stays.

    Raises:
        DeviceError: as ``expire``; 12 also for another rollout's; with 15 it stays as it is.
    """
    return _end(name, roots, ports=ports, rollout=rollout, say=say, early=True)


def _end(
    name: str,
    roots: Roots,
    *,
    ports: Ports,
    rollout: Optional[str],
    say: Say,
    early: bool,
) -> Settled:
    paths = find_stack(name, roots, traces=True)
    patience_s = CONFIRM_PATIENCE_S if early else EXPIRE_PATIENCE_S
    verb = "rollback" if early else "expire"
    with hold(paths, verb, rollout=rollout, machine=ports.machine, patience_s=patience_s):
        record = state.load(paths)
        owner = record.owner.rollout if record.owner else None
        if not record.is_open or (not early and owner != rollout):
            return Settled(name, False, record.phase, state.linked_digest(paths.current))
        if early and rollout is not None:
            refuse_other(name, record, rollout, ports.machine)
        done = _undone(paths, record, ports=ports, say=say, early=early)
        now = state.load(paths)
        return Settled(name, done is not None, now.phase, now.digest, done)


def _undone(
    paths: StackPaths, record: state.Record, *, ports: Ports, say: Say, early: bool
) -> Optional[str]:
    before, digest = record.before, record.digest
    if before is None or digest is None:
        return None
    if record.phase == state.STAGED:
        return give_up_staged(paths, record, before) if early else None
    left_s = 0.0 if record.confirm_by is None else record.confirm_by.left_s(ports.machine)
    if record.phase == state.UNCONFIRMED and not early and left_s > EARLY_S:
        _set_again(paths, record, left_s, ports)
        return None
    try:
        ports.docker.info()
    except DeviceError:
        if not early:
            _set_again(paths, record, AGAIN_S, ports)
        raise
    brief = "it was given up" if early else "nobody confirmed it in time"
    code = "given_up" if early else "expired"
    say(Progress("restore", brief))
    cause = DeviceError(DEPLOY, brief, code=code)
    done = restore(paths, before, digest, ports=ports, say=say, cause=cause)
    align_service(paths, ports)
    return done


def _set_again(paths: StackPaths, record: state.Record, after_s: float, ports: Ports) -> None:
    owner = record.owner.rollout if record.owner else None
    arm_confirm(paths.name, after_s, expire_argv(paths, str(record.digest), owner), ports)


def _commit(paths: StackPaths, record: state.Record, ports: Ports) -> None:
    release = read_stack(paths.release(str(record.digest)))
    container = ports.docker.container(release.plan.project, release.plan.service)
    if container is None or not container.running or container.health == "unhealthy":
        raise DeviceError(
            HEALTH,
            f"{paths.name} cannot be confirmed: it does not serve any more",
            [_seen(container)],
            hint="roll it back: rollback --unconfirmed; or its timer does",
            code="not_running",
        )
    digest = release.plan.digest
    enable_service(paths, digest, record.before, ports)  # a fault is told by align_service, later
    try:
        commit(paths, record, release, container)
    except OSError as error:
        raise unwritable(f"{paths.name} cannot be committed", error) from error


def _seen(container: Optional[ContainerInfo]) -> str:
    if container is None:
        return "no container"
    return f"container {container.status}, health {container.health or 'unchecked'}"


def _nothing_to_confirm(paths: StackPaths, record: state.Record, rollout: Optional[str]) -> Settled:
    last = record.last
    mine = last is not None and (rollout is None or last.rollout == rollout)
    if record.phase == state.COMMITTED and (mine or (last is None and rollout is None)):
        return Settled(paths.name, False, record.phase, record.digest)
    if last is not None and mine and last.result != state.COMMITTED:
        raise _too_late(paths.name, f"it was rolled back: {last.reason or last.code}")
    whose = f" of rollout {rollout}" if rollout else ""
    raise DeviceError(
        USAGE,
        f"{paths.name} has nothing{whose} to confirm",
        [f"it is {record.phase}"],
        code="nothing_to_confirm",
    )


def _too_late(name: str, reason: str) -> DeviceError:
    return DeviceError(
        DEPLOY,
        f"{name} cannot be confirmed any more",
        [reason],
        hint="deploy it again",
        code="not_confirmed",
    )
