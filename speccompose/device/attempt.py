"""A staged release becomes the one that serves, or everything is as before.

Layer: device (standard library, Python 3.8). The part of a deploy from the switch on; read
``Attempt._go`` first. Switch the links, start, wait, prove, then commit or wait for a
confirmation. Any failure, signal or bug of ours before that brings back what stood (``restore``).
"""

from __future__ import annotations

from contextlib import suppress
from typing import List, NamedTuple, Optional, Tuple

from speccompose.device import state
from speccompose.device.api_key import Secret, install, unconfirmed
from speccompose.device.budget import phase
from speccompose.device.commit import call_off, commit, next_previous, timer_name
from speccompose.device.compose_cli import Compose
from speccompose.device.deadline import deadline_in
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import DEPLOY, INTERRUPTED, DeviceError
from speccompose.device.expire_command import expire_argv
from speccompose.device.file_faults import told
from speccompose.device.health import Waiter
from speccompose.device.interrupts import uninterrupted
from speccompose.device.order import Order
from speccompose.device.paths import StackPaths
from speccompose.device.ports import Ports, Progress, Say, unbreakable
from speccompose.device.prove import Proof, prove
from speccompose.device.restore import restore
from speccompose.device.service import align_service, enable_service, install_service
from speccompose.device.stack_folder import StackFolder


class Job(NamedTuple):
    """What is to be deployed, where, and who asked for it."""

    folder: StackFolder
    paths: StackPaths
    ports: Ports
    say: Say
    order: Order
    owner: state.Owner


class Outcome(NamedTuple):
    """What serves now."""

    container: ContainerInfo
    proof: Proof
    previous: Optional[str]
    confirm_within_s: Optional[int]
    notices: Tuple[str, ...]


