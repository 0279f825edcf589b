"""A switch that did not hold becomes what stood before it.

Layer: device (standard library, Python 3.8). Used when a deploy fails or is interrupted, and when
a crash left one unconfirmed. What ran before runs again; what did not, does not; on a first
install nothing is left. Only when the old release cannot be brought back is the stack stuck.
A full disk is no reason not to: the old stack is started first, and written down if possible.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import List, Optional, Sequence

from speccompose.device import state
from speccompose.device.api_key import installed_key, put_back
from speccompose.device.compose_cli import Compose
from speccompose.device.errors import ROLLBACK_INCOMPLETE, DeviceError
from speccompose.device.file_faults import unwritable
from speccompose.device.health import Waiter
from speccompose.device.interrupts import uninterrupted
from speccompose.device.lock import hold
from speccompose.device.paths import Roots, StackPaths, find_stack
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Progress, Say, silent, unbreakable
from speccompose.device.stack_folder import read_stack


def restore(
    paths: StackPaths, before: state.Before, attempted: str, *, ports: Ports, say: Say
) -> str:
    """Undo the switch to ``attempted``; returns what is so now, as one line.

    Raises:
        DeviceError: status 14 when the previous release does not serve again.
    """
    with uninterrupted():
        try:
            return _restored(paths, before, attempted, ports=ports, say=unbreakable(say))
        except _UnwrittenError as error:
            raise _stuck(f"{error.now}, but that could not be written down", error.faults, paths)
        except (DeviceError, OSError) as error:
            why = [error.brief, *error.details] if isinstance(error, DeviceError) else [str(error)]
            record = state.Record(state.STUCK, digest=before.current, before=before)
            try:
                state.save_on_full_disk(paths, record)
            except OSError as unwritten:
                why.append(f"state.json could not be written: {unwritten}")
            brief = f"{paths.name}: the previous stack could not be restored"
            raise _stuck(brief, why, paths) from error


def recover(name: str, roots: Roots, *, ports: Ports, say: Say = silent) -> Optional[str]:
    """Finish a transaction that a crash or power cut left: unconfirmed means rolled back.

    Returns what was done, None when there was nothing to do.

    Raises:
        DeviceError: 2 for an unknown stack, 12 when it is being changed, 14 when it is stuck.
    """
    paths = find_stack(name, roots)
    with hold(paths, "recover"):
        return settle(paths, ports=ports, say=say)


def settle(paths: StackPaths, *, ports: Ports, say: Say, start: bool = True) -> Optional[str]:
    """Roll back a switch that is open, under the stack's lock, before anything else is changed.

    Returns what was done, None when none was open. Without ``start`` nothing is started, whatever
    ran before: for those who are about to stop it. Of a stack that is stuck the links go back.

    Raises:
        DeviceError: 14 when it cannot be rolled back, 15 when the state tree cannot be written.
    """
    try:
        record = state.set_damaged_aside(paths, state.load(paths))
    except OSError as error:
        raise unwritable(f"cannot write below {paths.home}", error) from error
    if record.before is None:
        return None
    if record.phase == state.SWITCHING and record.digest is not None:
        say(Progress("restore", "an unfinished deploy was found"))
        before = record.before if start else record.before._replace(running=False)
        return restore(paths, before, record.digest, ports=ports, say=say)
    faults = [] if record.before.current is None else _links_back(paths, record.before)
    if faults:
        raise _stuck(f"{paths.name}: the links cannot be put back", faults, paths)
    return None


class _UnwrittenError(Exception):
    """The board is as it should be (``now`` says how), but its files do not say so."""

    def __init__(self, now: str, faults: Sequence[str]) -> None:
        super().__init__(now)
        self.now = now
        self.faults = faults


def _restored(
    paths: StackPaths, before: state.Before, attempted: str, *, ports: Ports, say: Say
) -> str:
    key_is_back = put_back(paths)
    if before.current is None:
        return _leave_nothing(paths, attempted, ports)
    if before.current == attempted and not key_is_back:
        return _leave_stopped(paths, before, ports)
    return _bring_back(paths, before, attempted, ports=ports, say=say, recreate=key_is_back)


def _leave_nothing(paths: StackPaths, attempted: str, ports: Ports) -> str:
    """First install: containers, links, the release and the stack's folder go."""
    _compose(paths, attempted, ports).down()
    state.point(paths.current, None)
    state.point(paths.previous, None)
    with suppress(OSError):  # it goes anyway
        state.save(paths, state.Record(state.IDLE))
    shutil.rmtree(str(paths.home), ignore_errors=True)
    with suppress(OSError):  # it goes where no key is in it
        paths.secrets.rmdir()
    return "first install: nothing is left running"


def _leave_stopped(paths: StackPaths, before: state.Before, ports: Ports) -> str:
    """The release that is installed failed by itself: there is nothing else to go back to."""
    digest = str(before.current)
    _compose(paths, digest, ports).stop()
    now = "the installed release does not serve any more; it was stopped"
    return _written(paths, state.Record(state.FAILED, digest=digest), now, [])


def _bring_back(
    paths: StackPaths,
    before: state.Before,
    attempted: str,
    *,
    ports: Ports,
    say: Say,
    recreate: bool,
) -> str:
    """``recreate`` lets the server read its old key again; the release may be the same one."""
    old = str(before.current)
    faults = _links_back(paths, before)
    if not before.running:
        _compose(paths, attempted, ports).down()
        now = "the stack was stopped before, and is stopped again"
        return _written(paths, state.Record(state.STOPPED, digest=old), now, faults)
    say(Progress("restore", "bringing the previous stack back"))
    plan = read_stack(paths.release(old)).plan
    Compose(ports.docker, plan.project, paths.release(old)).up(recreate)
    container = _wait(paths, plan, ports=ports, say=say)
    record = state.Record(state.COMMITTED, digest=old, container=container)
    return _written(paths, record, f"previous stack restored ({old[:19]})", faults)


def _links_back(paths: StackPaths, before: state.Before) -> List[str]:
    """Put both links back where they are not; what could not be done is returned."""
    faults = []
    for link, digest in ((paths.current, before.current), (paths.previous, before.previous)):
        try:
            if digest is None or state.linked_digest(link) != digest:
                state.point(link, digest)
        except OSError as error:
            faults.append(f"link {link.name}: {error}")
    return faults


def _written(paths: StackPaths, record: state.Record, now: str, faults: List[str]) -> str:
    """Write down how it ended; while the links are wrong it stays an open transaction."""
    try:
        if not faults:
            state.save_on_full_disk(paths, record)
    except OSError as error:
        faults = [f"state.json: {error}"]
    if faults:
        raise _UnwrittenError(now, faults)
    return now


def _stuck(brief: str, why: Sequence[str], paths: StackPaths) -> DeviceError:
    return DeviceError(
        ROLLBACK_INCOMPLETE,
        brief,
        why,
        hint=f"mend the cause, then: speccompose deploy {paths.name}",
        code="stuck",
    )


def _wait(paths: StackPaths, plan: Plan, *, ports: Ports, say: Say) -> str:
    key = installed_key(plan, paths)
    keys: Sequence[str] = () if key is None else (key,)
    return Waiter(ports, plan, ports.connect(plan, key), keys, say).wait().id


def _compose(paths: StackPaths, digest: str, ports: Ports) -> Compose:
    return Compose(ports.docker, f"speccompose-{paths.name}", paths.release(digest))
