"""A stand-in for the power cut: every effect of an operation has a number, and one of them is last.

Effects are the changes of files (seen through the interpreter's audit events, so none is missed
because somebody forgot to count it) and the calls of docker, before and after the daemon has done
them. What was done stays done; from the fatal effect on nothing is done any more, neither by the
operation nor by its clean-up. Either in this process (everything afterwards raises) or for real
(SIGKILL, in a forked process).
"""

import itertools
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from speccompose.device.command import Completed
from speccompose.device.docker_cli import Docker
from speccompose.device.ports import Ports
from tests.device.fakes import FakeDocker, FakeServer

CHANGES = {
    *("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.symlink", "os.link", "os.truncate"),
    *("os.chmod", "os.chown"),
}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Killed(BaseException):
    """The power went. No handler of ours may catch it."""


class Killer:
    """Counts effects; at number ``at`` it calls ``kill`` instead."""

    def __init__(self, at: int | None, kill: Callable[[], None]) -> None:
        self.count = 0
        self.what: list[str] = []
        self._at = at
        self._kill = kill
        self.paused = False

    def tick(self, what: str) -> None:
        if self.paused:
            return
        self.count += 1
        self.what.append(what)
        if self._at is not None and self.count >= self._at:
            self._kill()


_killers: list[Killer] = []
_installed: list[bool] = []


def _hook(event: str, args: tuple) -> None:
    if not _killers:
        return
    if event in CHANGES:
        _killers[-1].tick(f"{event} {args[0]}")
    elif event == "open" and isinstance(args[2], int) and args[2] & WRITES:
        _killers[-1].tick(f"write {args[0]}")


@contextmanager
def counted(killer: Killer) -> Iterator[Killer]:
    """While the block runs, its changes of files are the killer's."""
    if not _installed:
        sys.addaudithook(_hook)
        _installed.append(True)
    _killers.append(killer)
    try:
        yield killer
    finally:
        _killers.remove(killer)


class DurableDocker(FakeDocker):
    """A daemon whose containers outlive whoever asked for them: they are in a file."""

    def keep_in(self, file: Path) -> "DurableDocker":
        self.file = file
        self.save()
        return self

    def up(self, project: str, body: dict, recreate: bool) -> None:
        """A server reads its key once, when it starts."""
        was = (self.containers.get(project) or {}).get("State", {}).get("StartedAt")
        super().up(project, body, recreate)
        now = self.containers[project]
        if now["State"]["StartedAt"] != was:
            mounts = body["services"]["server"]["volumes"]
            secrets = [Path(item["source"]) for item in mounts if item["target"] == "/secrets"]
            now["Key"] = (secrets[0] / "api-key").read_text() if secrets else None

    def load(self) -> None:
        self.containers = json.loads(self.file.read_text())
        number = 1 + sum(int(body["State"]["StartedAt"][6:]) for body in self.containers.values())
        self._ids = itertools.count(number)

    def save(self) -> None:
        self.file.write_text(json.dumps(self.containers))


def mortal(ports: Ports, docker: DurableDocker, killer: Killer) -> Ports:
    """Ports whose docker calls are effects: the daemon finishes what it was asked, we may not."""

    def run(argv: Sequence[str], timeout_s: float) -> Completed:
        changing = any(word in argv for word in ("up", "down", "stop", "run", "rm"))
        if changing:
            killer.tick(f"before {' '.join(argv[-4:])}")
        killer.paused = True
        docker.load()
        answer = docker(argv, timeout_s)
        docker.save()
        killer.paused = False
        if changing:
            killer.tick(f"after {' '.join(argv[-4:])}")
        return answer

    return ports._replace(docker=Docker(run), connect=lambda plan, key: FakeServer(docker, plan))


def kill_here(action: Callable[[Killer], None], at: int | None) -> Killer:
    """Run an action in this process and stop its effects at a number."""

    def die() -> None:
        raise Killed

    with counted(Killer(at, die)) as killer:
        try:
            action(killer)
        except Killed:
            pass
    return killer


def kill_for_real(action: Callable[[Killer], None], at: int) -> bool:
    """The same in a process of its own, by SIGKILL; False when the action was over before."""
    child = os.fork()
    if child == 0:
        try:
            with counted(Killer(at, lambda: os.kill(os.getpid(), signal.SIGKILL))) as killer:
                action(killer)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
