"""GGUF metadata -> what a token of context costs.

Layer: checkpoint. Pure. Keys and formulas: llama.cpp's hyperparameters (src/llama-model.cpp,
src/llama-hparams.cpp) as restated in docs; heads may be one number or one per layer.
"""

from collections.abc import Mapping
from typing import Final

from speccompose.catalog.plain_data import Plain
from speccompose.checkpoint.bounded import bad_checkpoint
from speccompose.checkpoint.gguf_header import Value
from speccompose.checkpoint.table import HEADS, LAYERS, TOKENS, WIDTH, Table
from speccompose.vocab.checkpoint import GeometryFacts
from speccompose.vocab.model import LinearState

WINDOW_EVERY: Final[Mapping[str, int]] = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "cohere2": 4}
"""Architectures whose files name a window and leave the pattern to llama.cpp: every nth layer is
full (src/llama-model.cpp, set_swa_pattern)."""


class GgufKeys:
    """Metadata of one architecture: '{arch}.block_count' is asked for as 'block_count'."""

    def __init__(self, architecture: str, values: Mapping[str, Value], where: str) -> None:
        start = f"{architecture}."
        own: dict[str, Plain] = {
            key[len(start) :]: list(value) if isinstance(value, list) else value
            for key, value in values.items()
            if key.startswith(start)
        }
        self.architecture = architecture
        self.table = Table(own, f"{where}: {architecture}")

    def per_layer(self, key: str, layers: int, most: int = HEADS) -> tuple[int, ...] | None:
        """One number per layer, however it is written; None where the key is missing."""
        if not isinstance(self.table.raw(key), list):
            found = self.table.whole(key, most=most)
            return None if found is None else (found,) * layers
        listed = self.table.wholes(key, most)
        if len(listed) < layers:
            raise bad_checkpoint(f"{self.table.where}.{key} lists {len(listed)} layers of {layers}")
        return listed[:layers]

    def flags(self, key: str) -> tuple[bool, ...] | None:
        """A list of true and false; None where it is none."""
        value = self.table.raw(key)
        if not isinstance(value, list):
            return None
        return tuple(bool(item) for item in value)


def read_gguf_geometry(
    keys: GgufKeys, *, vocab_size: int | None, mtp_layers: int
) -> GeometryFacts | None:
    """Geometry; None where the layers keep memory in a way that is not known here.

    ``mtp_layers``: prediction layers that are there as tensors. The block count includes them.

    Raises:
        DataError: numbers that no model has.
    """
    table = keys.table
    promised = table.whole("nextn_predict_layers", most=LAYERS) or 0
    layers = table.needed("block_count", most=LAYERS) - promised
    heads = keys.per_layer("attention.head_count", layers)
    kv = keys.per_layer("attention.head_count_kv", layers) or heads
    if layers < 1 or kv is None:
        return None
    recurrent = _recurrent(keys, kv)
    linear = _linear_state(keys, sum(recurrent))
    if any(recurrent) and linear is None:
        return None
    sliding = _sliding(keys, layers)
    own = _owners(table, layers)
    full_kv = [kv[i] for i in range(own) if kv[i] and not recurrent[i] and not sliding[i]]
    window_kv = [kv[i] for i in range(own) if kv[i] and not recurrent[i] and sliding[i]]
    dim_k, dim_v = _dims(keys, heads)
    mla = table.whole("attention.key_length_mla", least=1) is not None
    window_dim = table.whole("attention.key_length_swa", least=1) or dim_k
    return GeometryFacts(
        layers=layers,
        attention_layers=len(full_kv),
        kv_heads=1 if mla else max(full_kv or window_kv, default=1),
        head_dim_k=dim_k,
        head_dim_v=0 if mla else dim_v,
        hidden_size=table.whole("embedding_length", least=1),
        vocab_size=vocab_size,
        sliding_layers=len(window_kv),
        sliding_kv_heads=max(window_kv) if window_kv else None,
        sliding_head_dim=window_dim if window_kv else None,
        window_tokens=_window(table) if window_kv else None,
        linear=linear,
        mtp_layers=mtp_layers,
        max_context_tokens=table.whole("context_length", most=TOKENS, least=1),
    )


def _window(table: Table) -> int | None:
    return table.whole("attention.sliding_window", most=2**31)


def _dims(keys: GgufKeys, heads: tuple[int, ...] | None) -> tuple[int, int]:
    key = keys.table.whole("attention.key_length", least=1)
    value = keys.table.whole("attention.value_length", least=1)
    if key is None:
        key = keys.table.needed("embedding_length") // max(heads or (1,), default=1)
    return key, value or key


def _owners(table: Table, layers: int) -> int:
    """Layers with KV of their own: the last ones of some Gemma models share that of others."""
    return max(layers - (table.whole("attention.shared_kv_layers", most=LAYERS) or 0), 0)


def _sliding(keys: GgufKeys, layers: int) -> tuple[bool, ...]:
    if not _window(keys.table):
        return (False,) * layers
    listed = keys.flags("attention.sliding_window_pattern")
    if listed is not None:
        return (listed + (False,) * layers)[:layers]
    nth = keys.table.whole("attention.sliding_window_pattern", most=LAYERS, least=1)
    nth = nth or WINDOW_EVERY.get(keys.architecture)
    if nth is None:
        # A window without a pattern that is known here: counted as full, which is the most.
        return (False,) * layers
    return tuple((layer + 1) % nth != 0 for layer in range(layers))


def _recurrent(keys: GgufKeys, kv: tuple[int, ...]) -> tuple[bool, ...]:
    """Which layers keep a state instead of KV."""
    table = keys.table
    if table.whole("ssm.inner_size", most=WIDTH, least=1) is None:
        return (False,) * len(kv)
    listed = keys.flags("attention.recurrent_layers")
    if listed is not None and len(listed) >= len(kv):
        return listed[: len(kv)]
    nth = table.whole("full_attention_interval", most=LAYERS, least=1)
    if nth is not None:
        return tuple((layer + 1) % nth != 0 for layer in range(len(kv)))
    feed = keys.per_layer("feed_forward_length", len(kv), WIDTH)
    apart = feed is not None and len(set(feed)) > 1
    return tuple(heads == 0 and not (apart and feed and feed[i]) for i, heads in enumerate(kv))


def _linear_state(keys: GgufKeys, layers: int) -> LinearState | None:
    table = keys.table
    kernel = table.whole("ssm.conv_kernel", least=1)
    inner = table.whole("ssm.inner_size", least=1)
    state = table.whole("ssm.state_size", least=1)
    if not layers or kernel is None or inner is None or state is None:
        return None
    groups = table.whole("ssm.group_count", most=HEADS) or 0
    return LinearState(
        layers=layers,
        conv_elements=(kernel - 1) * (inner + 2 * groups * state),
        state_elements=state * inner,
    )
