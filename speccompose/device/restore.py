"""A switch that did not hold becomes what stood before it.

Layer: device (standard library, Python 3.8). Used when a deploy fails or is interrupted, when its
confirmation does not come, and when a crash left one open (``recover``). What ran before runs
again; what did not, does not; on a first install nothing is left. Only when the old release cannot
be brought back is the stack stuck. A full disk is no reason not to: the old stack is started
first, and written down if possible.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import List, Optional, Sequence

from speccompose.device import state
from speccompose.device.api_key import installed_key, put_back
from speccompose.device.commit import call_off
from speccompose.device.compose_cli import Compose
from speccompose.device.errors import ROLLBACK_INCOMPLETE, DeviceError
from speccompose.device.health import Waiter
from speccompose.device.interrupts import uninterrupted
from speccompose.device.paths import StackPaths
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Progress, Say, unbreakable
from speccompose.device.stack_folder import read_stack
from speccompose.device.way_back import tag_again

DOCKER_BACK_S = 120.0
"""A daemon that is restarted (as an upgrade does) is back by then."""

_DOCKER_EVERY_S = 5.0


def restore(
    paths: StackPaths,
    before: state.Before,
    attempted: str,
    *,
    ports: Ports,
    say: Say,
    cause: Optional[DeviceError] = None,
) -> str:
    """Undo the switch to ``attempted``; returns what is so now, as one line.

    ``cause`` is kept for whoever asks later why.

    Raises:
        DeviceError: status 14 when the previous release does not serve again.
    """
    with uninterrupted():
        undo = _Undo(paths, before, attempted, ports, unbreakable(say), cause)
        try:
            now = undo.run()
        except _UnwrittenError as error:
            raise stuck(f"{error.now}, but that could not be written down", error.faults, paths)
        except (DeviceError, OSError) as error:
            why = [error.brief, *error.details] if isinstance(error, DeviceError) else [str(error)]
            why += undo.give_up(why)
            brief = f"{paths.name}: the previous stack could not be restored"
            raise stuck(brief, why, paths) from error
        call_off(paths.name, ports)
        return now


def stuck(brief: str, why: Sequence[str], paths: StackPaths) -> DeviceError:
    """What is neither the new stack nor the old: a person has to look."""
    return DeviceError(
        ROLLBACK_INCOMPLETE,
        brief,
        why,
        hint=f"mend the cause, then: speccompose deploy {paths.name}",
        code="stuck",
    )


class _UnwrittenError(Exception):
    """The board is as it should be (``now`` says how), but its files do not say so."""

    def __init__(self, now: str, faults: Sequence[str]) -> None:
        super().__init__(now)
        self.now = now
        self.faults = faults


class _Undo:
    """One way back, from wherever a transaction got to."""

    def __init__(
        self,
        paths: StackPaths,
        before: state.Before,
        attempted: str,
        ports: Ports,
        say: Say,
        cause: Optional[DeviceError],
    ) -> None:
        self._paths = paths
        self._before = before
        self._attempted = attempted
        self._ports = ports
        self._say = say
        self._cause = cause
        found = state.load(paths)
        self._again = found.phase == state.ROLLING_BACK
        self._record = found.opened(state.ROLLING_BACK, attempted, before, found.owner)
        if not self._again or found.last is None:
            self._record = self._record._replace(last=_last(found, attempted, cause))

    def run(self) -> str:
        """Say that it begins, do it, say how it ended."""
        with suppress(OSError):  # without room the old words stand, which are undone just so
            state.save(self._paths, self._record)
        self._await_docker()
        # A crash after the key was put back leaves a server that has read the other one.
        key_is_back = put_back(self._paths) or (self._again and self._paths.secrets.is_dir())
        before = self._before
        if before.current is None:
            return self._leave_nothing()
        if before.current == self._attempted and not key_is_back:
            return self._same_release(before.current)
        return self._bring_back(before.current, recreate=key_is_back)

    def give_up(self, why: Sequence[str]) -> List[str]:
        """Mark the stack stuck; what could not be written is returned."""
        last = self._record.last
        record = self._record._replace(
            phase=state.STUCK,
            digest=self._before.current,
            last=last and last._replace(result=state.STUCK, reason="; ".join(why)[:500]),
        )
        try:
            state.save_on_full_disk(self._paths, record)
        except OSError as unwritten:
            return [f"state.json could not be written: {unwritten}"]
        return []

    def _await_docker(self) -> None:
        """Nobody tries again soon what is stuck, so a daemon that is down is waited for.

        One that stays down is told by whoever needs it: the links go back without it.
        """
        machine = self._ports.machine
        until = machine.now_s() + DOCKER_BACK_S
        while machine.now_s() < until:
            try:
                self._ports.docker.info()
                return
            except DeviceError as error:
                if error.code != "docker_down":
                    return
                self._say(Progress("restore", f"waiting for docker: {error.brief}"))
            machine.sleep(_DOCKER_EVERY_S)

    def _leave_nothing(self) -> str:
        """First install: containers, links and the release go; state.json says that it was so."""
        paths = self._paths
        if paths.release(self._attempted).is_dir():  # else it was never started, or is gone again
            self._compose(self._attempted).down()
        state.point(paths.current, None)
        state.point(paths.previous, None)
        try:
            state.save_on_full_disk(paths, self._record.settled(state.ROLLED_BACK, None))
        except OSError:  # it goes, too
            shutil.rmtree(str(paths.home), ignore_errors=True)
        shutil.rmtree(str(paths.releases), ignore_errors=True)
        with suppress(OSError):  # it goes where no key is in it
            paths.secrets.rmdir()
        return "first install: nothing is left running"

    def _same_release(self, digest: str) -> str:
        """The installed release was started again. Did that fail, there is no other to go back to;
        was it cut short, it may serve as it did."""
        if self._cause is not None:
            return self._leave_stopped(digest)
        try:
            return self._bring_back(digest, recreate=False)
        except DeviceError:
            return self._leave_stopped(digest)

    def _leave_stopped(self, digest: str) -> str:
        """It does not start any more."""
        self._compose(digest).stop()
        now = "the installed release does not serve any more; it was stopped"
        return self._written(self._record.settled(state.FAILED, digest), now, [])

    def _bring_back(self, old: str, *, recreate: bool) -> str:
        """``recreate`` lets the server read its old key again; it may be the same release."""
        paths, before = self._paths, self._before
        faults = links_back(paths, before)
        if not before.running:
            self._compose(self._attempted).down()
            now = "the stack was stopped before, and is stopped again"
            off = before.phase in (state.FAILED, state.DEGRADED)
            phase = before.phase if off else state.STOPPED
            return self._written(self._record.settled(phase, old), now, faults)
        self._say(Progress("restore", "bringing the previous stack back"))
        plan = read_stack(paths.release(old)).plan
        tag_again(self._record, old, self._ports)
        Compose(self._ports.docker, plan.project, paths.release(old)).up(recreate)
        container = self._wait(plan)
        record = self._record.settled(state.ROLLED_BACK, old, container)
        return self._written(record, f"previous stack restored ({old[:19]})", faults)

    def _written(self, record: state.Record, now: str, faults: List[str]) -> str:
        """Write down how it ended; while the links are wrong it stays an open transaction."""
        try:
            if not faults:
                state.save_on_full_disk(self._paths, record)
        except OSError as error:
            faults = [f"state.json: {error}"]
        if faults:
            raise _UnwrittenError(now, faults)
        return now

    def _wait(self, plan: Plan) -> str:
        key = installed_key(plan, self._paths)
        keys: Sequence[str] = () if key is None else (key,)
        server = self._ports.connect(plan, key)
        return Waiter(self._ports, plan, server, keys, self._say).wait().id

    def _compose(self, digest: str) -> Compose:
        project = f"speccompose-{self._paths.name}"
        return Compose(self._ports.docker, project, self._paths.release(digest))


def links_back(paths: StackPaths, before: state.Before) -> List[str]:
    """Put both links back where they are not; what could not be done is returned."""
    faults = []
    for link, digest in ((paths.current, before.current), (paths.previous, before.previous)):
        try:
            if digest is None or state.linked_digest(link) != digest:
                state.point(link, digest)
        except OSError as error:
            faults.append(f"link {link.name}: {error}")
    return faults


def _last(found: state.Record, attempted: str, cause: Optional[DeviceError]) -> state.Last:
    """What is remembered of a transaction that failed, was interrupted or was cut short."""
    return state.Last(
        result=state.ROLLED_BACK,
        digest=attempted,
        rollout=found.owner.rollout if found.owner else None,
        code="cut_short" if cause is None else cause.code,
        reason=f"cut short while {found.phase}" if cause is None else cause.brief,
    )
