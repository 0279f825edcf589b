"""What one way to serve takes, part by part, and how much the KV cache may have.

Part of stage 5. Pure. Measures a situation without judging it; the budget judges.
"""

from collections.abc import Mapping

from speccompose.engines.faults import active_faults, minimum
from speccompose.engines.kv_dtype import kv_element_bytes
from speccompose.engines.user_flags import set_value
from speccompose.errors import MemoryFitError
from speccompose.plan.batching import choose_batched_tokens, choose_sequences
from speccompose.plan.kv import KvCost, KvLayout, kv_cost
from speccompose.plan.utilization import HEADROOM_MIB, Utilization, choose_utilization
from speccompose.vocab.base import Frozen
from speccompose.vocab.engine import EngineEntry, Fault
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.plan import SpeculationPlan
from speccompose.vocab.request import StackRequest

MIB = 1024 * 1024

_SHM_SHARE = 20
"""Shared memory takes at most a twentieth: the rule allows a tenth, small boards need the rest."""

_UBATCH_TOKENS = 512
_LOGIT_BYTES = 4
_NO_PREFIX_CACHE = "--no-enable-prefix-caching"


class Sizing(Frozen, frozen=True, kw_only=True):
    """One situation: what is served how, with how much context."""

    device: ResolvedDevice
    choice: ImageChoice
    speculation: SpeculationPlan
    model: ModelEntry
    request: StackRequest
    engine: EngineEntry
    context_tokens: int

    @property
    def is_vllm(self) -> bool:
        """Whether the engine shares one KV pool among requests; llama.cpp allocates per slot."""
        return self.engine.id == "vllm"

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Known faults that bite here."""
        return active_faults(
            self.engine,
            self.choice.build.version,
            family=self.device.family,
            model=self.model,
            method=self.speculation.method,
        )


class Parts(Frozen, frozen=True, kw_only=True):
    """Every part in MiB; ``runtime_mib`` holds the prompt cache too.

    ``kv_least_mib`` is what one full-length request needs, ``kv_wanted_mib`` what the expected
    load needs.
    """

    os_reserve_mib: int
    weights_mib: int
    draft_mib: int
    draft_known: bool
    runtime_mib: int
    prompt_cache_mib: int
    shm_mib: int
    sequences: int
    batched_tokens: int
    cost: KvCost
    kv_least_mib: int
    kv_wanted_mib: int

    @property
    def fixed_mib(self) -> int:
        """Weights, draft and runtime: what vLLM counts into its share beside KV."""
        return self.weights_mib + self.draft_mib + self.runtime_mib


def measure(sizing: Sizing) -> Parts:
    """Size every part.

    Raises:
        MemoryFitError: the weights' size is not known.
        SpeculationError, UsageError: no batch can be chosen (see batching).
    """
    sequences = choose_sequences(sizing.device, sizing.request)
    batched = choose_batched_tokens(
        sizing.engine,
        sizing.model,
        sizing.request,
        speculation=sizing.speculation,
        sequences=sequences,
        faults=sizing.faults,
    )
    cost = _cost(sizing, batched)
    weights = _weights_mib(sizing)
    draft, draft_known = _draft_mib(sizing.speculation, weights)
    cache = _for_device(sizing.engine.memory.prompt_cache_mib, sizing.device)
    least, wanted = _kv_mib(sizing, cost, sequences)
    return Parts(
        os_reserve_mib=max(
            sizing.device.os_reserve_mib, sizing.device.memory_mib - sizing.device.available_mib
        ),
        weights_mib=weights,
        draft_mib=draft,
        draft_known=draft_known,
        runtime_mib=_runtime_mib(sizing, batched, sequences) + cache,
        prompt_cache_mib=cache,
        shm_mib=min(sizing.engine.memory.shm_mib, sizing.device.memory_mib // _SHM_SHARE),
        sequences=sequences,
        batched_tokens=batched,
        cost=cost,
        kv_least_mib=least,
        kv_wanted_mib=wanted,
    )


def share_of(sizing: Sizing) -> Utilization | None:
    """vLLM's share of memory; llama.cpp has none."""
    if not sizing.is_vllm:
        return None
    return choose_utilization(
        sizing.device, sizing.choice.checkpoint, sizing.speculation, sizing.request
    )


