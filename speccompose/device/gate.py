"""A stack folder becomes what stands in the way of it here, before anything is changed or pulled.

Layer: device (standard library, Python 3.8). Reads what runs now, then asks ``preflight``.

    preflight(stack_dir, roots, ports=...)               everything, before a switch
    preflight_before_pull(stack_dir, roots, ports=...)   all but what a pull would bring, and disk
    refuse_before_pull(stack_dir, roots, ports=...)      the same, as one error
    refuse_bad_disks(stack_dir, roots, ports=...)        disks that a pull must not be put on
"""

from __future__ import annotations

from pathlib import Path
from typing import List, NamedTuple, Optional

from speccompose.device import state
from speccompose.device.check_disk import check_disk
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import DeviceError
from speccompose.device.host_texts import Needs
from speccompose.device.observe import observe
from speccompose.device.paths import Roots, StackPaths
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports
from speccompose.device.preflight import (
    SILENT,
    HostFinding,
    check_stack,
    disk_findings,
    refuse,
)
from speccompose.device.release import claimed_plan
from speccompose.device.stack_folder import read_stack
from speccompose.device.weights import missing_weights

_PULL_BRINGS = ("image_missing", "weights_missing")


def preflight(stack_dir: Path, roots: Roots, *, ports: Ports) -> List[HostFinding]:
    """What would stand in the way of deploying a stack; nothing is changed.

    Raises:
        DeviceError: 3 and 19 for a bad folder.
    """
    plan = read_stack(stack_dir).plan
    now = _look(plan, roots, ports)
    return check_stack(ports, plan, roots, own=now.own, running=now.running)


def preflight_before_pull(stack_dir: Path, roots: Roots, *, ports: Ports) -> List[HostFinding]:
    """What would stand in the way of a deploy once everything is pulled, and of pulling it.

    A release that runs already has its memory: nothing is asked of it.

    Raises:
        DeviceError: 3 and 19 for a bad folder.
    """
    plan = read_stack(stack_dir).plan
    now = _look(plan, roots, ports)
    found = check_stack(ports, plan, roots, own=now.own, running=now.running)
    found = [item for item in found if item.code not in _PULL_BRINGS]
    if any(item.code in SILENT for item in found):
        return found
    if now.running is not None and now.own is not None and now.own.digest == plan.digest:
        found = [item for item in found if item.code != "memory_short"]
    missing = ports.docker.image(plan.image) is None
    return [*found, *disk_findings(ports, plan, roots, missing)]


def refuse_before_pull(stack_dir: Path, roots: Roots, *, ports: Ports) -> None:
    """Refuse what cannot be deployed here before gigabytes are brought (rules section 5).

    Raises:
        DeviceError: 15 with all findings; 3 and 19 for a bad folder.
    """
    refuse(preflight_before_pull(stack_dir, roots, ports=ports))


def refuse_bad_disks(stack_dir: Path, roots: Roots, *, ports: Ports) -> None:
    """Refuse to bring gigabytes to a disk that is not there, or does not keep them (B-05).

    A pull by itself comes before a deploy: what else that one would refuse can be mended in
    between, and what was brought is still there.

    Raises:
        DeviceError: 15 with all findings; 3 and 19 for a bad folder.
    """
    plan = read_stack(stack_dir).plan
    if not _is_here(plan, roots, ports):
        refuse(check_disk(observe(ports, roots), Needs(pulls=True)))


def _is_here(plan: Plan, roots: Roots, ports: Ports) -> bool:
    """Whether a pull would bring nothing; without docker that is not known."""
    try:
        missing = ports.docker.image(plan.image) is None
    except DeviceError:
        return False
    return not missing and not any(missing_weights(d, roots.models) for d in plan.downloads)


class _Now(NamedTuple):
    """What stands in this stack's place."""

    own: Optional[Plan]
    running: Optional[ContainerInfo]


def _look(plan: Plan, roots: Roots, ports: Ports) -> _Now:
    try:
        running = ports.docker.container(plan.project, plan.service)
    except DeviceError:  # the findings will say so
        running = None
    if running is not None and not running.running:
        running = None
    paths = StackPaths(plan.name, roots)
    return _Now(claimed_plan(paths, state.linked_digest(paths.current)), running)
