"""One look at an installed stack, and what has to be done about it.

Layer: device (standard library, Python 3.8). A timer calls it every minute; each pass is a process
of its own, so what it has to remember is in watch.json. Nothing is locked while it looks; what it
does is done under the stack's lock, after making sure that nothing has changed meanwhile. Stacks
that a person has stopped, that are in a transaction or being measured, are left alone.

    watch(name, roots, ports=..., say=...)  -> Pass
"""

from __future__ import annotations

import time
from typing import Dict, List, NamedTuple, Optional, Tuple

from speccompose.device import state
from speccompose.device.api_key import installed_key, installed_keys
from speccompose.device.compose_cli import Compose
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import LOCKED, DeviceError
from speccompose.device.file_faults import unwritable
from speccompose.device.held import hold_reason
from speccompose.device.lock import hold, holder
from speccompose.device.paths import Roots, StackPaths, find_stack
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Progress, Say, silent
from speccompose.device.redact import redact
from speccompose.device.release import claimed_plan
from speccompose.device.service import align_service, keep_down
from speccompose.device.watch_decision import (
    GIVE_UP,
    LEFT,
    NOTHING,
    RESTART,
    SERVING,
    Judged,
    Memory,
    Rules,
    judge,
)
from speccompose.device.watch_deep import look_deeper
from speccompose.device.watch_file import (
    Mark,
    Watched,
    deployed_mark,
    load_watched,
    save_watched,
)
from speccompose.device.watch_look import Look, look
from speccompose.device.watch_quality import Note

_LOG_LINES = 20


class Pass(NamedTuple):
    """What one pass saw and did."""

    name: str
    state: str
    action: str
    reason: str
    restarts: int
    notes: Tuple[Note, ...] = ()

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        return {**self._asdict(), "notes": [dict(note._asdict()) for note in self.notes]}


def watch(
    name: str, roots: Roots, *, ports: Ports, say: Say = silent, token_s: Optional[float] = None
) -> Pass:
    """Look at one stack and do what has to be done; a token may take ``token_s``.

    Raises:
        DeviceError: 2 for an unknown stack, 15 when docker cannot be asked or watch.json cannot
            be written, 8 when a restart fails (it counts as one).
    """
    paths = find_stack(name, roots)
    record = state.load(paths)
    if record.phase == state.DEGRADED:
        return _stays_down(paths, ports)
    if record.phase_of_current not in state.SERVING:
        return Pass(name, LEFT, NOTHING, f"it is {record.phase}", 0)
    held = hold_reason(paths)
    if held is not None:
        return Pass(name, LEFT, NOTHING, f"this board is held: {held}", 0)
    busy = holder(paths)
    if busy is not None:
        return Pass(name, LEFT, NOTHING, f"it is being changed: {busy}", 0)
    digest = state.linked_digest(paths.current)
    plan = claimed_plan(paths, digest)
    if plan is None or digest is None:
        return Pass(name, LEFT, NOTHING, "its current release cannot be read", 0)
    rules = Rules(float(plan.health.start_deadline_s))
    if token_s is not None:
        rules = rules._replace(token_s=token_s)
    return _Watch(paths, plan, record, ports, say).run(rules)


