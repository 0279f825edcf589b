"""An installed stack becomes the list of what is not as it was committed. Nothing is changed.

Layer: device (standard library, Python 3.8). Compared are the release's files, the links, the
unit, the weights, both releases' images by id, and the container with its plan and its Compose
file. ``repair`` is a deploy of the same release: the same gates, and nothing restarts in vain.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional

from speccompose.device import state
from speccompose.device.compose_cli import Compose
from speccompose.device.docker_answers import version_numbers
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import DeviceError
from speccompose.device.paths import Roots, StackPaths, find_stack, known_stacks
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports
from speccompose.device.release import claimed_plan, release_fault
from speccompose.device.service import KEPT_DOWN, stack_unit, unmanaged
from speccompose.device.weights import missing_weights


class Drifted(NamedTuple):
    """One difference: what was committed, and what is there."""

    stack: str
    code: str
    wanted: str
    found: str

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        return dict(self._asdict())


def drift(name: str, roots: Roots, *, ports: Ports) -> List[Drifted]:
    """What differs on one stack.

    Raises:
        DeviceError: 2 for an unknown stack, 15 when docker does not answer.
    """
    return list(_Look(find_stack(name, roots), ports).all())


def all_drift(roots: Roots, *, ports: Ports) -> List[Drifted]:
    """What differs on all stacks of this board."""
    return [item for name in known_stacks(roots) for item in drift(name, roots, ports=ports)]


class _Look:
    """One look at one stack."""

    def __init__(self, paths: StackPaths, ports: Ports) -> None:
        self._paths = paths
        self._ports = ports
        self._record = state.load(paths)
        self._digest = state.linked_digest(paths.current)
        self._plan: Optional[Plan] = claimed_plan(paths, self._digest)

    def all(self) -> Iterator[Drifted]:
        """Everything, the state first."""
        record = self._record
        if record.notice is not None:
            yield self._found("state_damaged", "a state.json", record.notice)
        if record.is_open or record.phase == state.STUCK:
            yield self._found("open_transaction", "committed", record.phase)
        elif record.phase in state.SERVING and record.digest != self._digest:
            yield self._found("other_release", str(record.digest), str(self._digest))
        yield from self._release(self._digest, "release_changed")
        yield from self._release(state.linked_digest(self._paths.previous), "previous_changed")
        if self._plan is not None:
            yield from self._weights(self._plan)
            yield from self._unit()
            yield from self._container(self._plan)
        yield from self._previous_image()

    def _release(self, digest: Optional[str], code: str) -> Iterator[Drifted]:
        fault = release_fault(self._paths, digest)
        for line in () if fault is None else fault.details:
            yield self._found(code, f"release {str(digest)[:19]} as it was written", line)

    def _weights(self, plan: Plan) -> Iterator[Drifted]:
        for download in plan.downloads:
            for fault in missing_weights(download, self._paths.roots.models):
                yield self._found("weights_changed", f"{download.repo} as it was pulled", fault)

    def _unit(self) -> Iterator[Drifted]:
        if self._record.is_open or unmanaged(self._paths.roots, self._ports) is not None:
            return
        unit = stack_unit(self._paths.name)
        found = self._ports.units.unit_state(unit)
        serves = self._record.phase in state.SERVING
        if serves and found is None:
            yield self._found("unit_missing", unit, "not installed")
        elif serves and found != "active":
            yield self._found("unit_state", f"{unit} active", str(found))
        elif not serves and found == "active":
            yield self._found("unit_state", f"{unit} not active", str(found))

    def _container(self, plan: Plan) -> Iterator[Drifted]:
        found = self._ports.docker.container(plan.project, plan.service)
        runs = found is not None and found.running
        if self._record.phase in KEPT_DOWN:
            if runs:
                yield self._found("container_up", self._record.phase, "it runs")
            return
        if found is None:
            yield self._found("container_missing", "a container", "none")
        elif not runs:
            yield self._found("container_down", "running", found.status)
        if found is None:
            return
        if runs and found.health == "unhealthy":
            yield self._found("container_unhealthy", "healthy", found.health_output[:200])
        if found.restarts:
            yield self._found("container_restarted", "0 restarts", f"{found.restarts} restarts")
        yield from self._configuration(plan, found)

    def _configuration(self, plan: Plan, found: ContainerInfo) -> Iterator[Drifted]:
        known = self._record.image_of(self._digest)
        if known is not None and known.image_id != found.image_id:
            yield self._found("image_changed", known.image_id, found.image_id)
        if (found.image, found.entrypoint, found.command) != (
            plan.image,
            plan.entrypoint,
            plan.command,
        ):
            wanted = " ".join((plan.image, *plan.entrypoint, *plan.command))
            there = " ".join((found.image, *found.entrypoint, *found.command))
            yield self._found("command_changed", wanted, there)
        if plan.gpu_runtime is not None and found.runtime != plan.gpu_runtime:
            yield self._found("runtime_changed", plan.gpu_runtime, found.runtime)
        wanted_hash = self._config_hash(plan, found)
        if wanted_hash and wanted_hash != found.config_hash:
            yield self._found("config_changed", wanted_hash, found.config_hash)

    def _config_hash(self, plan: Plan, found: ContainerInfo) -> Optional[str]:
        """What the container should carry; None where another Compose has made it."""
        if self._digest is None or not found.config_hash:
            return None
        _, version = self._ports.docker.compose()
        if version_numbers(found.compose_version) != version:
            return None
        release = self._paths.release(self._digest)
        try:
            return Compose(self._ports.docker, plan.project, release).config_hash(plan.service)
        except DeviceError:  # a damaged release is told of already
            return None

    def _previous_image(self) -> Iterator[Drifted]:
        previous = state.linked_digest(self._paths.previous)
        known = self._record.image_of(previous)
        if known is not None and self._ports.docker.image(known.image_id) is None:
            wanted = f"{known.reference} ({known.image_id[:19]}), to roll back to"
            yield self._found("previous_image_missing", wanted, "gone")

    def _found(self, code: str, wanted: str, found: str) -> Drifted:
        return Drifted(self._paths.name, code, wanted, found)
