"""What does not fit, as a refusal that carries its figures.

Part of stage 5. Pure. The budget measures; here the measure becomes status 6 with both numbers.
What would fit instead is added by ladder.py, once, when no candidate fits.
"""

from speccompose.errors import MemoryFitError
from speccompose.plan.sizing import Parts, Sizing
from speccompose.plan.utilization import HEADROOM_MIB, Utilization
from speccompose.vocab.document import MemoryDocument
from speccompose.vocab.finding import Finding

_RULES = "rules section 4"


class TooBigError(MemoryFitError):
    """The parts exceed what is there; ``memory`` has the parts, ``findings`` what was assumed."""

    memory: MemoryDocument
    findings: tuple[Finding, ...] = ()


def too_big(
    sizing: Sizing, parts: Parts, room_mib: int, *, share: Utilization | None
) -> TooBigError:
    """The refusal of one candidate. ``room_mib``: what is left for KV, below its least."""
    repo = sizing.choice.checkpoint.repo
    what = repo if sizing.speculation.method is None else f"{repo} with {sizing.speculation.label}"
    error = TooBigError(
        f"{what} does not fit on {sizing.device.id}: needs"
        f" {parts.fixed_mib + parts.kv_least_mib} MiB, there are"
        f" {max(0, parts.fixed_mib + room_mib)} MiB",
        [
            f"needed: weights {parts.weights_mib}, draft {_draft(parts)}, runtime"
            f" {parts.runtime_mib}, KV {parts.kv_least_mib} for {sizing.context_tokens} tokens",
            f"there: {sizing.device.memory_mib} less {parts.os_reserve_mib} in use or reserved,"
            f" {parts.shm_mib} shm, {HEADROOM_MIB} kept free",
            *_share_line(sizing, share),
        ],
        code="memory_does_not_fit",
        source=_RULES,
    )
    error.memory = _figures(sizing, parts, share)
    return error


def _draft(parts: Parts) -> str:
    """A size that nobody published is no fact."""
    if parts.draft_known:
        return str(parts.draft_mib)
    return f"{parts.draft_mib} (draft size unknown, counted like the target)"


def _share_line(sizing: Sizing, share: Utilization | None) -> tuple[str, ...]:
    if share is None:
        return ()
    part = int(share.value * sizing.device.memory_mib)
    return (f"vLLM may take {share.value:.4g} of it: {part} MiB",)


def _figures(sizing: Sizing, parts: Parts, share: Utilization | None) -> MemoryDocument:
    """The parts with the least KV; the headroom says by how much they miss, below zero too."""
    used = parts.os_reserve_mib + parts.fixed_mib + parts.kv_least_mib + parts.shm_mib
    return MemoryDocument(
        total_mib=sizing.device.memory_mib,
        available_mib=sizing.device.available_mib,
        os_reserve_mib=parts.os_reserve_mib,
        weights_mib=parts.weights_mib,
        draft_mib=parts.draft_mib,
        kv_cache_mib=parts.kv_least_mib,
        runtime_mib=parts.runtime_mib,
        shm_mib=parts.shm_mib,
        headroom_mib=sizing.device.memory_mib - used,
        gpu_memory_utilization=share.value if share else None,
        context_tokens=sizing.context_tokens,
        concurrency=sizing.request.concurrency,
        sequences=parts.sequences,
        batched_tokens=parts.batched_tokens,
    )
