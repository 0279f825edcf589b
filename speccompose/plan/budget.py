"""Stage 5 of 7, after speculate, before assemble: where every MiB of the one memory pool goes.

Pure. total = OS reserve + weights + draft + KV + runtime + shm + headroom, headroom at least
2 GiB. What does not fit is refused with both numbers (rules section 4).
"""

from speccompose.plan.context import choose_context, context_findings
from speccompose.plan.sizing import MIB, Parts, Sizing, kv_room_mib, measure, share_of
from speccompose.plan.too_big import too_big
from speccompose.plan.utilization import Utilization
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Finding, warning
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.plan import MemoryPlan, SpeculationPlan
from speccompose.vocab.request import StackRequest

_RULES = "rules section 4"


def fit_memory(
    device: ResolvedDevice,
    choice: ImageChoice,
    speculation: SpeculationPlan,
    model: ModelEntry,
    request: StackRequest,
    catalog: Catalog,
) -> MemoryPlan:
    """Size one candidate.

    Raises:
        MemoryFitError: status 6; its weights are of unknown size, nothing is left, or, as a
            TooBigError with the figures, it does not fit.
        UsageError: status 2; a context above the model's maximum, or a bad --set figure.
        SpeculationError: status 7; drafts leave no slot in a batch.
    """
    context, context_decision = choose_context(device, model, request)
    sizing = Sizing(
        device=device,
        choice=choice,
        speculation=speculation,
        model=model,
        request=request,
        engine=catalog.engines[choice.image.engine],
        context_tokens=context,
    )
    parts = measure(sizing)
    share = share_of(sizing)
    room = kv_room_mib(sizing, parts, share)
    if room < parts.kv_least_mib:
        error = too_big(sizing, parts, room, share=share)
        error.findings = _assumed(sizing, parts)
        raise error
    kv = min(parts.kv_wanted_mib, room)
    used = parts.os_reserve_mib + parts.fixed_mib + kv + parts.shm_mib
    return MemoryPlan(
        total_mib=device.memory_mib,
        available_mib=device.available_mib,
        os_reserve_mib=parts.os_reserve_mib,
        weights_mib=parts.weights_mib,
        draft_mib=parts.draft_mib,
        kv_cache_mib=kv,
        runtime_mib=parts.runtime_mib,
        shm_mib=parts.shm_mib,
        headroom_mib=device.memory_mib - used,
        gpu_memory_utilization=share.value if share else None,
        context_tokens=context,
        concurrency=request.concurrency,
        sequences=parts.sequences,
        batched_tokens=parts.batched_tokens,
        prompt_cache_mib=parts.prompt_cache_mib,
        kv_bytes_per_token=parts.cost.token_bytes,
        decisions=(context_decision, *_decisions(sizing, parts, kv, share)),
        findings=(*_findings(sizing, parts, kv), *(share.findings if share else ())),
    )


def _decisions(
    sizing: Sizing, parts: Parts, kv_mib: int, share: Utilization | None
) -> tuple[Decision, ...]:
    memory = sizing.engine.memory
    chosen = (
        Decision(
            subject="sequences",
            value=str(parts.sequences),
            rule="expected load, at least the board's",
            source=_RULES,
        ),
        Decision(
            subject="batched tokens",
            value=str(parts.batched_tokens),
            rule="default, and what known faults and drafts need; never from the context",
            source=_RULES,
        ),
        Decision(
            subject="KV cache",
            value=f"{kv_mib} MiB",
            rule=f"{parts.cost.token_bytes} bytes per token, {parts.cost.states} states of"
            f" {parts.cost.state_bytes} per request",
            source=sizing.model.geometry.source if sizing.model.geometry else None,
        ),
        Decision(
            subject="runtime memory",
            value=f"{parts.runtime_mib} MiB",
            rule=memory.note or "figures of the engine entry",
            source=memory.source,
        ),
    )
    return (*chosen, *(share.decisions if share else ()))


def _findings(sizing: Sizing, parts: Parts, kv_mib: int) -> tuple[Finding, ...]:
    found = list(context_findings(sizing.model, sizing.request, sizing.context_tokens))
    found += _assumed(sizing, parts)
    running = _running_at_once(sizing, parts, kv_mib)
    if running < sizing.request.concurrency:
        found.append(
            warning(
                "kv_oversubscribed",
                f"{running} full-length requests run at a time,"
                f" {sizing.request.concurrency} are expected",
                hint="lower --context or --concurrency, or requests will wait for each other",
                source=_RULES,
            )
        )
    return tuple(found)


def _running_at_once(sizing: Sizing, parts: Parts, kv_mib: int) -> int:
    """Full-length requests that KV and sequences allow at a time."""
    each = parts.cost.request_bytes(sizing.context_tokens)
    return min(parts.sequences, kv_mib * MIB // each)


def _assumed(sizing: Sizing, parts: Parts) -> tuple[Finding, ...]:
    """Which figures are assumptions, whether the plan fits or not."""
    if parts.cost.known and parts.draft_known:
        return ()
    missing = []
    if sizing.model.geometry is None:
        missing.append(f"KV geometry of {sizing.model.id} (512 KiB per token are counted)")
    elif not parts.cost.known:
        missing.append(f"KV of {sizing.speculation.draft_repo} (counted like the target's)")
    if not parts.draft_known:
        missing.append(f"size of {sizing.speculation.draft_repo} (counted like the target's)")
    return (
        warning(
            "model_facts_incomplete",
            f"not published: {'; '.join(missing)}",
            hint="run speccompose inspect, or add the figures in an overlay",
            source="rules section 3",
        ),
    )
