"""Can containers get at the GPU: runtime, device nodes, mount lists, CDI, and who else holds it.

Layer: device (standard library, Python 3.8). Pure: observed texts become findings. Asked only where
a stack wants the GPU.
"""

from __future__ import annotations

import re
from typing import Dict, List, Tuple

from speccompose.device.command import NOT_FOUND
from speccompose.device.host_finding import HostFinding, error, info, warning
from speccompose.device.host_texts import (
    GPU_RUNTIME,
    Needs,
    containers,
    engine_body,
    l4t,
    output,
    said,
    starting,
    text_at,
)
from speccompose.device.observe import CDI_SPECS, CSV_FOLDER, Observed

HELD_MIB = 1024
"""Less than this is a desktop or a monitor, not a model."""

_NODES = ("nvidia", "nvgpu", "nvhost", "nvmap")
_CONFIG = "/etc/nvidia-container-runtime/config.toml"
_NVMAP = "/sys/kernel/debug/nvmap/iovmm/clients"
_MODE = re.compile(r"^\s*mode\s*=\s*\"([a-z]+)\"", re.M)
_CLIENT = re.compile(r"^\s*\S+\s+(\S{1,64})\s+(\d{1,9})\s+(\d{1,12})([KMG])\s*$", re.M)
_COMPUTE = re.compile(r"^\s*(\d{1,9}),\s*([^,\n]{1,200}),\s*(\d{1,9}) MiB\s*$", re.M)
_PER_MIB = {"K": 1.0 / 1024, "M": 1.0, "G": 1024.0}
_CONFIGURE = (
    "sudo apt-get install nvidia-container-toolkit",
    "sudo nvidia-ctk runtime configure --runtime=docker",
    "sudo systemctl restart docker",
)
_REFRESH = "sudo nvidia-ctk cdi generate --mode=csv --output=/etc/cdi/nvidia.yaml"


def check_gpu(observed: Observed, needs: Needs) -> List[HostFinding]:
    """Nothing for a machine whose stacks run on the CPU."""
    if needs.gpu_runtime is None:
        return []
    return [
        *_runtime(observed, needs.gpu_runtime),
        *_nodes(observed),
        *_mount_lists(observed),
        *_cdi(observed),
        *_held(observed),
    ]


def _runtime(observed: Observed, wanted: str) -> List[HostFinding]:
    body = engine_body(observed)
    known = body.get("Runtimes")
    if not body:
        return []
    names = sorted(known) if isinstance(known, dict) else []
    if wanted not in names:
        return [
            error(
                "no_gpu_runtime",
                f"docker has no runtime called {wanted} (it has {', '.join(names) or 'none'})",
                "a freshly flashed board often lacks it; restarting docker interrupts its stacks",
                evidence=(_toolkit(observed),),
                fix=_CONFIGURE,
            )
        ]
    found = []
    toolkit = output(observed, "nvidia-ctk --version")
    if toolkit is not None and toolkit.status == NOT_FOUND:
        found.append(
            warning(
                "toolkit_missing",
                f"docker has a runtime called {wanted}, but nvidia-ctk is not installed",
                "the runtime may be a leftover of another release",
                evidence=("nvidia-ctk: command not found",),
                fix=_CONFIGURE[:1],
            )
        )
    if text_at(body, "DefaultRuntime") == GPU_RUNTIME:
        found.append(
            info(
                "default_runtime_nvidia",
                "every container gets the GPU: nvidia is docker's default runtime",
                "jetson-containers sets it so; our stacks name their runtime and do not need it",
                evidence=("docker info: DefaultRuntime nvidia",),
            )
        )
    return found


def _toolkit(observed: Observed) -> str:
    told = (said(observed, "nvidia-ctk --version") or "").splitlines()
    return told[0][:100] if told else "nvidia-ctk: not installed"