class Attempt:
    """One switch, under the stack's lock. ``record`` is the state before it."""

    def __init__(
        self,
        job: Job,
        record: state.Record,
        before: state.Before,
        running: Optional[ContainerInfo],
        secret: Optional[Secret],
    ) -> None:
        self._job = job
        self._plan = job.folder.plan
        self._paths = job.paths
        self._ports = job.ports
        self._had_timer = record.is_open  # an earlier process may have armed one
        opened = record.opened(state.SWITCHING, self._plan.digest, before, job.owner)
        self._record = opened._replace(downgrade=job.order.allow_downgrade)
        self._before = before
        self._running = running
        self._secret = secret
        self._settled = False
        self._notices: List[str] = []

    def run(self) -> Outcome:
        """Go; whatever ends it early, it is undone once.

        Raises:
            DeviceError: 8 failed and undone, 14 failed and not undone, 130 interrupted.
        """
        try:
            return self._go()
        except (DeviceError, OSError) as cause:
            raise self._failed(told(cause)) from cause
        except KeyboardInterrupt:
            raise self._interrupted() from None
        finally:
            if not self._settled:  # a bug of ours, or interrupted once more: undo all the same
                self._undo(None)

    def _go(self) -> Outcome:
        limits = self._job.order.limits
        self._notices += install_service(self._paths, self._plan.digest, self._ports)
        with phase("start", limits.start(self._plan), self._ports) as start:
            self._switch()
            container = self._start(start.ports)
        with phase("acceptance", limits.accept_s, self._ports) as check:
            key = None if self._secret is None else self._secret.key
            server = self._ports.connect(self._plan, key)
            proof = prove(
                check.ports, self._plan, container, server, self._job.say, left_s=check.left_s
            )
        self._record = self._record._replace(accepted_length=proof.mean_accepted_length)
        previous = next_previous(self._before, self._plan.digest)
        left_s = self._await_confirmation()
        if left_s is None:
            self._notices += self._enable()
            commit(self._paths, self._record, self._release(), container)
        self._settled = True
        if left_s is None:
            self._notices += self._after_commit()
        return Outcome(container, proof, previous, left_s, tuple(self._notices))

    def _enable(self) -> Tuple[str, ...]:
        return enable_service(self._paths, self._plan.digest, self._before, self._ports)

    def _after_commit(self) -> Tuple[str, ...]:
        if self._had_timer:
            call_off(self._plan.name, self._ports)
        return align_service(self._paths, self._ports)

    def _switch(self) -> None:
        """Write down what stands, then move the links; a crash from here on is seen."""
        digest = self._plan.digest
        state.save(self._paths, self._record)
        state.point(self._paths.previous, next_previous(self._before, digest))
        state.point(self._paths.current, digest)

    def _start(self, ports: Ports) -> ContainerInfo:
        plan, running = self._plan, self._running
        if self._secret is not None and not self._secret.installed:
            install(self._secret)
        recreate = unconfirmed(self._paths)  # servers read their key once
        if self._before.current == plan.digest and running is not None:
            recreate = recreate or running.health == "unhealthy"
        self._job.say(Progress("start", f"starting {plan.project}"))
        Compose(ports.docker, plan.project, self._paths.release(plan.digest)).up(recreate)
        self._to(state.CHECKING)
        key = None if self._secret is None else self._secret.key
        keys = () if key is None else (key,)
        server = ports.connect(plan, key)
        return Waiter(ports, plan, server, keys, self._job.say).wait()

    def _await_confirmation(self) -> Optional[int]:
        """Arm the timer that rolls back, then say so; None when nobody has to confirm.

        In this order: a timer without a word of it finds an open transaction and undoes that.
        """
        seconds, digest = self._job.order.confirm_within_s, self._plan.digest
        if seconds is None:
            return None
        rollout = self._job.owner.rollout
        argv = expire_argv(self._paths, digest, rollout)
        self._ports.units.arm(timer_name(self._plan.name), seconds, argv)
        self._record = self._record._replace(confirm_by=deadline_in(seconds, self._ports.machine))
        self._to(state.UNCONFIRMED)
        self._job.say(Progress("confirm", f"rolled back in {seconds:.0f} s unless confirmed"))
        return round(seconds)

    def _to(self, phase_name: str) -> None:
        self._record = self._record._replace(phase=phase_name)
        state.save(self._paths, self._record)

    def _release(self) -> StackFolder:
        return self._job.folder._replace(path=self._paths.release(self._plan.digest))

    def _undo(self, cause: Optional[DeviceError]) -> str:
        with uninterrupted():
            try:
                now = restore(
                    self._paths,
                    self._before,
                    self._plan.digest,
                    ports=self._ports,
                    say=self._job.say,
                    cause=cause,
                )
                align_service(self._paths, self._ports)
                return now
            finally:
                self._settled = True

    def _failed(self, cause: DeviceError) -> DeviceError:
        try:
            with uninterrupted():
                unbreakable(self._job.say)(Progress("restore", cause.brief))
                now = self._undo(cause)
        except DeviceError as stuck:
            why = [f"the deploy failed first: {cause.brief}", *cause.details, *stuck.details]
            return DeviceError(stuck.status, stuck.brief, why, stuck.hint, stuck.code)
        brief = f"{self._plan.name} was not deployed: {cause.brief}"
        return DeviceError(DEPLOY, brief, [*cause.details, now], cause.hint, cause.code)

    def _interrupted(self) -> DeviceError:
        brief = f"the deploy of {self._plan.name} was interrupted"
        try:
            with uninterrupted():
                now = self._leave() if self._has_nothing_to_undo() else self._put_back(brief)
        except DeviceError as stuck:
            return stuck
        return DeviceError(INTERRUPTED, brief, [now])

    def _has_nothing_to_undo(self) -> bool:
        """The installed release itself was started again, with the key that it has."""
        return self._before.current == self._plan.digest and not unconfirmed(self._paths)

    def _leave(self) -> str:
        self._settled = True
        with suppress(OSError):  # then it still says that a deploy was cut short, which is so
            record = self._record.settled(state.FAILED, self._plan.digest)
            state.save_on_full_disk(self._paths, record)
            align_service(self._paths, self._ports)
        return "the stack was left as it is, unconfirmed"

    def _put_back(self, brief: str) -> str:
        text = "interrupted; putting everything back, please wait"
        unbreakable(self._job.say)(Progress("restore", text))
        return self._undo(DeviceError(INTERRUPTED, brief))


def is_new(running: Optional[ContainerInfo], container: ContainerInfo) -> bool:
    """Whether something was started: another container, or the same one again."""
    seen: Tuple[Optional[str], Optional[str]] = (None, None)
    if running is not None:
        seen = (running.id, running.started_at)
    return seen != (container.id, container.started_at)
