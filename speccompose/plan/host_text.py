"""Texts that every Linux machine has become architecture, memory, GPU name and power mode.

Part of stage 1 of 7. Pure. GPU memory figures are never read here: nvidia-smi answers [N/A] on
Orin, Thor and DGX Spark alike, so memory is MemTotal (rules section 1).
"""

import re

from speccompose.plan.device_tree import readable
from speccompose.vocab.base import Frozen
from speccompose.vocab.facts import RawFacts

_KIB_PER_MIB = 1024
_ARCHITECTURES = {"arm64": "aarch64", "amd64": "x86_64", "x86-64": "x86_64"}
_MEMORY_LINE = re.compile(r"^(Mem[A-Z][A-Za-z]+):\s*([0-9]{1,15})\s*kB", re.M)
_POWER_MODE = re.compile(r"^NV Power Mode\s*:[ \t]*(\S[^\r\n]*)", re.M | re.I)
_OS_FIELD = re.compile(r"^(ID|VERSION_ID)=[\"']?([^\"'\r\n]*)", re.M)
_DOCKER_ARCHITECTURE = re.compile(r'"Architecture"\s*:\s*"([A-Za-z0-9_-]+)"')
_LISTED_GPU = re.compile(r"^GPU [0-9]+:\s*(.+?)\s*(?:\(UUID|$)")


class MemoryReading(Frozen, frozen=True, kw_only=True):
    """MemTotal, MemAvailable and MemFree in MiB, rounded down; None where not read."""

    total_mib: int | None
    available_mib: int | None
    free_mib: int | None


def read_memory(facts: RawFacts) -> MemoryReading:
    """Parse /proc/meminfo. A total of zero counts as not read."""
    lines = dict(_MEMORY_LINE.findall(facts.files.get("/proc/meminfo", "")))
    mib = {name: int(kib) // _KIB_PER_MIB for name, kib in lines.items()}
    total = mib.get("MemTotal") or None
    available = mib.get("MemAvailable")
    if total is not None and available is not None:
        available = min(available, total)
    return MemoryReading(total_mib=total, available_mib=available, free_mib=mib.get("MemFree"))


def read_architecture(facts: RawFacts) -> str | None:
    """Machine name as Linux spells it ('aarch64', 'x86_64'); None when nothing says it."""
    words = facts.commands.get("uname -m", "").split()
    if words:
        name = words[0].lower()
        return _ARCHITECTURES.get(name, name)
    for command, output in facts.commands.items():
        match = _DOCKER_ARCHITECTURE.search(output) if command.startswith("docker info") else None
        if match is not None:
            name = match.group(1).lower()
            return _ARCHITECTURES.get(name, name)
    return None


def read_gpu_name(facts: RawFacts) -> str | None:
    """Name of the first GPU in any recorded nvidia-smi output."""
    for command, output in facts.commands.items():
        if not command.startswith("nvidia-smi"):
            continue
        for line in output.splitlines():
            name = _gpu_of_line(line)
            if name is not None:
                return name
    return None


def _gpu_of_line(line: str) -> str | None:
    """GPU name of one row: '0, Orin (nvgpu), [N/A]', 'NVIDIA GB10, [N/A]', 'GPU 0: NVIDIA Thor'."""
    listed = _LISTED_GPU.match(line)
    if listed is not None:
        return readable(listed.group(1))
    fields = [readable(field) for field in line.split(",")]
    names = [field for field in fields if field and not field.isdigit()]
    if not names or names[0].lower() in ("name", "index") or names[0].startswith("["):
        return None
    return None if "failed" in names[0].lower() else names[0]


def read_power_mode(facts: RawFacts) -> str | None:
    """Name of the nvpmodel mode, from 'NV Power Mode: 25W'; ids differ between modules."""
    match = _POWER_MODE.search(facts.commands.get("nvpmodel -q", ""))
    return readable(match.group(1)) or None if match is not None else None


def read_ubuntu(facts: RawFacts) -> str | None:
    """Ubuntu's version ('22.04'); None on other systems."""
    fields = dict(_OS_FIELD.findall(facts.files.get("/etc/os-release", "")))
    return fields.get("VERSION_ID") or None if fields.get("ID", "").lower() == "ubuntu" else None


def read_kernel(facts: RawFacts) -> str | None:
    """Kernel release ('5.15.148-tegra')."""
    words = facts.commands.get("uname -r", "").split()
    return readable(words[0]) or None if words else None
