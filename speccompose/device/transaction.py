"""A rendered stack becomes the one that serves here, or everything is as before.

Layer: device (standard library, Python 3.8). Read ``_Deploy.run`` first; it is the job.

    deploy(stack_dir, roots, ports=..., say=..., order=...)   -> DeployResult
    stage(stack_dir, roots, ...)     -> Staged           (the first half of it)
    switch(name, roots, ...)         -> DeployResult     (the second)
    rollback(name, roots, ...)       -> DeployResult     (to the previous release)

Compare, preflight, smoke test, stage, then the switch (``attempt``). The same digest that already
serves is left alone: nothing is written, nothing restarts. Statuses: 3 and 19 for a bad folder, 12
locked or another rollout's, 13 the board is held, 15 preflight, no way back or a downgrade, 8
failed and restored (or nothing left on a first install), 14 failed and not restored, 130
interrupted. A power cut is finished by ``recover`` or by the next deploy.
"""

from __future__ import annotations

from pathlib import Path
from typing import List, NamedTuple, Optional

from speccompose.device import state
from speccompose.device.admission import admit, waits_for_the_same
from speccompose.device.api_key import planned_secret
from speccompose.device.attempt import Attempt, Job, Outcome, is_new
from speccompose.device.budget import phase
from speccompose.device.claim import refuse_other
from speccompose.device.deploy_result import ALREADY, rolled_back
from speccompose.device.deploy_result import DeployResult as DeployResult
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import LOCKED, USAGE, DeviceError
from speccompose.device.file_faults import unwritable
from speccompose.device.foresee import early_refusals as early_refusals
from speccompose.device.foresee import refuse_early as refuse_early
from speccompose.device.gate import preflight as preflight
from speccompose.device.gate import preflight_before_pull as preflight_before_pull
from speccompose.device.gate import refuse_before_pull as refuse_before_pull
from speccompose.device.lock import hold
from speccompose.device.notebook import note_down
from speccompose.device.order import Order
from speccompose.device.paths import Roots, StackPaths, find_stack
from speccompose.device.ports import Ports, Progress, Say, silent
from speccompose.device.preflight import check_stack, refuse
from speccompose.device.recover import give_up_staged, settle, tidy
from speccompose.device.release import claimed_plan, release_fault, release_plan
from speccompose.device.service import mend_service
from speccompose.device.smoke import smoke_test
from speccompose.device.stack_folder import read_stack
from speccompose.device.stack_folder import stage as stage_files
from speccompose.device.standing import Standing, glance, look, serves_already

_PLAIN = Order()


class Staged(NamedTuple):
    """A release that can be switched to; ``phase`` is how the stack stands now."""

    name: str
    changed: bool
    digest: str
    phase: str
    result: str


def deploy(
    stack_dir: Path, roots: Roots, *, ports: Ports, say: Say = silent, order: Order = _PLAIN
) -> DeployResult:
    """Let a rendered stack serve on this machine.

    Raises:
        DeviceError: see the module.
    """
    folder = read_stack(stack_dir)
    paths = StackPaths(folder.plan.name, roots)
    already = glance(paths, folder.plan, ports)
    if already is not None:
        notices = mend_service(paths, folder.plan.digest, ports)
        return _untouched(folder.plan.digest, paths, already)._replace(notices=notices)
    with hold(paths, "deploy", rollout=order.rollout, machine=ports.machine) as owner:
        return _Deploy(Job(folder, paths, ports, say, order, owner)).run()


def stage(
    stack_dir: Path, roots: Roots, *, ports: Ports, say: Say = silent, order: Order = _PLAIN
) -> Staged:
    """Check everything and copy the release; what serves is not touched.

    Raises:
        DeviceError: as ``deploy`` does before it switches.
    """
    folder = read_stack(stack_dir)
    plan, paths = folder.plan, StackPaths(folder.plan.name, roots)
    if glance(paths, plan, ports) is not None:
        return Staged(plan.name, False, plan.digest, state.load(paths).phase, ALREADY)
    with hold(paths, "stage", rollout=order.rollout, machine=ports.machine) as owner:
        return _Deploy(Job(folder, paths, ports, say, order, owner)).stage_only()


def switch(
    name: str, roots: Roots, *, ports: Ports, say: Say = silent, order: Order = _PLAIN
) -> DeployResult:
    """Let the staged release serve; what was switched to by the same rollout stays.

    Raises:
        DeviceError: 2 when nothing is staged, else as ``deploy``.
    """
    paths = find_stack(name, roots, traces=True)
    record = state.load(paths)
    owner = record.owner.rollout if record.owner else record.last.rollout if record.last else None
    again = record.phase in (state.UNCONFIRMED, state.COMMITTED) and owner == order.rollout
    if record.digest is None or not (record.phase == state.STAGED or again):
        raise DeviceError(
            USAGE,
            f"{name} has no staged release to switch to",
            [f"it is {record.phase}"],
            hint="stage one first, or deploy a folder",
            code="nothing_staged",
        )
    return deploy(paths.release(record.digest), roots, ports=ports, say=say, order=order)


def rollback(
    name: str, roots: Roots, *, ports: Ports, say: Say = silent, order: Order = _PLAIN
) -> DeployResult:
    """Let the previous release serve again; the one left becomes the previous.

    An open deploy is rolled back, and that is all then.

    Raises:
        DeviceError: 2 for an unknown stack or one without a previous release, else as deploy.
    """
    paths = find_stack(name, roots)
    with hold(paths, "rollback", rollout=order.rollout, machine=ports.machine) as owner:
        record = state.load(paths)
        if order.rollout is not None:
            refuse_other(name, record, order.rollout, ports.machine, take_over=order.take_over)
        if record.phase == state.STAGED and record.before is not None:
            give_up_staged(paths, record, record.before)
        done = settle(paths, ports=ports, say=say)
        if done is not None:  # a deploy that was cut short: rolling it back was what is asked for
            return rolled_back(paths, done)
        digest = state.linked_digest(paths.previous)
        if digest is None:
            raise DeviceError(
                USAGE,
                f"{name} has no previous release to go back to",
                [f"current: {state.linked_digest(paths.current) or 'none'}"],
                code="no_previous",
            )
        folder = read_stack(paths.release(digest))
        back = order._replace(allow_downgrade=False)
        return _Deploy(Job(folder, paths, ports, say, back, owner), going_back=True).run()


