"""Part numbers, model text, SoC and MemTotal become one module of the catalog, or a refusal.

Part of stage 2 of 7. Pure. What part numbers leave open is decided by the model text, then by
MemTotal, and at last by taking the smaller memory class with a warning (rules section 1).
"""

from speccompose.errors import BoardError
from speccompose.plan.candidates import Candidates, by_model_text, by_parts, named_by_model
from speccompose.plan.memory_class import fits_class, memory_class
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import DeviceProfile
from speccompose.vocab.facts import DetectedDevice
from speccompose.vocab.finding import Decision, Finding, info, warning

_RULE = "rules section 1"
_ASK = (
    "give uname -m, /proc/device-tree/compatible, /etc/nv_boot_control.conf and /proc/meminfo "
    "(on the board: speccompose detect --save FILE)"
)


class ModuleMatch(Frozen, frozen=True, kw_only=True):
    """The module, what named it, and what is odd about that."""

    profile: DeviceProfile
    decision: Decision
    findings: tuple[Finding, ...] = ()


def match_module(detected: DetectedDevice, catalog: Catalog) -> ModuleMatch:
    """Name the module.

    Raises:
        BoardError: status 4, when nothing names a known module, or only a SoC that several
            families carry.
    """
    if detected.is_spark:
        return _spark(detected, catalog)
    if not detected.is_tegra:
        return _generic(detected, catalog)
    soc = _find_soc(detected, catalog)
    carriers = tuple(p for p in catalog.devices.values() if soc is None or p.soc == soc)
    found = by_parts(detected, catalog) or by_model_text(detected, carriers)
    if found is not None:
        return _settle(found.narrowed(carriers, f"SoC {soc}"), detected)
    if soc is None or not carriers:
        raise _unknown_board(detected)
    return _settle(
        _by_soc(Candidates(profiles=carriers, sources=(f"SoC {soc}",)), detected), detected
    )


def _find_soc(detected: DetectedDevice, catalog: Catalog) -> str | None:
    """Catalog id of the SoC: by name ('tegra23x' means any tegra23.), chip id or GPU name.

    Raises:
        BoardError: status 4, when the board names a SoC that the catalog does not have.
    """
    hint = detected.soc_hint
    gpu = (detected.gpu_name or "").lower().removeprefix("nvidia ")
    for soc in catalog.socs.values():
        if hint is None:
            if gpu in (name.lower().removeprefix("nvidia ") for name in soc.gpu_names):
                return soc.id
        elif hint in (soc.id, soc.chip_id) or (hint[-1] == "x" and soc.id.startswith(hint[:-1])):
            return soc.id
    if hint is None:
        return None
    raise _unknown_board(detected, f"SoC {hint} is not in the catalog")


def _by_soc(found: Candidates, detected: DetectedDevice) -> Candidates:
    """Only the SoC is known: enough where MemTotal leaves modules of one family.

    Raises:
        BoardError: status 4; 'Orin (nvgpu)' alone tells AGX, NX and Nano not apart.
    """
    kept = _by_memory(found, detected.mem_total_mib)
    families = sorted({profile.family for profile in kept.profiles})
    if len(families) < 2 or not any(profile.supported for profile in kept.profiles):
        return kept
    raise BoardError(
        f"board not certain: {kept.sources[0]} is carried by {', '.join(families)}",
        _known_of(detected),
        hint=_ASK,
        code="board_ambiguous",
        source=_RULE,
    )


def _settle(found: Candidates, detected: DetectedDevice) -> ModuleMatch:
    """Decide between what is left open, most trusted evidence first."""
    if len(found.profiles) > 1:
        found = found.narrowed(named_by_model(detected.model_text, found.profiles), "model text")
    found = _by_memory(found, detected.mem_total_mib)
    profile = min(found.profiles, key=_caution)
    return ModuleMatch(
        profile=profile,
        decision=Decision(
            subject="module",
            value=profile.id,
            rule="named by " + ", then ".join(found.sources),
            source=_RULE,
        ),
        findings=(*found.findings, *_open_choice(found, profile)),
    )


def _by_memory(found: Candidates, total_mib: int | None) -> Candidates:
    """Keep the smallest memory class that MemTotal fits into."""
    if total_mib is None or len(found.profiles) < 2:
        return found
    return found.narrowed(fits_class(found.profiles, total_mib), f"MemTotal {total_mib} MiB")


def _caution(profile: DeviceProfile) -> tuple[int, str]:
    """Smaller memory first: a wrong guess then costs less. At equal memory the id decides, which
    puts Orin Nano, with the tighter rules, before Orin NX.
    """
    return (memory_class(profile), profile.id)


def _open_choice(found: Candidates, profile: DeviceProfile) -> tuple[Finding, ...]:
    """The warning that other modules fit the evidence as well."""
    families = {candidate.family for candidate in found.profiles}
    sizes = {memory_class(candidate) for candidate in found.profiles}
    if not profile.supported or (len(families) == 1 and len(sizes) == 1):
        return ()
    others = ", ".join(sorted(p.id for p in found.profiles if p.id != profile.id))
    return (
        warning(
            "several_skus",
            f"{', then '.join(found.sources)} fit {profile.id} and {others}; "
            f"planned for {profile.id}, the smaller",
            hint=_ASK,
            source=_RULE,
        ),
    )


def _spark(detected: DetectedDevice, catalog: Catalog) -> ModuleMatch:
    """DGX Spark, which stage 1 has recognised."""
    profile = next((p for p in catalog.devices.values() if p.family == "dgx-spark"), None)
    if profile is None:
        raise _unknown_board(detected, "the catalog has no DGX Spark")
    rule = f"named by aarch64 and GPU name '{detected.gpu_name}'"
    return ModuleMatch(
        profile=profile,
        decision=Decision(subject="module", value=profile.id, rule=rule, source=_RULE),
    )


def _generic(detected: DetectedDevice, catalog: Catalog) -> ModuleMatch:
    """No Jetson and no DGX Spark: llama.cpp on the CPU, always named as such."""
    generic = (p for p in catalog.devices.values() if p.family == "generic")
    profile = next((p for p in generic if p.architecture == detected.architecture), None)
    if profile is None and detected.architecture is not None:
        raise _unknown_board(detected, f"no device of the catalog is {detected.architecture}")
    if profile is None:
        raise _unknown_board(detected, "neither a module nor an architecture (uname -m) is named")
    rule = f"{detected.architecture}, and nothing names a Jetson or a DGX Spark"
    gpu = f"; its GPU ({detected.gpu_name}) is not used" if detected.gpu_name else ""
    return ModuleMatch(
        profile=profile,
        decision=Decision(subject="module", value=profile.id, rule=rule, source=_RULE),
        findings=(
            info(
                "generic_device",
                f"no Jetson and no DGX Spark: {profile.id} runs llama.cpp on the CPU, "
                f"for development and tests{gpu}",
            ),
        ),
    )


def _unknown_board(detected: DetectedDevice, why: str | None = None) -> BoardError:
    """The refusal for a board that nothing names: what was there, and what to give."""
    return BoardError(
        f"unknown board: {why or 'nothing names a module that the catalog has'}",
        _known_of(detected),
        hint=f"{_ASK}, or name the module with --device",
        code="unknown_board",
        source=_RULE,
    )


def _known_of(detected: DetectedDevice) -> tuple[str, ...]:
    """What the facts did say, one line each."""
    known = [f"facts from {detected.origin}", *detected.evidence]
    if detected.architecture is not None:
        known.append(f"architecture: {detected.architecture}")
    if detected.l4t is not None:
        known.append(f"L4T: {detected.l4t}")
    return tuple(known)
