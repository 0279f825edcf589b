"""A host and a plan become the list of what would go wrong, before anything is pulled or changed.

Layer: device (standard library, Python 3.8).

    check_host(ports, ...)               -> findings about this host      (doctor)
    check_stack(ports, plan, roots, ...) -> findings about one deploy     (status 15 when any)
    refuse(findings)                     raises one DeviceError for all errors

Everything is looked at before anything is refused, so that one run names every cause.
"""

from __future__ import annotations

from pathlib import Path
from typing import List, NamedTuple, Optional, Sequence

from speccompose.device.docker_cli import ContainerInfo, EngineInfo
from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.paths import Roots
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports
from speccompose.device.weights import missing_weights

MIN_HEADROOM_MIB = 2048
"""Rules section 4: what a stack leaves free, at least."""

IMAGE_FACTOR = 3
"""Rules section 5: an image unpacks to about three times its download."""

ERROR = "error"
WARNING = "warning"
_RAW_TABLE_DOCKER = 28
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


class HostFinding(NamedTuple):
    """One thing noticed on this host, in the shape of the contract's findings."""

    severity: str
    code: str
    message: str
    hint: Optional[str] = None


def refuse(findings: Sequence[HostFinding]) -> None:
    """Raise one error for all findings that forbid the deploy.

    Raises:
        DeviceError: status 15.
    """
    errors = [finding for finding in findings if finding.severity == ERROR]
    if not errors:
        return
    if len(errors) == 1:
        brief, _, rest = errors[0].message.partition("\n")
        raise DeviceError(PREFLIGHT, brief, rest.splitlines(), errors[0].hint, errors[0].code)
    details = []
    for finding in errors:
        details.append(finding.message)
        if finding.hint:
            details.append(f"  -> {finding.hint}")
    raise DeviceError(PREFLIGHT, f"{len(errors)} things stand in the way", details)


def check_host(ports: Ports, gpu_runtime: Optional[str] = None) -> List[HostFinding]:
    """Docker, Compose, the GPU runtime, and kernels that break Docker's networks."""
    findings: List[HostFinding] = []
    try:
        info = ports.docker.info()
    except DeviceError as error:
        return [_from_error(error)]
    try:
        ports.docker.compose()
    except DeviceError as error:
        findings.append(_from_error(error))
    if gpu_runtime is not None and gpu_runtime not in info.runtimes:
        findings.append(_no_runtime(gpu_runtime, info))
    if info.driver == "vfs":
        findings.append(
            HostFinding(
                WARNING,
                "vfs_driver",
                "docker stores images with the vfs driver: each layer is a full copy",
                "use overlay2; vfs multiplies the size of every image",
            )
        )
    if _breaks_bridges(info, ports):
        findings.append(
            HostFinding(
                WARNING,
                "no_raw_table",
                f"docker {info.version} publishes no ports on kernel {info.kernel}: "
                "it lacks the iptables raw table",
                "our stacks use the host network here; for others: JetPack 6.2.1 or newer, "
                "or docker 27.5.1 held back",
            )
        )
    return findings


def check_stack(
    ports: Ports, plan: Plan, roots: Roots, *, own: Optional[Plan], running: Optional[ContainerInfo]
) -> List[HostFinding]:
    """Everything that must be so before a switch.

    ``own`` is the plan of the release that runs now in this stack's place and will make room;
    None when nothing of it runs. ``running`` is its container.
    """
    findings = check_host(ports, plan.gpu_runtime)
    if not any(finding.code in ("no_docker", "docker_down") for finding in findings):
        findings += _image_findings(ports, plan)
    findings += _weight_findings(plan, roots)
    if not _holds_port(running, own, plan.port):
        findings += _port_findings(ports, plan)
    findings += _memory_findings(ports, plan, own if running is not None else None)
    return findings


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
        HostFinding(
            ERROR,
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


def _image_findings(ports: Ports, plan: Plan) -> List[HostFinding]:
    image = ports.docker.image(plan.image)
    if image is None:
        return [
            HostFinding(
                ERROR,
                "image_missing",
                f"image {plan.image} is not on this board",
                f"run: speccompose pull {plan.name}",
            )
        ]
    machine = ports.machine.architecture()
    found = _ARCHITECTURES.get(image.architecture, image.architecture)
    if found and found != machine:
        return [
            HostFinding(
                ERROR,
                "image_architecture",
                f"image {plan.image} is for {image.architecture}, this board is {machine}",
                "remove it and pull again, or name an image that has this architecture",
            )
        ]
    return []


def _weight_findings(plan: Plan, roots: Roots) -> List[HostFinding]:
    faults = [f for download in plan.downloads for f in missing_weights(download, roots.models)]
    hint = f"run: speccompose pull {plan.name}"
    return [HostFinding(ERROR, "weights_missing", fault, hint) for fault in faults]


def _holds_port(running: Optional[ContainerInfo], own: Optional[Plan], port: int) -> bool:
    """Whether our own container has the port, and will make room. A damaged release has no plan
    to tell it; the container's command does.
    """
    if running is None:
        return False
    if own is not None:
        return own.port == port
    return ("--port", str(port)) in zip(running.command, running.command[1:])  # noqa: B905


def _port_findings(ports: Ports, plan: Plan) -> List[HostFinding]:
    fault = ports.machine.bind_fault(plan.bind, plan.port)
    if fault is None:
        return []
    if "no address" in fault:
        return [HostFinding(ERROR, "bad_bind", fault, "give --bind an address of this machine")]
    holder = ports.docker.publisher(plan.port)
    who = f"container {holder}" if holder else ports.machine.port_holder(plan.port)
    return [
        HostFinding(
            ERROR,
            "port_taken",
            f"port {plan.port} on {plan.bind} is taken by {who or 'a process not ours to see'}",
            "stop it, or plan with another --port",
        )
    ]


def _memory_findings(ports: Ports, plan: Plan, own: Optional[Plan]) -> List[HostFinding]:
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
    return [HostFinding(ERROR, "memory_short", "\n".join(lines), hint)]


def _no_runtime(wanted: str, info: EngineInfo) -> HostFinding:
    return HostFinding(
        ERROR,
        "no_gpu_runtime",
        f"docker has no runtime called {wanted} (it has {', '.join(info.runtimes) or 'none'})",
        "apt-get install nvidia-container-toolkit; nvidia-ctk runtime configure "
        "--runtime=docker; systemctl restart docker",
    )


def _breaks_bridges(info: EngineInfo, ports: Ports) -> bool:
    """Docker 28 needs the raw table to publish ports; L4T kernels may lack it."""
    major = info.version.split(".")[0]
    if not major.isdigit() or int(major) < _RAW_TABLE_DOCKER or "tegra" not in info.kernel:
        return False
    return not ports.machine.has_raw_table()


def _from_error(error: DeviceError) -> HostFinding:
    message = "\n".join((error.brief, *error.details))
    return HostFinding(ERROR, error.code, message, error.hint)
