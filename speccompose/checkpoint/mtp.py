"""Config keys and tensor names -> prediction heads: promised, there, stripped, out of reach.

Layer: checkpoint. Pure. A key is no proof: quantised copies often drop the tensors, or ship them
in a file that the index does not name (runtimes: look in the root and in text_config).
"""

import re
from collections.abc import Iterable
from typing import Final

from speccompose.checkpoint.folder import Weights
from speccompose.checkpoint.quantisation import Quantisation
from speccompose.checkpoint.safetensors_header import StoredTensor
from speccompose.checkpoint.table import Table
from speccompose.vocab.checkpoint import MtpFacts, MtpState

KEYS: Final = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
HEADS_LIMIT: Final = 64
_NAMED = re.compile(r"(^|\.)(mtp|nextn)([._]|$)")
_LAYER = re.compile(r"(^|\.)layers\.(\d{1,6})\.")
_HALF = {"bf16", "f16", "f32"}
_NEVER_QUANTISED = re.compile(r"(norm|embed_tokens|lm_head|shared_head\.head|gate|conv1d)\.weight$")


class MtpNames:
    """Which tensor names are prediction heads: named so, or a layer behind the last one."""

    def __init__(self, layers: int | None) -> None:
        self._layers = layers

    def __call__(self, name: str) -> bool:
        """Whether the tensor belongs to a prediction head."""
        if _NAMED.search(name):
            return True
        found = _LAYER.search(name)
        return found is not None and self._layers is not None and int(found[2]) >= self._layers


def promised_heads(root: Table) -> tuple[int, str | None]:
    """How many prediction layers the config speaks of, and the key that says so."""
    for table in (root, root.text_part()):
        for key in KEYS:
            heads = table.whole(key, most=HEADS_LIMIT)
            if heads:
                return heads, key
    return 0, None


def mtp_facts(
    root: Table, weights: Weights, quantisation: Quantisation, layers: int | None
) -> MtpFacts:
    """Compare what is promised with what is there."""
    heads, key = promised_heads(root)
    names = MtpNames(layers if heads else None)
    inside = {name: tensor for name, tensor in weights.tensors.items() if names(name)}
    apart = {
        file: [name for name in tensors if names(name) and name not in weights.tensors]
        for file, tensors in weights.outside.items()
    }
    files = tuple(file for file, found in sorted(apart.items()) if found)
    return MtpFacts(
        state=_state(heads, bool(inside), bool(files)),
        heads=heads,
        key=key,
        tensors=len(inside),
        types=tuple(sorted({tensor.type for tensor in inside.values()})),
        outside=sum(len(found) for found in apart.values()),
        outside_files=files,
        unquantised=tuple(_unquantised(inside.items(), quantisation)),
    )


def _state(heads: int, inside: bool, outside: bool) -> MtpState:
    if outside:
        return "outside_index"
    if heads:
        return "present" if inside else "stripped"
    return "no_key" if inside else "none"


def _unquantised(
    tensors: Iterable[tuple[str, StoredTensor]], quantisation: Quantisation
) -> list[str]:
    """Half-precision matrices in heads of a quantised checkpoint that its settings do not exempt.

    Engines build packed weights for them and fail on the shapes (vllm-project/vllm#38832, #38650).
    """
    if quantisation.words is None:
        return []
    return [
        name
        for name, tensor in tensors
        if tensor.type in _HALF
        and len(tensor.shape) == 2
        and name.endswith(".weight")
        and not _NEVER_QUANTISED.search(name)
        and not quantisation.leaves_out(name)
    ]
