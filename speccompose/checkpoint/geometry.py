"""A config.json -> what a token of context costs: layers, heads, windows, recurrent state.

Layer: checkpoint. Pure. Formulas: vLLM's KV cache specs (GQA, MLA, sliding window, GDN, Mamba-2);
rules section 4. Where an architecture keeps its memory otherwise the geometry stays unknown.
"""

from speccompose.checkpoint.bounded import bad_checkpoint
from speccompose.checkpoint.layers import LayerKind, layer_kinds
from speccompose.checkpoint.table import HEADS, LAYERS, TOKENS, VOCABULARY, Table
from speccompose.vocab.checkpoint import GeometryFacts, KvBytes
from speccompose.vocab.model import LinearState

KV_ELEMENT_BYTES = 2
"""bf16 and f16: what both engines take when nothing else is asked for."""


KV_LIMIT = 2**40
"""More bytes than any model keeps per token, window or sequence."""


def read_geometry(config: Table, *, mtp_layers: int) -> GeometryFacts | None:
    """Geometry of the language model in a config; None where it is not known.

    Raises:
        DataError: numbers that no model has, or none where there must be some.
    """
    kinds = layer_kinds(config)
    if kinds is None or "conv" in kinds:
        return None
    linear = _linear_state(config, kinds.count("linear"))
    if linear is None and "linear" in kinds:
        return None
    owners = _with_own_kv(config, kinds)
    kv_heads, dim_k, dim_v = _full_heads(config)
    sliding = owners.count("sliding")
    window = config.whole("sliding_window", "attention_chunk_size", most=2**31)
    return GeometryFacts(
        layers=len(kinds),
        attention_layers=owners.count("full"),
        kv_heads=kv_heads,
        head_dim_k=dim_k,
        head_dim_v=dim_v,
        hidden_size=config.whole("hidden_size", "n_embd", "d_model", least=1),
        vocab_size=config.whole("vocab_size", most=VOCABULARY, least=1),
        sliding_layers=sliding,
        sliding_kv_heads=_kv_heads(config) if sliding else None,
        sliding_head_dim=_head_dim(config) if sliding else None,
        window_tokens=window if sliding else None,
        linear=linear,
        mtp_layers=mtp_layers,
        max_context_tokens=max_context(config),
    )


def max_context(config: Table) -> int | None:
    """The longest context that the model was made for, in tokens."""
    return config.whole(
        "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", most=TOKENS, least=1
    )


def kv_bytes(geometry: GeometryFacts) -> KvBytes:
    """Bytes per token, per window and per sequence.

    Raises:
        DataError: numbers that are each possible and together are not.
    """
    heads = geometry.kv_heads * (geometry.head_dim_k + geometry.head_dim_v)
    dims = geometry.sliding_head_dim
    both = 2 * dims if dims else geometry.head_dim_k + geometry.head_dim_v
    sliding = (geometry.sliding_kv_heads or geometry.kv_heads) * both * geometry.sliding_layers
    state = geometry.linear
    found = KvBytes(
        token=geometry.attention_layers * heads * KV_ELEMENT_BYTES,
        mtp_token=geometry.mtp_layers * heads * KV_ELEMENT_BYTES,
        window=sliding * KV_ELEMENT_BYTES * (geometry.window_tokens or 0),
        state=state.layers * (state.conv_elements + state.state_elements) * state.bytes_per_element
        if state
        else 0,
    )
    if max(found.token, found.mtp_token, found.window, found.state) > KV_LIMIT:
        raise bad_checkpoint(
            "its layers would keep more than a terabyte",
            f"{found.token} bytes per token, {found.window} in windows, {found.state} in states",
        )
    return found


def _full_heads(config: Table) -> tuple[int, int, int]:
    """KV heads, key and value width of a full layer."""
    rank = config.whole("kv_lora_rank", least=1)
    if rank is not None:
        return 1, rank + (config.whole("qk_rope_head_dim") or 0), 0
    heads = config.whole("num_global_key_value_heads", most=HEADS, least=1) or _kv_heads(config)
    dim = config.whole("global_head_dim", least=1) or _head_dim(config)
    return heads, dim, config.whole("v_head_dim", least=1) or dim


def _kv_heads(config: Table) -> int:
    found = config.whole("num_key_value_heads", "n_head_kv", "num_kv_heads", most=HEADS, least=1)
    return found or config.needed("num_attention_heads", "n_head", most=HEADS)


def _head_dim(config: Table) -> int:
    found = config.whole("head_dim", "attention_head_dim", least=1)
    if found is not None:
        return found
    heads = config.needed("num_attention_heads", "n_head", most=HEADS)
    return config.needed("hidden_size", "n_embd", "d_model") // heads


def _with_own_kv(config: Table, kinds: tuple[LayerKind, ...]) -> tuple[LayerKind, ...]:
    """Layers that keep KV: the last ones of some Gemma models use that of earlier layers."""
    shared = config.whole("num_kv_shared_layers", most=LAYERS) or 0
    return kinds[: len(kinds) - shared] if 0 < shared < len(kinds) else kinds


def _linear_state(config: Table, layers: int) -> LinearState | None:
    """State of gated delta nets or Mamba-2 layers; None without them, or of another kind."""
    if not layers:
        return None
    values = config.whole("linear_num_value_heads", most=HEADS, least=1)
    if values is not None:
        keys = config.needed("linear_num_key_heads", most=HEADS)
        key_dim = config.needed("linear_key_head_dim")
        value_dim = config.needed("linear_value_head_dim")
        kernel = config.needed("linear_conv_kernel_dim")
        return LinearState(
            layers=layers,
            conv_elements=(2 * keys * key_dim + values * value_dim) * (kernel - 1),
            state_elements=values * value_dim * key_dim,
        )
    heads = config.whole("mamba_num_heads", "mamba_n_heads", most=HEADS, least=1)
    if heads is None:
        return None
    dim = config.needed("mamba_head_dim", "mamba_d_head")
    state = config.needed("ssm_state_size", "mamba_d_state")
    groups = config.needed("n_groups", "mamba_n_groups", most=HEADS)
    kernel = config.needed("conv_kernel", "mamba_d_conv")
    return LinearState(
        layers=layers,
        conv_elements=(heads * dim + 2 * groups * state) * (kernel - 1),
        state_elements=heads * dim * state,
    )
