"""What one stack's plan asks of this host: its image, weights, port, memory and disk.

Layer: device (standard library, Python 3.8). Reads through the ports; everything that needs no plan
is judged in the other checks.
"""

from __future__ import annotations

from pathlib import Path
from typing import List, Optional

from speccompose.device.check_memory import MIN_HEADROOM_MIB
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.host_finding import HostFinding, error
from speccompose.device.paths import Roots
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports
from speccompose.device.weights import missing_weights

IMAGE_FACTOR = 3
"""Rules section 5: an image unpacks to about three times its download."""

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


def disk_findings(ports: Ports, plan: Plan, roots: Roots, image_missing: bool) -> List[HostFinding]:
    """Whether a pull and a first start fit: missing weights on our disk; on docker's the image x 3
    and the cache for compiled kernels, if this engine build has none yet; 10 % on top of it all.
    """
    missing = [d for d in plan.downloads if missing_weights(d, roots.models)]
    weights_mib = sum(download.mib or 0 for download in missing) * 11 // 10
    image_mib = (plan.image_download_mib or 0) * IMAGE_FACTOR if image_missing else 0
    docker_mib = (image_mib + _new_cache_mib(ports, plan)) * 11 // 10
    needs = {roots.models: weights_mib}
    if docker_mib:
        docker_root = Path(ports.docker.info().root_dir)
        needs[docker_root] = needs.get(docker_root, 0) + docker_mib
    free = {path: ports.machine.free_disk_mib(path) for path in needs}
    if len(needs) == 2 and len(set(free.values())) == 1:  # one disk holds both
        needs = {roots.models: weights_mib + docker_mib}
    return [
        error(
            "disk_full",
            f"{path}: {need} MiB needed, {free[path]} MiB free",
            "free some disk, or move the state tree: SPECCOMPOSE_STATE",
        )
        for path, need in needs.items()
        if need > free[path]
    ]


def _new_cache_mib(ports: Ports, plan: Plan) -> int:
    """Rules section 5: one cache volume per engine build; one that is there holds its kernels."""
    if plan.cache_mib and plan.cache_volumes:
        new = any(not ports.docker.has_volume(name) for name in plan.cache_volumes)
        return plan.cache_mib if new else 0
    return plan.cache_mib


def image_findings(ports: Ports, plan: Plan) -> List[HostFinding]:
    """Whether the image is here, and for this machine."""
    image = ports.docker.image(plan.image)
    if image is None and plan.is_native:
        text = f"the vLLM of this board is not what the plan was made for ({plan.image})"
        return [error("native_other_version", text, "plan again on this board: speccompose deploy")]
    if image is None:
        text = f"image {plan.image} is not on this board"
        return [error("image_missing", text, f"run: speccompose pull {plan.name}")]
    machine = ports.machine.architecture()
    found = _ARCHITECTURES.get(image.architecture, image.architecture)
    if found and found != machine:
        text = f"image {plan.image} is for {image.architecture}, this board is {machine}"
        hint = "remove it and pull again, or name an image that has this architecture"
        return [error("image_architecture", text, hint)]
    return []


def weight_findings(plan: Plan, roots: Roots) -> List[HostFinding]:
    """Whether target and draft are here and complete."""
    faults = [f for download in plan.downloads for f in missing_weights(download, roots.models)]
    hint = f"run: speccompose pull {plan.name}"
    return [error("weights_missing", fault, hint) for fault in faults]


def port_findings(
    ports: Ports, plan: Plan, *, own: Optional[Plan], running: Optional[ContainerInfo]
) -> List[HostFinding]:
    """Whether the server can listen. What an older generation of this stack holds makes room."""
    if _holds_port(running, own, plan.port):
        return []
    fault = ports.machine.bind_fault(plan.bind, plan.port)
    if fault is None:
        return []
    if "no address" in fault:
        return [error("bad_bind", fault, "give --bind an address of this machine")]
    holder = ports.docker.publisher(plan.port)
    who = f"container {holder}" if holder else ports.machine.port_holder(plan.port)
    return [
        error(
            "port_taken",
            f"port {plan.port} on {plan.bind} is taken by {who or 'a process not ours to see'}",
            "stop it, or plan with another --port",
        )
    ]


def _holds_port(running: Optional[ContainerInfo], own: Optional[Plan], port: int) -> bool:
    """Whether our own container has the port, of whatever generation it is.

    Its release's plan tells; so does its command, where the release is damaged or another one.
    """
    if running is None:
        return False
    if own is not None and own.port == port:
        return True
    words = running.command
    return any(words[at : at + 2] == ("--port", str(port)) for at in range(len(words)))


def memory_findings(ports: Ports, plan: Plan, own: Optional[Plan]) -> List[HostFinding]:
    """Whether the plan's memory is there; ``own`` is what runs now and will make room."""
    memory = ports.machine.memory_mib()
    available = memory.get("MemAvailable")
    if available is None:
        return []
    held = own.memory.held_mib if own is not None else 0
    need = plan.memory.held_mib
    if plan.memory.utilization is not None:  # vLLM checks its share against free memory at start
        need = max(need, int(plan.memory.utilization * plan.memory.total_mib))
    if available + held >= need + MIN_HEADROOM_MIB:
        return []
    lines = [
        f"memory: {need} MiB needed and {MIN_HEADROOM_MIB} MiB left free, "
        f"{available + held} MiB there",
        f"MemAvailable is {available} MiB",
    ]
    if held:
        lines.append(
            f"assumed: the running release gives back the {held} MiB that it was planned to hold"
        )
    hint = "stop what holds memory, or plan again with --replan"
    return [error("memory_short", "\n".join(lines), hint)]
