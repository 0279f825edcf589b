"""What the KV cache and recurrent state cost, in bytes, from the model's published geometry.

Part of stage 5. Pure. Full attention costs per token; sliding layers at most their window per
sequence; linear layers a state per sequence, once more for every drafted token; an MTP layer its
own KV. Formulas: vLLM and llama.cpp as read in their sources, rules section 4.
"""

from math import ceil

from speccompose.vocab.base import Frozen
from speccompose.vocab.model import Geometry
from speccompose.vocab.plan import SpeculationPlan

UNKNOWN_BYTES_PER_TOKEN = 512 * 1024
"""The upper bound for a model without published geometry (rules section 3)."""

_DRAFT_ELEMENT_BYTES = 2
"""llama.cpp keeps a draft's KV in f16 whatever -ctk says (-ctkd); vLLM's has the target's type."""


class KvLayout(Frozen, frozen=True, kw_only=True):
    """How an engine lays KV out.

    ``element_bytes``: of a key or value, a fraction where they are stored in blocks (q8_0).
    ``spare_blocks``: what a sequence may hold beside its own tokens.
    ``state_copies``: recurrent states kept per request beside those of drafted tokens.
    ``conv_grows``: each state's convolution part holds the drafted tokens, too (vLLM).
    ``aligned``: attention pages are as large as state pages, so blocks hold many tokens (vLLM).
    """

    element_bytes: float
    block_tokens: int
    batch_tokens: int
    spare_blocks: int = 1
    conv_grows: bool = True
    sliding_as_full: bool = False
    state_copies: int = 1
    aligned: bool = False


class KvCost(Frozen, frozen=True, kw_only=True):
    """Bytes per token of context, per running request (windows), and per recurrent state.

    A running request keeps ``states``: one, and one for every drafted token.
    """

    token_bytes: int
    window_bytes: int
    state_bytes: int
    states: int
    block_tokens: int
    spare_blocks: int = 1
    known: bool = True

    def attention_bytes(self, context_tokens: int) -> int:
        """One request at full length, in whole blocks and the spare ones."""
        blocks = -(-context_tokens // self.block_tokens) + self.spare_blocks
        return self.token_bytes * blocks * self.block_tokens + self.window_bytes

    def request_bytes(self, context_tokens: int) -> int:
        """One running request at full length with all its states."""
        return self.attention_bytes(context_tokens) + self.state_bytes * self.states

    def least_bytes(self, context_tokens: int, *, sequences: int) -> int:
        """One full-length request; vLLM wants one state for each other sequence to start."""
        return self.request_bytes(context_tokens) + self.state_bytes * (sequences - 1)

    def load_bytes(self, context_tokens: int, *, requests: int, sequences: int) -> int:
        """So many full-length requests, and every sequence running with all its states."""
        states = self.state_bytes * self.states * sequences
        return self.attention_bytes(context_tokens) * requests + states


def kv_cost(
    geometry: Geometry | None,
    speculation: SpeculationPlan,
    layout: KvLayout,
    *,
    context_tokens: int,
) -> KvCost:
    """What this model costs with this way to speculate."""
    if geometry is None:
        return KvCost(
            token_bytes=UNKNOWN_BYTES_PER_TOKEN,
            window_bytes=0,
            state_bytes=0,
            states=0,
            block_tokens=layout.block_tokens,
            spare_blocks=layout.spare_blocks,
            known=False,
        )
    elements = geometry.kv_heads * (geometry.head_dim_k + geometry.head_dim_v)
    token = ceil(elements * layout.element_bytes)
    full = token * geometry.attention_layers
    sliding = _sliding_token_bytes(geometry, layout)
    window = 0
    if layout.sliding_as_full:
        full += sliding
    elif sliding:
        window = sliding * _window_tokens(geometry, layout, context_tokens)
    state = _state_bytes(geometry, speculation.depth if layout.conv_grows else 0)
    drafting = ceil(elements * max(layout.element_bytes, _DRAFT_ELEMENT_BYTES))
    return KvCost(
        token_bytes=full + _draft_token_bytes(geometry, speculation, drafting, full),
        window_bytes=window,
        state_bytes=state,
        states=layout.state_copies + speculation.depth if state else 0,
        block_tokens=_block_tokens(geometry, layout, state, token),
        spare_blocks=layout.spare_blocks,
        known=_draft_is_known(speculation),
    )


def _sliding_token_bytes(geometry: Geometry, layout: KvLayout) -> int:
    heads = geometry.sliding_kv_heads or geometry.kv_heads
    both = 2 * geometry.sliding_head_dim if geometry.sliding_head_dim else None
    dims = both or geometry.head_dim_k + geometry.head_dim_v
    return geometry.sliding_layers * ceil(heads * dims * layout.element_bytes)


def _window_tokens(geometry: Geometry, layout: KvLayout, context_tokens: int) -> int:
    """A window and the batch in flight, in whole blocks, never more than the context."""
    window = geometry.window_tokens or context_tokens
    tokens = min(window + layout.batch_tokens, context_tokens)
    blocks = -(-tokens // layout.block_tokens) + layout.spare_blocks
    return blocks * layout.block_tokens


def _state_bytes(geometry: Geometry, depth: int) -> int:
    """One recurrent state; the convolution's part grows with depth, at most in proportion."""
    linear = geometry.linear
    if linear is None:
        return 0
    elements = linear.conv_elements * (1 + depth) + linear.state_elements
    return linear.layers * elements * linear.bytes_per_element


def _block_tokens(geometry: Geometry, layout: KvLayout, state_bytes: int, layer_bytes: int) -> int:
    """Tokens per block: where pages are aligned, one layer's state in tokens, rounded up.

    Check: Qwen3.6-35B-A3B has 2 MiB of state and 2 KiB of KV per token and layer; vLLM reports
    blocks of 1072 tokens.
    """
    if not layout.aligned or geometry.linear is None or not state_bytes:
        return layout.block_tokens
    tokens = -(-state_bytes // (geometry.linear.layers * layer_bytes))
    return -(-tokens // layout.block_tokens) * layout.block_tokens


def _draft_token_bytes(
    geometry: Geometry, speculation: SpeculationPlan, layer_bytes: int, full_bytes: int
) -> int:
    """KV of the draft, or of the MTP layers; an unpublished draft costs at most the target's."""
    if speculation.method is None or speculation.method == "ngram":
        return 0
    if speculation.draft_repo is None:
        return layer_bytes * max(1, geometry.mtp_layers)
    pairing = speculation.pairing
    if pairing is not None and pairing.draft_kv_bytes_per_token is not None:
        return pairing.draft_kv_bytes_per_token
    return 0 if _shares_target_kv(speculation) else full_bytes


def _draft_is_known(speculation: SpeculationPlan) -> bool:
    pairing = speculation.pairing
    return (
        speculation.draft_repo is None
        or _shares_target_kv(speculation)
        or (pairing is not None and pairing.draft_kv_bytes_per_token is not None)
    )


def _shares_target_kv(speculation: SpeculationPlan) -> bool:
    """An MTP assistant reads the target's KV and has none of its own (Gemma 4)."""
    return speculation.method == "mtp" and speculation.draft_repo is not None