def _untouched(digest: str, paths: StackPaths, now: Standing) -> DeployResult:
    """What serves already, found without the lock and without a write."""
    plan = release_plan(paths, digest)
    endpoint = "" if plan is None else plan.endpoint
    running = str(now.running and now.running.id)
    previous = now.before.previous
    return DeployResult(
        paths.name, False, digest, previous, endpoint, running, None, phase=now.record.phase
    )


class _Deploy:
    """One deploy under the stack's lock."""

    def __init__(self, job: Job, *, going_back: bool = False) -> None:
        self._job = job
        self._plan = job.folder.plan
        self._paths = job.paths
        self._ports = job.ports
        self._going_back = going_back
        self._notices: List[str] = []

    def run(self) -> DeployResult:
        """The job, top-down."""
        now = self._look()
        try:
            secret = planned_secret(
                self._plan, self._paths, is_installed=self._is_installed(now.before)
            )
            if serves_already(now, self._plan, secret, self._paths, ports=self._ports):
                self._mend_release()
                return self._untouched(now)
            if waits_for_the_same(now, self._job):
                return self._untouched(now)
            self._prepare(now)
        except OSError as error:
            raise self._unwritten(error) from error
        done = Attempt(self._job, now.record, now.before, now.running, secret).run()
        return self._result(now, done)

    def stage_only(self) -> Staged:
        """The job up to the switch."""
        now = self._look()
        if now.record.before is not None and now.record.phase != state.STAGED:
            raise DeviceError(
                LOCKED,
                f"{self._plan.name} is in the middle of a transaction ({now.record.phase})",
                [now.record.owner.who] if now.record.owner else [],
                hint="confirm it, roll it back, or: recover",
                code="open_transaction",
            )
        try:
            self._prepare(now)
        except OSError as error:
            raise self._unwritten(error) from error
        return Staged(self._plan.name, True, self._plan.digest, state.STAGED, state.STAGED)

    def _unwritten(self, error: OSError) -> DeviceError:
        """Nothing was switched; the copy of the release that nobody knows of goes again."""
        tidy(self._paths)
        return unwritable(f"cannot write below {self._paths.home}", error)

    def _look(self) -> Standing:
        try:
            now = look(self._paths, self._plan, self._ports)
        except OSError as error:
            raise unwritable(f"cannot write below {self._paths.home}", error) from error
        for note in now.notes:
            self._note(note)
        return now

    def _prepare(self, now: Standing) -> None:
        """Everything that may refuse the switch, then the release's files.

        What is open already (or stuck) stays so until the switch: it has to be undone.
        """
        job, limits = self._job, self._job.order.limits
        for note in admit(job, now, going_back=self._going_back):
            note_down(self._paths, job.owner, note)
            self._note(note)
        self._preflight(now.running)
        smoke_test(self._ports, self._plan, job.say)
        try:
            with phase("stage", limits.stage_s, self._ports):
                stage_files(job.folder, self._paths)
            if now.record.before is None or now.record.phase == state.STAGED:
                digest, before = self._plan.digest, now.before
                staged = now.record.opened(state.STAGED, digest, before, job.owner)
                state.save(self._paths, staged)
        except DeviceError:
            tidy(self._paths)
            raise

    def _is_installed(self, before: state.Before) -> bool:
        """Whether the folder is the installed release itself, as for `deploy NAME`."""
        release = self._paths.release(self._plan.digest)
        same = self._job.folder.path.resolve() == release.resolve()
        return same and self._plan.digest in (before.current, before.previous)

    def _mend_release(self) -> None:
        """What serves goes on; damaged files of its release are written anew."""
        if release_fault(self._paths, self._plan.digest) is not None:
            stage_files(self._job.folder, self._paths)
            self._note("the installed release was damaged; its files were written anew")

    def _preflight(self, running: Optional[ContainerInfo]) -> None:
        self._job.say(Progress("preflight", "checking this host"))
        own = claimed_plan(self._paths, state.linked_digest(self._paths.current))
        ports, roots = self._ports, self._paths.roots
        refuse(check_stack(ports, self._plan, roots, own=own, running=running))

    def _untouched(self, now: Standing) -> DeployResult:
        done = _untouched(self._plan.digest, self._paths, now)
        by = now.record.confirm_by
        left_s = None if by is None else round(by.left_s(self._ports.machine))
        return done._replace(
            endpoint=self._plan.endpoint, notices=tuple(self._notices), confirm_within_s=left_s
        )

    def _result(self, now: Standing, done: Outcome) -> DeployResult:
        waits = done.confirm_within_s is not None
        return DeployResult(
            name=self._plan.name,
            changed=is_new(now.running, done.container),
            digest=self._plan.digest,
            previous_digest=done.previous,
            endpoint=self._plan.endpoint,
            container=done.container.id,
            proof=done.proof,
            notices=(*self._notices, *done.notices),
            phase=state.UNCONFIRMED if waits else state.COMMITTED,
            confirm_within_s=done.confirm_within_s,
        )

    def _note(self, text: str) -> None:
        self._notices.append(text)
        self._job.say(Progress("note", text))