class _Watch:
    """One pass over one stack that is meant to serve."""

    def __init__(
        self, paths: StackPaths, plan: Plan, record: state.Record, ports: Ports, say: Say
    ) -> None:
        self._paths = paths
        self._plan = plan
        self._record = record
        self._ports = ports
        self._say = say
        self._keys = installed_keys(paths)
        self._was = self._remembered()

    def run(self, rules: Rules) -> Pass:
        """Look, judge, act, remember."""
        server = self._ports.connect(self._plan, installed_key(self._plan, self._paths))
        found = look(
            self._paths,
            self._plan,
            server,
            memory=self._was.memory,
            rules=rules,
            ports=self._ports,
        )
        judged = judge(self._was.memory, found.seen, rules)
        now = self._was._replace(
            state=judged.state, reason=judged.reason, memory=judged.memory, mark=None
        )
        if judged.action in (RESTART, GIVE_UP):
            return self._act(judged, now, found)
        if judged.state == SERVING and found.container is not None:
            now = look_deeper(now, found, self._plan, server, paths=self._paths, ports=self._ports)
        self._save(now)
        return self._pass(judged, now)

    def _remembered(self) -> Watched:
        """What the last pass left, unless the board was rebooted or the stack deployed since."""
        boot, deployed = self._ports.machine.boot_id(), deployed_mark(self._record)
        known = load_watched(self._paths)
        if known is None or known.deployed != deployed or known.mark is not None:
            return Watched(boot, deployed)
        if known.boot != boot:
            return known._replace(boot=boot, memory=Memory(), checked="")
        return known

    def _act(self, judged: Judged, now: Watched, found: Look) -> Pass:
        try:
            with hold(self._paths, "watch", machine=self._ports.machine):
                if self._has_changed(found.container):
                    why = "it was changed while we looked"
                    return Pass(self._paths.name, LEFT, NOTHING, why, 0)
                if judged.action == RESTART:
                    now = self._restart(judged, now)
                else:
                    now = self._give_up(judged, now, found.container)
        except DeviceError as error:
            if error.status != LOCKED:
                raise
            return Pass(self._paths.name, LEFT, NOTHING, f"{error.brief}: {error.details[0]}", 0)
        return self._pass(judged, now)

    def _has_changed(self, container: Optional[ContainerInfo]) -> bool:
        if deployed_mark(state.load(self._paths)) != deployed_mark(self._record):
            return True
        again = self._ports.docker.container(self._plan.project, self._plan.service)
        before = None if container is None else (container.id, container.started_at)
        return before != (None if again is None else (again.id, again.started_at))

    def _restart(self, judged: Judged, now: Watched) -> Watched:
        """Counted before it is done: a pass that dies meanwhile has still used one up."""
        self._tell(f"restarting it: {judged.reason}")
        self._save(now)
        compose = self._compose()
        compose.stop()
        note = self._page_cache()
        if note is not None:
            self._tell(note.message)
            now = now._replace(notes=(*_without(now.notes, note.code), note))
            self._save(now)
        compose.up(recreate=True)
        return now

    def _give_up(self, judged: Judged, now: Watched, container: Optional[ContainerInfo]) -> Watched:
        """The mark first: a power cut from here on leaves a stack that says why it is down.

        A release that was staged is given up with it: what it was to replace serves no more, so
        whoever staged it has to look first.
        """
        self._tell(f"giving it up: {judged.reason}")
        lines = self._last_lines(container)
        marked = now._replace(mark=Mark(judged.reason, _utc(self._ports), lines))
        self._save(marked)
        record = state.load(self._paths)
        digest = state.linked_digest(self._paths.current)
        try:
            state.save_on_full_disk(self._paths, record.settled(state.DEGRADED, digest))
        except OSError as error:
            raise unwritable(f"{self._paths.name} is given up, which cannot be written", error)
        self._compose().stop()
        for notice in align_service(self._paths, self._ports):
            self._tell(notice)
        return marked

    def _page_cache(self) -> Optional[Note]:
        """vLLM asks for free memory at start and counts page cache as taken: told, never dropped
        (rules section 4)."""
        memory, plan = self._ports.machine.memory_mib(), self._plan.memory
        free, available = memory.get("MemFree"), memory.get("MemAvailable")
        if free is None or available is None or plan.utilization is None:
            return None
        need = int(plan.utilization * plan.total_mib)
        if free >= need or available < need:
            return None
        return Note(
            "page_cache",
            f"{need} MiB must be free at start, {free} MiB are, {available} MiB would be without "
            "page cache; to give it back: sync; sysctl vm.drop_caches=3",
        )

    def _last_lines(self, container: Optional[ContainerInfo]) -> Tuple[str, ...]:
        if container is None:
            return ()
        text = redact(self._ports.docker.logs(container.id, _LOG_LINES), self._keys)
        return tuple(line[:300] for line in text.splitlines() if line.strip())[-_LOG_LINES:]

    def _compose(self) -> Compose:
        release = self._paths.release(self._plan.digest)
        return Compose(self._ports.docker, self._plan.project, release)

    def _save(self, now: Watched) -> None:
        try:
            save_watched(self._paths, now._replace(looked_at=_utc(self._ports)))
        except OSError as error:
            raise unwritable(f"cannot write below {self._paths.home}", error) from error

    def _pass(self, judged: Judged, now: Watched) -> Pass:
        restarts = len(now.memory.restarts)
        return Pass(
            self._paths.name, judged.state, judged.action, judged.reason, restarts, now.notes
        )

    def _tell(self, message: str) -> None:
        self._say(Progress("watch", f"{self._paths.name}: {message}"))


def _stays_down(paths: StackPaths, ports: Ports) -> Pass:
    """A power cut may have come between the mark and the stop."""
    try:
        with hold(paths, "watch", machine=ports.machine):
            done = keep_down(paths, ports)
            align_service(paths, ports)
    except DeviceError as error:
        if error.status != LOCKED:
            raise
        done = None
    known = load_watched(paths)
    reason = known.mark.reason if known is not None and known.mark is not None else ""
    return Pass(paths.name, state.DEGRADED, NOTHING, done or reason, 0)


def _without(notes: "Tuple[Note, ...]", code: str) -> List[Note]:
    return [note for note in notes if note.code != code]


def _utc(ports: Ports) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ports.machine.wall_s()))
