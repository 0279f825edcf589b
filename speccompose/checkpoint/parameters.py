"""Stored tensors -> how many parameters they are, and of which types the checkpoint is made.

Layer: checkpoint. Pure. Packed weights count as what they unpack to; scales, zero points, maps
and packed shapes are no parameters. Where a packing is not known the count is not known.
"""

import re
from collections.abc import Mapping
from typing import Final

from speccompose.checkpoint.bounded import MIB
from speccompose.checkpoint.quantisation import Quantisation
from speccompose.checkpoint.safetensors_header import BITS, StoredTensor
from speccompose.vocab.checkpoint import ElementType, TensorFacts

_NO_PARAMETERS: Final = re.compile(
    r"(^|[._])((weight|input|output|k|v|q|prob_output)_(scale|zero_point|global_scale)(_2|_inv)?"
    r"|weight_shape|weight_g_idx|scales|qzeros|g_idx|qscales|_scales|d2t|t2d|inv_freq"
    r"|activation_scale(_inv)?|input_scale_inv|absmax|quant_map|masked_bias|rotary_emb)$"
)


def tensor_facts(tensors: Mapping[str, StoredTensor], quantisation: Quantisation) -> TensorFacts:
    """Count tensors and parameters, and sum sizes by stored type."""
    total: int | None = 0
    by_type: dict[str, list[int]] = {}
    for name, tensor in tensors.items():
        sums = by_type.setdefault(tensor.type, [0, 0])
        sums[0] += 1
        sums[1] += tensor.bytes
        held = 0 if _NO_PARAMETERS.search(name) else _held(name, tensor, tensors, quantisation)
        total = total + held if total is not None and held is not None else None
    types = [
        ElementType(name=name, tensors=count, mib=-(-size // MIB))
        for name, (count, size) in sorted(by_type.items(), key=lambda item: -item[1][1])
    ]
    return TensorFacts(count=len(tensors), parameters=total, types=tuple(types))


def _held(
    name: str, tensor: StoredTensor, tensors: Mapping[str, StoredTensor], quantised: Quantisation
) -> int | None:
    """Parameters in one tensor; None where its packing is not known."""
    if tensor.type.upper() not in BITS:
        return None
    stored = tensor.elements
    if tensor.type == "i32" and name.endswith((".qweight", ".weight_packed")):
        return stored * 32 // quantised.bits if quantised.bits else None
    if tensor.type != "u8":
        return None if tensor.type in ("i32", "u32") and name.endswith("weight") else stored
    if name.endswith((".weight_packed", "_blocks")):
        return stored * 2
    if f"{name}_scale_2" in tensors or f"{name}_scale" in tensors:
        return stored * 2
    return None
