"""The share of memory that vLLM may take (rules section 4).

Part of stage 5. Pure. Computed in whole hundredths, so that no float decides a board.
"""

from speccompose.errors import MemoryFitError
from speccompose.vocab.base import Frozen
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Finding, warning
from speccompose.vocab.model import Checkpoint
from speccompose.vocab.plan import SpeculationPlan
from speccompose.vocab.request import StackRequest

HEADROOM_MIB = 2048
"""What every plan leaves free, above the OS reserve (rules section 4)."""

_SPECULATION_STEP = 0.05
_RULES = "rules section 4"


class Utilization(Frozen, frozen=True, kw_only=True):
    """The chosen share with its reasons."""

    value: float
    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...] = ()


def choose_utilization(
    device: ResolvedDevice,
    checkpoint: Checkpoint,
    speculation: SpeculationPlan,
    request: StackRequest,
) -> Utilization:
    """min(bound, ceiling), less 0.05 with any speculation, once.

    Raises:
        MemoryFitError: status 6; nothing is left to take, or a share given by hand is above the
            bound.
    """
    bound = bound_of(device)
    by_hand = request.gpu_memory_utilization
    if by_hand is None:
        value, rule, source = _planned(device, checkpoint, bound)
        findings: tuple[Finding, ...] = ()
    else:
        value, rule, source = by_hand, "given by hand", None
        findings = judge_by_hand(device, by_hand, bound)
    lowered = speculation.method is not None and not (by_hand is not None and request.force)
    if lowered:
        value -= _SPECULATION_STEP
        rule = f"{rule}, less {_SPECULATION_STEP} with {speculation.label}"
    value = round(value, 4)
    if value <= 0:
        raise _nothing_left(device)
    decision = Decision(
        subject="gpu memory utilization",
        value=f"{value:.4g}",
        rule=f"{rule} (bound {bound:.2f})",
        source=source or _RULES,
    )
    return Utilization(value=value, decisions=(decision,), findings=findings)


def bound_of(device: ResolvedDevice) -> float:
    """floor to 0.01 of (available - headroom) / total; vLLM checks this share when it starts."""
    hundredths = (device.available_mib - HEADROOM_MIB) * 100 // device.memory_mib
    return max(0, hundredths) / 100


def _planned(
    device: ResolvedDevice, checkpoint: Checkpoint, bound: float
) -> tuple[float, str, str | None]:
    ceiling = device.profile.serving.utilization_ceiling
    rule, source = f"ceiling of {device.id}", None
    if checkpoint.utilization is not None:
        ceiling, source = checkpoint.utilization, checkpoint.utilization_source
        rule = f"published for {checkpoint.repo}"
    if ceiling is None or bound < ceiling:
        return bound, "what is free allows no more", None
    return ceiling, rule, source


def share_planned(ceiling: float) -> float:
    """What is left of a ceiling with any speculation (rules section 4: less 0.05, once)."""
    return round(ceiling - _SPECULATION_STEP, 4)


def judge_by_hand(device: ResolvedDevice, by_hand: float, bound: float) -> tuple[Finding, ...]:
    """Warn of a share above the board's ceiling.

    Raises:
        MemoryFitError: it is above what is free.
    """
    if by_hand > bound:
        raise MemoryFitError(
            f"--gpu-memory-utilization {by_hand:g} is above what is free: {bound:.2f}",
            [
                f"it would take {int(by_hand * device.memory_mib)} MiB of {device.memory_mib} MiB",
                f"{device.available_mib} MiB are available, {HEADROOM_MIB} of them stay free",
            ],
            hint=f"use {bound:.2f} or less, or leave it out",
            code="utilization_above_bound",
            source="GH vllm-project/vllm#48140",
        )
    ceiling = device.profile.serving.utilization_ceiling
    if ceiling is None or by_hand <= ceiling:
        return ()
    return (
        warning(
            "utilization_above_ceiling",
            f"--gpu-memory-utilization {by_hand:g} is above the ceiling {ceiling:g} of {device.id}",
            hint="memory that runs out can take the whole board down",
            source=_RULES,
        ),
    )


def _nothing_left(device: ResolvedDevice) -> MemoryFitError:
    return MemoryFitError(
        f"no memory is left for vLLM: {device.available_mib} MiB are available",
        [f"{HEADROOM_MIB} MiB stay free"],
        hint="stop what uses memory, then ask again",
        code="memory_does_not_fit",
        source=_RULES,
    )
