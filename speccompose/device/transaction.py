"""A rendered stack becomes the one that serves here, or everything is as before.

Layer: device (standard library, Python 3.8). Read ``_Deploy.run`` first; it is the job.

    deploy(stack_dir, roots, ports=..., say=...)   -> DeployResult
    rollback(name, roots, ports=..., say=...)      -> DeployResult   (to the previous release)

Compare, preflight, smoke test, stage, switch, start, wait, prove, commit. The same digest that
already serves is left alone: nothing is written, nothing restarts. From the switch on, any
failure, signal or bug of ours brings back what stood before (``restore``); a power cut is finished
by ``recover`` or by the next deploy. Statuses: 3 and 19 for a bad folder, 12 locked, 15 preflight,
8 failed and restored (or nothing left on a first install), 14 failed and not restored, 130
interrupted.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

from speccompose.device import state
from speccompose.device.api_key import Secret, confirm, install, planned_secret, unconfirmed
from speccompose.device.compose_cli import Compose
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import (
    DEPLOY,
    INTERRUPTED,
    USAGE,
    DeviceError,
)
from speccompose.device.file_faults import told, unwritable
from speccompose.device.gate import preflight as preflight
from speccompose.device.gate import preflight_before_pull as preflight_before_pull
from speccompose.device.gate import refuse_before_pull as refuse_before_pull
from speccompose.device.health import Waiter
from speccompose.device.interrupts import uninterrupted
from speccompose.device.lock import hold
from speccompose.device.paths import Roots, StackPaths, find_stack
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Progress, Say, silent, unbreakable
from speccompose.device.preflight import check_stack, refuse
from speccompose.device.prove import Proof, prove
from speccompose.device.release import claimed_plan, release_fault, release_plan
from speccompose.device.restore import restore, settle
from speccompose.device.smoke import smoke_test
from speccompose.device.stack_folder import StackFolder, prune, read_stack, stage
from speccompose.device.standing import look, serves_already


class DeployResult(NamedTuple):
    """How a deploy ended well. ``changed`` is False when everything already was so."""

    name: str
    changed: bool
    digest: str
    previous_digest: Optional[str]
    endpoint: str
    container: str
    proof: Optional[Proof]
    notices: Tuple[str, ...] = ()

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        body: Dict[str, object] = dict(self._asdict())
        body["proof"] = None if self.proof is None else dict(self.proof._asdict())
        return body


def deploy(stack_dir: Path, roots: Roots, *, ports: Ports, say: Say = silent) -> DeployResult:
    """Let a rendered stack serve on this machine.

    Raises:
        DeviceError: see the module.
    """
    folder = read_stack(stack_dir)
    paths = StackPaths(folder.plan.name, roots)
    with hold(paths, "deploy"):
        return _Deploy(folder, paths, ports, say).run()


def rollback(name: str, roots: Roots, *, ports: Ports, say: Say = silent) -> DeployResult:
    """Let the previous release serve again; the one left becomes the previous.

    Raises:
        DeviceError: 2 for an unknown stack or one without a previous release, else as deploy.
    """
    paths = find_stack(name, roots)
    with hold(paths, "rollback"):
        done = settle(paths, ports=ports, say=say)
        if done is not None:  # a deploy that was cut short: rolling it back was what is asked for
            return _rolled_back(paths, done)
        digest = state.linked_digest(paths.previous)
        if digest is None:
            raise DeviceError(
                USAGE,
                f"{name} has no previous release to go back to",
                [f"current: {state.linked_digest(paths.current) or 'none'}"],
                code="no_previous",
            )
        return _Deploy(read_stack(paths.release(digest)), paths, ports, say).run()


def _rolled_back(paths: StackPaths, done: str) -> DeployResult:
    """What serves (or is stopped) after an unfinished deploy was undone."""
    record = state.load(paths)
    plan = release_plan(paths, record.digest)
    if plan is None:
        brief = f"{paths.name} has no release to go back to"
        why = [f"its deploy was cut short: {done}"]
        raise DeviceError(USAGE, brief, why, code="no_previous")
    return DeployResult(
        name=plan.name,
        changed=True,
        digest=plan.digest,
        previous_digest=state.linked_digest(paths.previous),
        endpoint=plan.endpoint,
        container=record.container or "",
        proof=None,
        notices=(f"a deploy that was cut short was undone: {done}",),
    )


class _Deploy:
    """One deploy under the stack's lock."""

    def __init__(self, folder: StackFolder, paths: StackPaths, ports: Ports, say: Say) -> None:
        self._folder = folder
        self._plan: Plan = folder.plan
        self._paths = paths
        self._ports = ports
        self._say = say
        self._notices: List[str] = []
        self._settled = False

    def run(self) -> DeployResult:
        """The job, top-down."""
        try:
            now = look(self._paths, self._plan, self._ports)
            before, running = now.before, now.running
            for note in now.notes:
                self._note(note)
            secret = planned_secret(self._plan, self._paths, is_installed=self._is_release())
            if serves_already(now, self._plan, secret, self._paths, ports=self._ports):
                self._mend_release()
                return self._result(False, before.previous, str(running and running.id), None)
            self._preflight(running)
            smoke_test(self._ports, self._plan, self._say)
            stage(self._folder, self._paths)
        except OSError as error:
            raise unwritable(f"cannot write below {self._paths.home}", error) from error
        return self._attempt(before, running, secret)

    def _attempt(
        self, before: state.Before, running: Optional[ContainerInfo], secret: Optional[Secret]
    ) -> DeployResult:
        """From the switch on; whatever ends it early, it is undone once."""
        try:
            self._switch(before)
            container, proof = self._start(before, running, secret)
            previous = self._commit(before, container)
            self._settled = True
        except (DeviceError, OSError) as cause:
            raise self._failed(before, told(cause)) from cause
        except KeyboardInterrupt:
            raise self._interrupted(before) from None
        finally:
            if not self._settled:  # a bug of ours, or interrupted once more: undo all the same
                self._undo(before)
        return self._result(self._is_new(running, container), previous, container.id, proof)

    def _is_release(self) -> bool:
        """Whether the folder is the installed release itself, as for `deploy NAME`."""
        release = self._paths.release(self._plan.digest)
        return self._folder.path.resolve() == release.resolve()

    def _mend_release(self) -> None:
        """What serves goes on; damaged files of its release are written anew."""
        if release_fault(self._paths, self._plan.digest) is not None:
            stage(self._folder, self._paths)
            self._note("the installed release was damaged; its files were written anew")

    def _preflight(self, running: Optional[ContainerInfo]) -> None:
        self._say(Progress("preflight", "checking this host"))
        own = claimed_plan(self._paths, state.linked_digest(self._paths.current))
        refuse(check_stack(self._ports, self._plan, self._paths.roots, own=own, running=running))

    def _switch(self, before: state.Before) -> None:
        """Write down what stands, then move the links; a crash from here on is seen."""
        digest = self._plan.digest
        state.save(self._paths, state.Record(state.SWITCHING, digest=digest, before=before))
        state.point(self._paths.previous, self._next_previous(before))
        state.point(self._paths.current, digest)

    def _start(
        self, before: state.Before, running: Optional[ContainerInfo], secret: Optional[Secret]
    ) -> Tuple[ContainerInfo, Proof]:
        plan = self._plan
        if secret is not None and not secret.installed:
            install(secret)
        recreate = unconfirmed(self._paths)  # servers read their key once
        if before.current == plan.digest and running is not None:
            recreate = recreate or running.health == "unhealthy"
        self._say(Progress("start", f"starting {plan.project}"))
        Compose(self._ports.docker, plan.project, self._paths.release(plan.digest)).up(recreate)
        key = None if secret is None else secret.key
        server = self._ports.connect(plan, key)
        keys = () if key is None else (key,)
        container = Waiter(self._ports, plan, server, keys, self._say).wait()
        return container, prove(self._ports, plan, container, server, self._say)

    def _commit(self, before: state.Before, container: ContainerInfo) -> Optional[str]:
        digest, previous = self._plan.digest, self._next_previous(before)
        record = state.Record(state.COMMITTED, digest=digest, container=container.id)
        state.save(self._paths, record)
        confirm(self._paths)
        prune(self._paths, (digest,) if previous is None else (digest, previous))
        return previous

    def _next_previous(self, before: state.Before) -> Optional[str]:
        return before.previous if before.current == self._plan.digest else before.current

    def _undo(self, before: state.Before) -> str:
        with uninterrupted():
            try:
                digest = self._plan.digest
                return restore(self._paths, before, digest, ports=self._ports, say=self._say)
            finally:
                self._settled = True

    def _failed(self, before: state.Before, cause: DeviceError) -> DeviceError:
        try:
            with uninterrupted():
                unbreakable(self._say)(Progress("restore", cause.brief))
                now = self._undo(before)
        except DeviceError as stuck:
            why = [f"the deploy failed first: {cause.brief}", *cause.details, *stuck.details]
            return DeviceError(stuck.status, stuck.brief, why, stuck.hint, stuck.code)
        brief = f"{self._plan.name} was not deployed: {cause.brief}"
        return DeviceError(DEPLOY, brief, [*cause.details, now], cause.hint, cause.code)

    def _interrupted(self, before: state.Before) -> DeviceError:
        brief = f"the deploy of {self._plan.name} was interrupted"
        try:
            with uninterrupted():
                now = self._leave() if self._has_nothing_to_undo(before) else self._put_back(before)
        except DeviceError as stuck:
            return stuck
        return DeviceError(INTERRUPTED, brief, [now])

    def _has_nothing_to_undo(self, before: state.Before) -> bool:
        """The installed release itself was started again, with the key that it has."""
        return before.current == self._plan.digest and not unconfirmed(self._paths)

    def _leave(self) -> str:
        self._settled = True
        with suppress(OSError):  # then it still says that a deploy was cut short, which is so
            record = state.Record(state.FAILED, digest=self._plan.digest)
            state.save_on_full_disk(self._paths, record)
        return "the stack was left as it is, unconfirmed"

    def _put_back(self, before: state.Before) -> str:
        text = "interrupted; putting everything back, please wait"
        unbreakable(self._say)(Progress("restore", text))
        return self._undo(before)

    def _is_new(self, running: Optional[ContainerInfo], container: ContainerInfo) -> bool:
        return running is None or (
            (running.id, running.started_at) != (container.id, container.started_at)
        )

    def _result(
        self, changed: bool, previous: Optional[str], container: str, proof: Optional[Proof]
    ) -> DeployResult:
        plan = self._plan
        return DeployResult(
            name=plan.name,
            changed=changed,
            digest=plan.digest,
            previous_digest=previous,
            endpoint=plan.endpoint,
            container=container,
            proof=proof,
            notices=tuple(self._notices),
        )

    def _note(self, text: str) -> None:
        self._notices.append(text)
        self._say(Progress("note", text))
