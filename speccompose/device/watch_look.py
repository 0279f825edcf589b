"""A running stack becomes one look at it, with as little disturbance as possible.

Layer: device (standard library, Python 3.8). Asks docker, systemd and the server; decides nothing.
A token is only asked for where ``needs_token`` says so.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from speccompose.device.answers import Reply, Server
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.paths import StackPaths
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports
from speccompose.device.units import stack_unit
from speccompose.device.watch_decision import (
    NO_TOKEN,
    REFUSED,
    TOKEN,
    Memory,
    Rules,
    Seen,
    needs_token,
)
from speccompose.device.watch_metrics import read_activity

METRICS_S = 30.0
EVENTS_S = 15.0
_EVENTS_BACK_S = 86400
_ENDING_SIGNALS = ("2", "3", "6", "9", "15", "SIGINT", "SIGQUIT", "SIGKILL", "SIGTERM")
_OVERLOADED = (408, 425, 429)


class Look(NamedTuple):
    """What was seen, and what it was seen in."""

    seen: Seen
    container: Optional[ContainerInfo]
    metrics: Optional[str]


def look(
    paths: StackPaths, plan: Plan, server: Server, *, memory: Memory, rules: Rules, ports: Ports
) -> Look:
    """One look at a stack.

    Raises:
        DeviceError: status 15, when docker cannot be asked.
    """
    found = ports.docker.container(plan.project, plan.service)
    unit = ports.units.unit_state(stack_unit(paths.name)) if ports.units.available() else None
    seen = Seen(at_s=ports.machine.boot_s(), unit=unit)
    if found is None:
        return Look(seen, None, None)
    seen = seen._replace(
        start=f"{found.id}@{found.started_at}",
        status=found.status,
        docker_restarts=found.restarts,
    )
    if not found.running:
        ended = seen._replace(why_ended=_why(found), by_hand=stopped_by_hand(found, ports))
        return Look(ended, found, None)
    seen = seen._replace(health=server.health(plan.health.path).status)
    metrics = server.metrics(METRICS_S) if seen.health == 200 else None
    seen = seen._replace(activity=read_activity(metrics, plan.engine))
    if needs_token(memory, seen, rules):
        token = _outcome(server.first_token(plan.served_name, rules.token_s))
        again = None if metrics is None else server.metrics(METRICS_S)
        seen = seen._replace(token=token, later=read_activity(again, plan.engine))
    return Look(seen._replace(at_s=ports.machine.boot_s()), found, metrics)


def stopped_by_hand(container: ContainerInfo, ports: Ports) -> bool:
    """Whether `docker stop` or `docker kill` ended this container's last start.

    Docker tells it in its events, of which it keeps the last few hundred until it is restarted: a
    container that ended because docker did is none that a person stopped.
    """
    now = int(ports.machine.wall_s()) + 1  # else what was done in this very second is not told
    kinds = [word for kind in ("start", "kill", "stop") for word in ("--filter", f"event={kind}")]
    argv = [
        *("docker", "events", "--since", str(now - _EVENTS_BACK_S), "--until", str(now)),
        *("--filter", f"container={container.id}", *kinds),
        *("--format", '{{.Action}} {{index .Actor.Attributes "signal"}}'),
    ]
    answer = ports.docker.ask(argv, EVENTS_S)
    by_hand = False
    for line in answer.stdout.splitlines() if answer.returncode == 0 else []:
        action, _, sign = line.strip().partition(" ")
        if action == "start":
            by_hand = False
        elif action == "stop" or (action == "kill" and sign in _ENDING_SIGNALS):
            by_hand = True
    return by_hand


def _why(container: ContainerInfo) -> str:
    if container.out_of_memory:
        return "the kernel ended it: out of memory"
    if container.status in ("exited", "dead"):
        return f"it ended (exit status {container.exit_code})"
    return f"its container is {container.status}"


def _outcome(reply: Reply) -> str:
    if reply.status == 200:
        return TOKEN
    if 400 <= reply.status < 500 and reply.status not in _OVERLOADED:
        return REFUSED
    return NO_TOKEN
