"""Config and tensor names -> the routed experts, and the tables of which a token reads a row.

Layer: checkpoint. Pure. What a pass reads of a mixture of experts is not its size; the counts of
layers and matrices come from the tensors, since configs spell exceptions in many ways.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from speccompose.checkpoint.gguf_geometry import GgufKeys
from speccompose.checkpoint.gguf_header import GgufTensor
from speccompose.checkpoint.safetensors_header import StoredTensor
from speccompose.checkpoint.table import HEADS, WIDTH, Table
from speccompose.vocab.checkpoint import GeometryFacts
from speccompose.vocab.model import RoutedExperts

_HF = re.compile(r"(?:^|\.)layers\.(\d+)\..*(?<!shared_)experts\.(?:\d+\.)?([a-z0-9_]+)")
_GGUF = re.compile(r"^blk\.(\d+)\.ffn_([a-z_]+)_exps\.weight$")
_TWO_IN_ONE: Final = ("gate_up", "w13")
_PARTS: Final = ("_blocks", "_scales", "_bias")
_TABLE: Final = re.compile(r"(^|\.)embed_tokens_per_layer\.weight$|^per_layer_token_embd\.weight$")


def hf_experts(config: Table, names: Iterable[str]) -> RoutedExperts | None:
    """Routed experts of a safetensors checkpoint; ``names`` without its prediction heads."""
    experts = config.whole("num_experts", "n_routed_experts", "num_local_experts", most=HEADS)
    used = config.whole("num_experts_per_tok", "moe_topk", most=HEADS)
    width = config.whole("moe_intermediate_size", "intermediate_size", most=WIDTH)
    return _routed((_HF.search(name) for name in names), experts, used, width)


def gguf_experts(keys: GgufKeys, names: Iterable[str]) -> RoutedExperts | None:
    """Routed experts of a GGUF."""
    experts = keys.table.whole("expert_count", most=HEADS)
    used = keys.table.whole("expert_used_count", most=HEADS)
    width = keys.table.whole("expert_feed_forward_length", most=WIDTH)
    return _routed((_GGUF.match(name) for name in names), experts, used, width)


def with_experts(
    geometry: GeometryFacts,
    routed: RoutedExperts | None,
    *,
    table_m: int | None,
    total: int | None,
) -> GeometryFacts:
    """Geometry with what a token reads; ``total`` are all parameters of the checkpoint."""
    active = active_parameters(total, routed, geometry.hidden_size)
    return msgspec.structs.replace(
        geometry,
        routed=routed,
        table_parameters_m=table_m,
        active_parameters_m=round(active / 1e6) if active is not None else None,
    )


def active_parameters(
    total: int | None, routed: RoutedExperts | None, hidden: int | None
) -> int | None:
    """Parameters of one token: all but the experts that it does not use; None when dense."""
    if total is None or routed is None or hidden is None:
        return None
    one = routed.matrices * hidden * routed.intermediate_size
    idle = routed.layers * (routed.experts - routed.experts_per_token) * one
    return total - idle if idle < total else None


def table_parameters_m(tensors: Mapping[str, StoredTensor | GgufTensor]) -> int | None:
    """Millions of parameters in embeddings per layer."""
    found = sum(each.elements for name, each in tensors.items() if _TABLE.search(name))
    return round(found / 1e6) or None


def _routed(
    found: Iterable[re.Match[str] | None],
    experts: int | None,
    used: int | None,
    width: int | None,
) -> RoutedExperts | None:
    places = {(match[1], _plain(match[2])) for match in found if match is not None}
    if not places or not experts or not used or not width or used > experts:
        return None
    kinds = {kind for _, kind in places}
    matrices = sum(2 if any(two in kind for two in _TWO_IN_ONE) else 1 for kind in kinds)
    return RoutedExperts(
        layers=len({layer for layer, _ in places}),
        experts=experts,
        experts_per_token=used,
        intermediate_size=width,
        matrices=matrices,
    )


def _plain(kind: str) -> str:
    for part in _PARTS:
        kind = kind.removesuffix(part)
    return kind
