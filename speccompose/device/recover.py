"""An open transaction whose process is gone becomes a closed one.

Layer: device (standard library, Python 3.8).

    recover(name, ...)      one stack, after a crash                  (under its lock)
    recover_all(...)        every stack of the board, at boot before they start
    settle(paths, ...)      within another verb, which holds the lock

Unconfirmed means rolled back, with one exception: a release that waits for its confirmation, on
the same boot and in time, goes on waiting.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import Dict, List, NamedTuple, Optional

from speccompose.device import state
from speccompose.device.api_key import confirm
from speccompose.device.commit import arm_confirm, call_off, is_armed
from speccompose.device.errors import ROLLBACK_INCOMPLETE, DeviceError
from speccompose.device.expire_command import expire_argv
from speccompose.device.file_faults import unwritable
from speccompose.device.lock import hold
from speccompose.device.paths import (
    REMOVED,
    Roots,
    StackPaths,
    find_stack,
    is_stack_name,
    known_stacks,
)
from speccompose.device.ports import Ports, Progress, Say, silent
from speccompose.device.restore import links_back, restore, stuck
from speccompose.device.service import align_service, keep_down
from speccompose.device.stack_folder import prune


class Recovered(NamedTuple):
    """What was done with one stack; ``error`` when that was not all."""

    name: str
    done: Optional[str]
    phase: Optional[str]
    error: Optional[DeviceError] = None

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        error = None if self.error is None else self.error.as_dict()
        return {"name": self.name, "done": self.done, "phase": self.phase, "error": error}


def recover(name: str, roots: Roots, *, ports: Ports, say: Say = silent) -> Optional[str]:
    """Finish a transaction that a crash or power cut left: unconfirmed means rolled back.

    A stack that was stuck is tried again. Returns what was done, None when there was nothing to
    do.

    Raises:
        DeviceError: 2 for an unknown stack, 12 when it is being changed, 14 when it is stuck, 15
            when docker does not answer (it is left open then: try again).
    """
    paths = find_stack(name, roots, traces=True)
    with hold(paths, "recover", machine=ports.machine):
        return _finish(paths, ports, say)


def recover_all(roots: Roots, *, ports: Ports, say: Say = silent) -> List[Recovered]:
    """Every stack of this board; one that cannot be helped does not keep the others from it."""
    _clear_removed(roots)
    found = []
    for name in known_stacks(roots, traces=True):
        paths = StackPaths(name, roots)
        try:
            done = recover(name, roots, ports=ports, say=say)
            found.append(Recovered(name, done, state.load(paths).phase))
        except DeviceError as error:
            found.append(Recovered(name, None, state.load(paths).phase, error))
    return found


def worst(found: List[Recovered]) -> int:
    """The exit status for all of them: stuck before locked before what docker said."""
    statuses = [item.error.status for item in found if item.error is not None]
    return max(statuses, key=lambda status: (status == ROLLBACK_INCOMPLETE, -status), default=0)


def settle(
    paths: StackPaths,
    *,
    ports: Ports,
    say: Say,
    start: bool = True,
    wait: bool = False,
) -> Optional[str]:
    """Roll back a transaction that is open, under the stack's lock, before another verb goes on.

    Returns what was done, None when none was open. Without ``start`` nothing is started, whatever
    ran before: for those who are about to stop it. With ``wait`` a release that is only staged,
    or waits for its confirmation, is left alone. Of a stack that is stuck the links go back.

    Raises:
        DeviceError: 14 when it cannot be rolled back, 15 when the state tree cannot be written.
    """
    record = _record(paths)
    before = record.before
    if before is None or (wait and (waits(record, ports) or record.phase == state.STAGED)):
        return None
    if record.phase == state.STAGED:
        return give_up_staged(paths, record, before)
    if record.is_open and record.digest is not None:
        say(Progress("restore", "an unfinished deploy was found"))
        target = before if start else before._replace(running=False)
        done = restore(paths, target, record.digest, ports=ports, say=say)
        align_service(paths, ports, start=False)
        return done
    faults = [] if before.current is None else links_back(paths, before)
    if faults:
        raise stuck(f"{paths.name}: the links cannot be put back", faults, paths)
    return None


def waits(record: state.Record, ports: Ports) -> bool:
    """Whether a release waits for its confirmation, and may."""
    if record.phase != state.UNCONFIRMED or record.confirm_by is None:
        return False
    return not record.confirm_by.is_over(ports.machine)


def give_up_staged(paths: StackPaths, record: state.Record, before: state.Before) -> str:
    """Take away a release that was staged and never switched to; what serves is not touched."""
    try:
        if before.current is None and record.last is None:
            shutil.rmtree(str(paths.home))
        else:
            state.save_on_full_disk(paths, record.settled(before.phase, before.current))
            tidy(paths)
    except OSError as error:
        raise unwritable(f"cannot write below {paths.home}", error) from error
    return "a staged release was given up"


def tidy(paths: StackPaths) -> None:
    """Take away what nobody needs: releases that are neither current, previous nor being tried,
    and halves of files."""
    record = state.load(paths)
    before = record.before or state.Before(None, None, False)
    linked = (state.linked_digest(paths.current), state.linked_digest(paths.previous))
    wanted = (*linked, before.current, before.previous, record.digest)
    prune(paths, tuple(digest for digest in wanted if digest is not None))
    if not any(wanted):
        for empty in (paths.releases, paths.home):
            with suppress(OSError):  # it is not empty: then it is something
                empty.rmdir()
    if not record.is_open and record.phase != state.STUCK:
        confirm(paths)  # a crash right after the commit left the old key
    halves = [paths.home / f".{name}.new" for name in ("state.json", "current", "previous")]
    for half in (*halves, *paths.secrets.glob(".*.new")):
        with suppress(OSError):
            half.unlink()


def _finish(paths: StackPaths, ports: Ports, say: Say) -> Optional[str]:
    record = _record(paths)
    if record.phase == state.STAGED and _is_of_this_boot(record, ports):
        tidy(paths)
        return None
    if waits(record, ports):
        tidy(paths)
        return _wait_again(paths, record, ports)
    if record.before is not None and record.phase != state.STAGED:
        ports.docker.info()  # a daemon that is down is no reason to give the stack up
    done = _unstick(paths, record, ports, say) if record.phase == state.STUCK else None
    done = done or settle(paths, ports=ports, say=say) or keep_down(paths, ports)
    tidy(paths)
    call_off(paths.name, ports)
    align_service(paths, ports, start=False)
    return done


def _unstick(paths: StackPaths, record: state.Record, ports: Ports, say: Say) -> Optional[str]:
    """What could not be brought back then may be now; a boot has helped before."""
    attempted = record.last.digest if record.last else None
    if record.before is None or (attempted or record.before.current) is None:
        return None
    say(Progress("restore", "a stack that is stuck is tried again"))
    target = str(attempted or record.before.current)
    return restore(paths, record.before, target, ports=ports, say=say)


def _wait_again(paths: StackPaths, record: state.Record, ports: Ports) -> Optional[str]:
    """The release goes on waiting; a timer that was lost is armed for the rest of the time."""
    if record.confirm_by is None or record.digest is None or not ports.units.available():
        return None
    if is_armed(paths.name, ports):
        return None
    rollout = record.owner.rollout if record.owner else None
    left_s = record.confirm_by.left_s(ports.machine)
    arm_confirm(paths.name, left_s, expire_argv(paths, record.digest, rollout), ports)
    return "the timer of an unconfirmed release was armed again"


def _is_of_this_boot(record: state.Record, ports: Ports) -> bool:
    boot = ports.machine.boot_id()
    return record.owner is not None and bool(boot) and record.owner.boot == boot


def _record(paths: StackPaths) -> state.Record:
    try:
        return state.set_damaged_aside(paths, state.load(paths))
    except OSError as error:
        raise unwritable(f"cannot write below {paths.home}", error) from error


def _clear_removed(roots: Roots) -> None:
    """Stacks whose removal was cut short, with the keys that nobody has any more."""
    for folder in roots.stacks.glob(f"{REMOVED}*"):
        name = folder.name[len(REMOVED) :]
        if is_stack_name(name) and not (roots.stacks / name).exists():
            shutil.rmtree(str(roots.secrets / name), ignore_errors=True)
        shutil.rmtree(str(folder), ignore_errors=True)