def _nodes(observed: Observed) -> List[HostFinding]:
    listed = observed.folders.get("/dev")
    if listed is None or any(name.startswith(_NODES) for name in listed):
        return []
    return [
        error(
            "no_gpu_device",
            "this board shows no GPU: its driver is not loaded",
            "after an upgrade of the kernel or of L4T, reboot; else install the L4T packages anew",
            evidence=(f"/dev holds nothing called {', '.join(name + '*' for name in _NODES)}",),
            fix=("sudo dmesg | grep -i -e nvgpu -e nvidia", "sudo reboot"),
        )
    ]


def _mount_lists(observed: Observed) -> List[HostFinding]:
    """On R36 the runtime mounts what these lists name; without them there is no CUDA inside."""
    if l4t(observed)[:1] != (36,):
        return []
    names = observed.folders.get(CSV_FOLDER)
    mode = _MODE.search(observed.files.get(_CONFIG, ""))
    if any(name.endswith(".csv") for name in names or ()) or (mode and mode.group(1) == "cdi"):
        return []
    if names is None and not observed.folders:
        return []
    return [
        warning(
            "no_mount_lists",
            "the nvidia runtime has no mount lists: containers would start without CUDA",
            evidence=(f"{CSV_FOLDER}: {'empty' if names is not None else 'not there'}",),
            fix=("sudo apt-get install --reinstall nvidia-l4t-init nvidia-container-toolkit",),
        )
    ]


def _cdi(observed: Observed) -> List[HostFinding]:
    mode = _MODE.search(observed.files.get(_CONFIG, ""))
    wanted = mode is not None and mode.group(1) == "cdi"
    specs = [path for path in CDI_SPECS if path in observed.files]
    listed = said(observed, "nvidia-ctk cdi list")
    if wanted and listed is not None and "nvidia.com/gpu" not in listed:
        return [
            error(
                "cdi_missing",
                "the nvidia runtime is set to CDI, and no CDI device is known",
                evidence=(f'{_CONFIG}: mode = "cdi"', "nvidia-ctk cdi list: no nvidia.com/gpu"),
                fix=(_REFRESH,),
            )
        ]
    if specs and observed.absent:
        more = f" and {len(observed.absent) - 2} more" if len(observed.absent) > 2 else ""
        return [
            (error if wanted else warning)(
                "cdi_stale",
                "the CDI specification names files that are gone: it is of another driver",
                None if wanted else "our stacks use `runtime: nvidia`, which does not read it",
                evidence=(specs[0], ", ".join(observed.absent[:2]) + more),
                fix=(_REFRESH,),
            )
        ]
    return []


def _held(observed: Observed) -> List[HostFinding]:
    """GPU memory that others hold: their containers by name, processes by size."""
    running = containers(observed)
    ours = any(item.stack for item in running)
    others = [item.name for item in running if item.uses_gpu and not item.stack]
    sizes = _sizes(observed)
    big = [f"{name} ({pid}): {mib:.0f} MiB" for (name, pid), mib in sizes if mib >= HELD_MIB]
    evidence = [f"container {name}" for name in others] + ([] if ours else big[:4])
    if not evidence:
        return []
    return [
        warning(
            "gpu_shared",
            "others use the GPU, and its memory is the board's one memory",
            "a stack is planned with what is free now; what they take later is missing",
            evidence=evidence,
            fix=[f"docker stop {name}" for name in others],
        )
    ]


def _sizes(observed: Observed) -> List[Tuple[Tuple[str, str], float]]:
    found: Dict[Tuple[str, str], float] = {}
    for name, pid, size, unit in _CLIENT.findall(observed.files.get(_NVMAP, "")):
        found[name, pid] = int(size) * _PER_MIB[unit]
    apps = starting(observed, "nvidia-smi --query-compute-apps")
    for pid, name, size in _COMPUTE.findall(apps.out if apps is not None else ""):
        found[name.strip().rsplit("/", 1)[-1], pid] = float(size)
    return sorted(found.items(), key=lambda pair: -pair[1])
