"""An installed stack becomes the answer whether its unit may start it now.

Layer: device (standard library, Python 3.8). What a unit asks before it starts: a second or two,
nothing from the network, nothing changed, no lock (whoever starts the unit may hold it). A stack
whose transaction was cut short, or one that was given up, is not started; what cannot work is told
in the journal rather than by a container that dies. It runs in the unit's sandbox, which hides
devices and shows every disk read-only; and a wrong clock or a mirror that is down are no reason
not to start at boot. So it asks far less than ``preflight`` does before a deploy.
"""

from __future__ import annotations

from typing import Dict, List

from speccompose.device import state
from speccompose.device.check_plan import (
    image_findings,
    memory_findings,
    port_findings,
    weight_findings,
)
from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.host_finding import HostFinding
from speccompose.device.lock import holder
from speccompose.device.paths import Roots, StackPaths, find_stack
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports
from speccompose.device.preflight import refuse
from speccompose.device.release import release_fault
from speccompose.device.stack_folder import read_plan

MIN_COMPOSE = (2, 16)
"""The unit starts with `up --wait --wait-timeout` (GH docker/compose#10276)."""


def boot_check(name: str, roots: Roots, *, ports: Ports) -> Dict[str, object]:
    """Refuse a start that cannot or must not work.

    Raises:
        DeviceError: 2 for an unknown stack, 15 when something stands in the way, 19 when the
            release is damaged.
    """
    paths = find_stack(name, roots)
    _refuse_state(paths)
    digest = state.linked_digest(paths.current)
    fault = release_fault(paths, digest)
    if fault is not None:
        raise fault
    if digest is None:
        raise DeviceError(PREFLIGHT, f"{name} has no current release", code="nothing_installed")
    plan = read_plan(paths.release(digest))
    if not plan.is_native:
        _refuse_engine(plan, ports)
    found = _quick(plan, roots, ports)
    refuse(found)
    return {"name": name, "digest": digest, "findings": [dict(item._asdict()) for item in found]}


def _quick(plan: Plan, roots: Roots, ports: Ports) -> List[HostFinding]:
    """Image, weights, port and memory; what runs already in the stack's place makes room."""
    running = ports.docker.container(plan.project, plan.service)
    if running is not None and not running.running:
        running = None
    own = None if running is None else plan
    return [
        *image_findings(ports, plan),
        *weight_findings(plan, roots),
        *port_findings(ports, plan, own=own, running=running),
        *memory_findings(ports, plan, own),
    ]


def _refuse_engine(plan: Plan, ports: Ports) -> None:
    info = ports.docker.info()
    if plan.gpu_runtime is not None and plan.gpu_runtime not in info.runtimes:
        raise DeviceError(
            PREFLIGHT,
            f"docker has no runtime called {plan.gpu_runtime}",
            [f"it has: {', '.join(info.runtimes) or 'none'}"],
            hint="see what the board needs: speccompose doctor",
            code="no_gpu_runtime",
        )
    program, version = ports.docker.compose()
    if version < MIN_COMPOSE or program != ("docker", "compose"):
        raise DeviceError(
            PREFLIGHT,
            "the unit needs Docker Compose 2.16 or newer as docker's plugin",
            [f"found: {' '.join(program)} {'.'.join(map(str, version))}"],
            hint="install the docker-compose-v2 (or docker-compose-plugin) package",
            code="compose_too_old",
        )


def _refuse_state(paths: StackPaths) -> None:
    record = state.load(paths)
    staged = record.phase == state.STAGED  # what serves meanwhile proved itself
    if record.is_open and not staged and holder(paths) is None:
        raise DeviceError(
            PREFLIGHT,
            f"{paths.name} is in the middle of a transaction ({record.phase})",
            ["what has not proved itself is not started"],
            hint=f"wait until it has ended, or: speccompose deploy {paths.name}",
            code="open_transaction",
        )
    if record.phase_of_current == state.DEGRADED:
        raise DeviceError(
            PREFLIGHT,
            f"{paths.name} was given up after its restarts",
            hint=f"mend the cause (speccompose status {paths.name}), then: "
            f"speccompose deploy {paths.name}",
            code="degraded",
        )