def kv_room_mib(sizing: Sizing, parts: Parts, share: Utilization | None) -> int:
    """What is left for KV: of the board after headroom, and of vLLM's share."""
    board = sizing.device.memory_mib - parts.os_reserve_mib - HEADROOM_MIB - parts.shm_mib
    if share is not None:
        board = min(board, int(share.value * sizing.device.memory_mib))
    return board - parts.fixed_mib


def _cost(sizing: Sizing, batched_tokens: int) -> KvCost:
    layout = KvLayout(
        element_bytes=kv_element_bytes(sizing.engine, sizing.request),
        block_tokens=sizing.engine.memory.kv_block_tokens,
        batch_tokens=batched_tokens if sizing.is_vllm else _ubatch_tokens(sizing),
        sliding_as_full=bool(minimum(sizing.faults, "sliding_as_full")),
        state_copies=2 if _caches_state(sizing) else 1,
        spare_blocks=1 if sizing.is_vllm else 0,
        conv_grows=sizing.is_vllm,
        aligned=sizing.is_vllm,
    )
    return kv_cost(
        sizing.model.geometry, sizing.speculation, layout, context_tokens=sizing.context_tokens
    )


def _kv_mib(sizing: Sizing, cost: KvCost, sequences: int) -> tuple[int, int]:
    """Least and wanted KV; llama.cpp allocates every slot, so there both are the same."""
    context = sizing.context_tokens
    if not sizing.is_vllm:
        every = cost.load_bytes(context, requests=sequences, sequences=sequences)
        return -(-every // MIB), -(-every // MIB)
    requests = min(sizing.request.concurrency, sequences)
    least = cost.least_bytes(context, sequences=sequences)
    wanted = cost.load_bytes(context, requests=requests, sequences=sequences)
    return -(-least // MIB), -(-max(least, wanted) // MIB)


def _weights_mib(sizing: Sizing) -> int:
    checkpoint = sizing.choice.checkpoint
    if checkpoint.weights_mib is None:
        raise MemoryFitError(
            f"the size of {checkpoint.repo} is not known, so no memory plan can be trusted",
            hint="run speccompose inspect on it, or add weights_mib in an overlay",
            code="weights_unknown",
            source=checkpoint.source,
        )
    return checkpoint.weights_mib


def _draft_mib(speculation: SpeculationPlan, weights_mib: int) -> tuple[int, bool]:
    """The draft's weights; of an unpublished size it counts as much as its target."""
    if speculation.draft_repo is None:
        return 0, True
    pairing = speculation.pairing
    known = speculation.draft_mib > 0 or (pairing is not None and pairing.draft_mib is not None)
    return (speculation.draft_mib, True) if known else (weights_mib, False)


def _runtime_mib(sizing: Sizing, batched_tokens: int, sequences: int) -> int:
    """Context, graphs and buffers, activations of one step, and output rows."""
    memory = sizing.engine.memory
    base = _for_device(memory.runtime_mib, sizing.device)
    step = memory.activation_mib_per_1k_batched_tokens * -(-batched_tokens // 1024)
    return base + step + _logits_mib(sizing, sequences)


def _logits_mib(sizing: Sizing, sequences: int) -> int:
    """Rows of output scores, once more for a draft (field case M-06)."""
    vocabulary = (sizing.model.geometry.vocab_size if sizing.model.geometry else None) or 0
    depth = sizing.speculation.depth
    rows = sequences * (1 + depth) if sizing.is_vllm else _ubatch_tokens(sizing)
    copies = 2 if sizing.speculation.draft_repo is not None else 1
    return -(-rows * vocabulary * _LOGIT_BYTES * copies // MIB)


def _ubatch_tokens(sizing: Sizing) -> int:
    text = set_value(sizing.engine, sizing.request.set_flags, "-ub") or ""
    return int(text) if text.isdigit() else _UBATCH_TOKENS


def _caches_state(sizing: Sizing) -> bool:
    """vLLM's prefix caching keeps one more state per request, unless it is switched off."""
    needs = sizing.model.serving
    flags = [*(fault.flags for fault in sizing.faults), needs.vllm_flags if needs else {}]
    return sizing.is_vllm and not any(_NO_PREFIX_CACHE in each for each in flags)


def _for_device(table: Mapping[str, int], device: ResolvedDevice) -> int:
    """By device id, then family, then the default."""
    for key in (device.id, device.family, "default"):
        if key in table:
            return table[key]
    return 0
