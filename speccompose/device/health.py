"""A started container becomes one that is ready, or a reason why not.

Layer: device (standard library, Python 3.8). Ready means: the process runs, it has not restarted,
/health answers 200 and the container's own health check agrees. A crash before that ends the wait
at once (the same start would fail again and, on unified memory, with less left); an 'unhealthy'
before the deadline does not, because a large model may still be loading.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from speccompose.device.answers import Reply, Server
from speccompose.device.boot_faults import cause_of
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import HEALTH, DeviceError
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Progress, Say
from speccompose.device.redact import redact

POLL_S = 1.0
SAY_EVERY_S = 3.0
LOG_LINES = 20
EXPLAINED_LINES = 4000
"""The root of a failed start stands well above the last lines."""


class Watched(NamedTuple):
    """One look at a starting stack."""

    container: Optional[ContainerInfo]
    reply: Reply
    elapsed_s: float

    @property
    def answering(self) -> bool:
        """Whether the engine itself says that it is ready."""
        return self.reply.status == 200

    @property
    def ready(self) -> bool:
        """Whether everything agrees."""
        healthy = self.container is not None and self.container.health in (None, "healthy")
        running = self.container is not None and self.container.running
        return running and healthy and self.answering


class Waiter:
    """Watches one stack start. ``keys`` are never shown."""

    def __init__(
        self, ports: Ports, plan: Plan, server: Server, keys: Sequence[str], say: Say
    ) -> None:
        self._ports = ports
        self._plan = plan
        self._server = server
        self._keys = tuple(keys)
        self._say = say
        self._first_restarts: Optional[int] = None
        self._answering_since: Optional[float] = None

    def wait(self) -> ContainerInfo:
        """Return the ready container.

        Raises:
            DeviceError: status 9 with the last log lines: it crashed, it came too late, or its
                health check cannot work.
        """
        machine = self._ports.machine
        started = machine.now_s()
        said = started - SAY_EVERY_S
        while True:
            look = self._look(machine.now_s() - started)
            if look.ready and look.container is not None:
                return look.container
            fault = self._fault(look)
            if fault is not None:
                raise self._error(fault, look.container)
            if machine.now_s() - said >= SAY_EVERY_S:
                said = machine.now_s()
                self._report(look)
            machine.sleep(POLL_S)

    def _look(self, elapsed_s: float) -> Watched:
        container = self._ports.docker.container(self._plan.project, self._plan.service)
        reply = self._server.health(self._plan.health.path)
        if container is not None and self._first_restarts is None:
            self._first_restarts = container.restarts
        if reply.status != 200:
            self._answering_since = None
        elif self._answering_since is None:
            self._answering_since = elapsed_s
        return Watched(container, reply, elapsed_s)

    def _fault(self, look: Watched) -> Optional[Tuple[str, str]]:
        """What makes further waiting useless, with its finding code."""
        container, rule = look.container, self._plan.health
        if container is None:
            return "the container is gone", "container_gone"
        if container.out_of_memory:
            return "the kernel ended the server: out of memory", "out_of_memory"
        if container.status in ("exited", "dead", "restarting") or (
            container.restarts > (self._first_restarts or 0)
        ):
            return f"the server ended while starting (exit status {container.exit_code})", "exited"
        if self._probe_is_broken(look):
            return "the server answers, but the container's health check fails", "bad_health_check"
        if look.elapsed_s >= rule.start_deadline_s:
            said = f"status {look.reply.status}" if look.reply.status else look.reply.body
            return (
                f"not ready after {rule.start_deadline_s} s ({rule.path}: {said}; "
                f"container {container.status}, health {container.health or 'unchecked'})",
                "start_deadline",
            )
        return None

    def _probe_is_broken(self, look: Watched) -> bool:
        """The server has answered for three probes' time, and the last probe still failed."""
        container, rule = look.container, self._plan.health
        if container is None or self._answering_since is None or container.health_exit in (None, 0):
            return False
        patience_s = 3 * rule.interval_s + rule.timeout_s + 1
        return look.elapsed_s - self._answering_since >= patience_s

    def _report(self, look: Watched) -> None:
        container = look.container
        if container is None:
            return
        state = container.health or container.status
        line = self._log(container, 1)
        message = f"{state}: {line[-1][:120]}" if line else state
        self._say(Progress("start", message, look.elapsed_s))

    def _error(self, fault: Tuple[str, str], container: Optional[ContainerInfo]) -> DeviceError:
        details: List[str] = []
        if container is not None and container.error:
            details.append(f"docker: {redact(container.error, self._keys)}")
        if container is not None and fault[1] == "bad_health_check":
            details.append(f"health check: {redact(container.health_output, self._keys)[:300]}")
        log = self._log(container, EXPLAINED_LINES) if container is not None else []
        exit_status = None if container is None or container.running else container.exit_code
        why = cause_of("\n".join(log), engine=self._plan.engine, exit_status=exit_status)
        if why is not None:
            details += [f"cause: {why.meaning} ({why.id})", f"seen: {why.evidence}"]
        details += [f"| {line}" for line in log[-LOG_LINES:]]
        hint = None if why is None else why.do_for(self._plan.name)
        return DeviceError(HEALTH, fault[0], details, hint, fault[1])

    def _log(self, container: ContainerInfo, lines: int) -> List[str]:
        text = redact(self._ports.docker.logs(container.id, lines), self._keys)
        return [line for line in text.splitlines() if line.strip()][-lines:]
