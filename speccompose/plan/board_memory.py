"""MemTotal, MemAvailable and the profile become what a stack may use.

Part of stage 2 of 7. Pure. With facts, MemAvailable rounded down to 256 MiB, and the reserve is
what is missing from MemTotal; with --device, the module's usable memory less the OS reserve
(rules section 4).
"""

from speccompose.plan.memory_class import agrees_with_label, memory_class
from speccompose.vocab.base import Frozen
from speccompose.vocab.device import DeviceProfile
from speccompose.vocab.facts import DetectedDevice
from speccompose.vocab.finding import Decision, Finding, warning

_STEP_MIB = 256
_RULE = "rules section 4"


class BoardMemory(Frozen, frozen=True, kw_only=True):
    """All figures in MiB; total = available + os_reserve."""

    total_mib: int
    available_mib: int
    from_profile: bool
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def os_reserve_mib(self) -> int:
        """What of the total is not available to stacks."""
        return self.total_mib - self.available_mib


def memory_of_profile(profile: DeviceProfile) -> BoardMemory:
    """The module's usable memory less the OS reserve; nothing where the catalog has no figure."""
    memory = profile.memory
    if memory is None:
        return BoardMemory(total_mib=0, available_mib=0, from_profile=True)
    available = max(memory.usable_mib - memory.os_reserve_mib, 0)
    rule = f"{memory.usable_mib} MiB usable less {memory.os_reserve_mib} MiB for the system"
    return BoardMemory(
        total_mib=memory.usable_mib,
        available_mib=available,
        from_profile=True,
        decisions=(_available(available, rule),),
    )


def memory_of_facts(detected: DetectedDevice, profile: DeviceProfile) -> BoardMemory:
    """What the board itself reports; the profile fills only what was not read."""
    total = detected.mem_total_mib
    if total is None:
        return _without_meminfo(profile)
    available, rule = _available_of_facts(detected, profile, total)
    rounded = available // _STEP_MIB * _STEP_MIB
    total_decision = Decision(
        subject="memory", value=f"{total} MiB", rule="MemTotal, never a label", source=_RULE
    )
    return BoardMemory(
        total_mib=total,
        available_mib=rounded,
        from_profile=False,
        decisions=(total_decision, _available(rounded, f"{rule}, rounded down to {_STEP_MIB} MiB")),
        findings=_label_differs(profile, total),
    )


def _available_of_facts(
    detected: DetectedDevice, profile: DeviceProfile, total_mib: int
) -> tuple[int, str]:
    """MemAvailable; on kernels without it, what is certain: the reserve's rest, or MemFree."""
    if detected.mem_available_mib is not None:
        return detected.mem_available_mib, f"MemAvailable {detected.mem_available_mib} MiB"
    if profile.memory is not None:
        reserve = profile.memory.os_reserve_mib
        return max(total_mib - reserve, 0), f"no MemAvailable: MemTotal less {reserve} MiB"
    free = min(detected.mem_free_mib or 0, total_mib)
    return free, f"no MemAvailable: MemFree {free} MiB"


def _available(mib: int, rule: str) -> Decision:
    return Decision(subject="available memory", value=f"{mib} MiB", rule=rule, source=_RULE)


def _without_meminfo(profile: DeviceProfile) -> BoardMemory:
    """No MemTotal: the catalog's figure with a warning, or nothing at all."""
    memory = memory_of_profile(profile)
    if memory.total_mib:
        message = (
            f"/proc/meminfo was not read: planned with {memory.total_mib} MiB, "
            f"which {profile.id} boards show"
        )
    else:
        message = f"/proc/meminfo was not read, and the catalog has no memory for {profile.id}"
    finding = warning("memory_not_read", message, hint="give /proc/meminfo too", source=_RULE)
    return BoardMemory(
        total_mib=memory.total_mib,
        available_mib=memory.available_mib,
        from_profile=True,
        decisions=memory.decisions,
        findings=(finding,),
    )


def _label_differs(profile: DeviceProfile, total_mib: int) -> tuple[Finding, ...]:
    """Label and MemTotal disagree: MemTotal sizes the plan, and this says so."""
    if agrees_with_label(profile, total_mib):
        return ()
    return (
        warning(
            "memory_differs",
            f"{profile.id} is sold with {memory_class(profile)} MiB, MemTotal is {total_mib} MiB: "
            "MemTotal sizes the plan",
            hint="a wrong module label, or memory reserved at boot",
            source="rules section 1",
        ),
    )
