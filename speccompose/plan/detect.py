"""Texts as read from a board become what they say: parts, release, memory. Nothing is looked up.

Stage 1 of 7, before resolve. Pure. Every text may be missing; garbage is reported, never guessed.
"""

import re

from speccompose.plan.device_tree import readable, tree_text
from speccompose.plan.host_text import (
    MemoryReading,
    read_architecture,
    read_gpu_name,
    read_kernel,
    read_memory,
    read_power_mode,
    read_ubuntu,
)
from speccompose.plan.part_hints import BOOT_CONTROL, ModuleHints, read_module_hints
from speccompose.plan.release_line import RELEASE_FILE, L4tReading, read_l4t
from speccompose.vocab.facts import DetectedDevice, RawFacts
from speccompose.vocab.finding import Finding, info, warning

_PRODUCT = "/sys/class/dmi/id/product_name"
_SOC_FAMILY = "/sys/devices/soc0/family"
_DGX_RELEASE = "/etc/dgx-release"
_TEGRA_WORDS = re.compile(r"\b(?:jetson|tegra|orin|xavier)\b", re.I)
_CACHE_GAP_MIB = 1024


def detect_device(facts: RawFacts) -> DetectedDevice:
    """Say what the texts say.

    Never raises: whether the board can be used is decided in stage 2.
    """
    hints = read_module_hints(facts)
    release = read_l4t(facts)
    memory = read_memory(facts)
    gpu = read_gpu_name(facts)
    kernel = read_kernel(facts)
    architecture = read_architecture(facts)
    markers = _tegra_markers(facts, hints, release, gpu=gpu, kernel=kernel)
    is_tegra = bool(markers) and architecture != "x86_64"
    is_spark = is_dgx_spark(architecture, gpu) and hints.soc is None
    foreign = is_spark or architecture == "x86_64"
    return DetectedDevice(
        origin=facts.origin,
        architecture=architecture,
        is_tegra=is_tegra and not is_spark,
        is_spark=is_spark,
        soc_hint=hints.soc,
        part_hints=hints.parts,
        model_text=_model_text(facts),
        l4t=release.l4t if not foreign else None,
        l4t_origin=release.origin if not foreign else None,
        kernel=kernel,
        gpu_name=gpu,
        ubuntu=read_ubuntu(facts),
        power_mode=read_power_mode(facts),
        mem_total_mib=memory.total_mib,
        mem_available_mib=memory.available_mib,
        mem_free_mib=memory.free_mib,
        jetpack_package=release.jetpack_package,
        evidence=_evidence(facts, hints, release, gpu),
        findings=(
            *hints.findings,
            *release.findings,
            *_page_cache(memory),
            *_contradictions(facts, architecture, release, is_spark=is_spark),
        ),
    )


def is_dgx_spark(architecture: str | None, gpu: str | None) -> bool:
    """The rule: aarch64 and GPU name GB10 (rules section 1).

    GB10 exists with ARM cores only, so facts that lack ``uname -m`` do not contradict it.
    """
    return architecture in ("aarch64", None) and "GB10" in (gpu or "").upper().split()


def _tegra_markers(
    facts: RawFacts, hints: ModuleHints, release: L4tReading, *, gpu: str | None, kernel: str | None
) -> tuple[str, ...]:
    """Everything that makes this a Tegra machine; one is enough, so it never becomes generic."""
    family = facts.files.get(_SOC_FAMILY, "")
    tree_model = tree_text(facts, "model") or ""
    markers = {
        "module": bool(hints.parts or hints.soc),
        "release": release.present,
        "boot control": BOOT_CONTROL in facts.files,
        "soc family": family.strip().lower().startswith("tegra"),
        "kernel": "tegra" in (kernel or "").lower(),
        "gpu": "(nvgpu)" in (gpu or "").lower() or "thor" in (gpu or "").lower().split(),
        "model": "nvidia" in tree_model.lower()
        or bool(_TEGRA_WORDS.search(_model_text(facts) or "")),
    }
    return tuple(name for name, found in markers.items() if found)


def _model_text(facts: RawFacts) -> str | None:
    """Device-tree model, else the firmware's product name (Jetson UEFI repeats it there)."""
    model = readable(tree_text(facts, "model") or "")
    return model or readable(facts.files.get(_PRODUCT, "")) or None


def _evidence(
    facts: RawFacts, hints: ModuleHints, release: L4tReading, gpu: str | None
) -> tuple[str, ...]:
    """What the decision can lean on, one line per source."""
    lines = [f"{hint.source}: {', '.join(hint.parts)}" for hint in hints.parts]
    if hints.soc is not None:
        lines.append(f"SoC: {hints.soc}")
    model = _model_text(facts)
    if model is not None:
        lines.append(f"model: {model}")
    if gpu is not None:
        lines.append(f"GPU: {gpu}")
    return (*lines, *release.evidence)


def _page_cache(memory: MemoryReading) -> tuple[Finding, ...]:
    """Low MemFree with high MemAvailable is page cache, not use (rules section 4)."""
    free, available = memory.free_mib, memory.available_mib
    if free is None or available is None:
        return ()
    if free * 2 >= available or available - free < _CACHE_GAP_MIB:
        return ()
    return (
        info(
            "page_cache",
            f"only {free} MiB are free but {available} MiB are available: "
            "the rest is page cache, which the kernel gives back",
            hint="nothing to do; caches are never dropped silently",
            source="rules section 4",
        ),
    )


def _contradictions(
    facts: RawFacts, architecture: str | None, release: L4tReading, *, is_spark: bool
) -> tuple[Finding, ...]:
    """Texts that do not belong to this kind of machine, named and not used."""
    found = []
    if release.present and (architecture == "x86_64" or is_spark):
        found.append(
            warning(
                "tegra_release_ignored",
                f"{RELEASE_FILE} does not belong on this machine and was not used",
                hint="were the facts read in a container, or copied from another board?",
            )
        )
    looks_like_spark = "dgx_spark" in facts.files.get(_PRODUCT, "").lower().replace(" ", "_")
    if not is_spark and architecture != "x86_64" and looks_like_spark:
        found.append(
            warning(
                "spark_without_gpu",
                "the product name says DGX Spark, but nvidia-smi names no GB10",
                hint="mend the NVIDIA driver, then detect again",
            )
        )
    elif not is_spark and _DGX_RELEASE in facts.files:
        found.append(
            info(
                "dgx_release_ignored",
                f"{_DGX_RELEASE} is there, which alone makes no DGX Spark",
                source="rules section 1",
            )
        )
    return tuple(found)
