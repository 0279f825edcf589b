"""How many sequences the engine runs at once, and how many tokens one step may schedule.

Part of stage 5. Pure. Batched tokens are never derived from the context: a copied context length
of 65536 has hung a DGX Spark (field case M-05).
"""

from collections.abc import Iterable

from speccompose.engines.faults import minimum
from speccompose.engines.user_flags import set_value
from speccompose.errors import SpeculationError, UsageError
from speccompose.vocab.engine import EngineEntry, Fault
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.plan import SpeculationPlan
from speccompose.vocab.request import StackRequest

BATCHED_TOKENS = 2048
"""vLLM's own default for small GPUs, llama.cpp's for all."""

MOST_BATCHED_TOKENS = 8192
MOST_BATCHED_TOKENS_BY_HAND = 32768

_SLOT_MARGIN = 1024
_STEP = 256
_FLAG = {"vllm": "--max-num-batched-tokens", "llama.cpp": "-b"}


def choose_sequences(device: ResolvedDevice, request: StackRequest) -> int:
    """max(concurrency, the board's least): the contract's words for ``--concurrency``.

    No engine is excepted. Field case M-01 wants at most 2 with vLLM on 8 GB; the contract gives
    that to Orin Nano only, and a load that was asked for is served or refused, never cut.
    """
    return max(request.concurrency, device.profile.serving.min_sequences)


def choose_batched_tokens(
    engine: EngineEntry,
    model: ModelEntry,
    request: StackRequest,
    *,
    speculation: SpeculationPlan,
    sequences: int,
    faults: Iterable[Fault],
) -> int:
    """Tokens per step: the user's figure, else the model's, else the default, and what drafts need.

    Raises:
        UsageError: --set gives no number, or one that is out of bounds.
        SpeculationError: drafts of that depth leave no slot in any batch we would plan.
    """
    faults = tuple(faults)
    slots = sequences * slots_per_sequence(speculation) if minimum(faults, "free_slots") else 0
    least = max(minimum(faults, "batched_tokens"), slots + _SLOT_MARGIN if slots else 0)
    by_hand = _by_hand(engine, request, slots=slots, least=minimum(faults, "batched_tokens"))
    if by_hand is not None:
        return by_hand
    wanted = max(_of_model(engine, model) or BATCHED_TOKENS, _round_up(least))
    if wanted > MOST_BATCHED_TOKENS and least > MOST_BATCHED_TOKENS:
        raise SpeculationError(
            f"{speculation.label} at depth {speculation.depth} with {sequences} sequences"
            f" needs {least} batched tokens, at most {MOST_BATCHED_TOKENS} are planned",
            hint="lower --depth or --concurrency",
            code="no_free_slots",
            source="GH vllm-project/vllm#50708",
        )
    return wanted


def slots_per_sequence(speculation: SpeculationPlan) -> int:
    """Batch slots that drafts take from each sequence in vLLM 0.17 to 0.27."""
    if speculation.method in ("dflash", "dspark"):
        return speculation.depth - 1
    return 1 if speculation.method == "draft_model" else 0


def _by_hand(engine: EngineEntry, request: StackRequest, *, slots: int, least: int) -> int | None:
    flag = _FLAG[engine.id]
    text = set_value(engine, request.set_flags, flag)
    if text is None:
        return None
    if not text.isdigit() or not max(slots + 1, least) <= int(text) <= MOST_BATCHED_TOKENS_BY_HAND:
        raise UsageError(
            f"--set {flag}={text} is refused",
            [f"wanted: a number from {max(slots + 1, least)} to {MOST_BATCHED_TOKENS_BY_HAND}"],
            hint="leave it out and the plan chooses",
            code="batched_tokens_refused",
        )
    return int(text)


def _of_model(engine: EngineEntry, model: ModelEntry) -> int | None:
    if model.serving is None or engine.id != "vllm":
        return None
    text = model.serving.vllm_flags.get(_FLAG["vllm"])
    return min(int(text), MOST_BATCHED_TOKENS) if text else None


def _round_up(tokens: int) -> int:
    return -(-tokens // _STEP) * _STEP
