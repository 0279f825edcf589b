"""A GGUF's metadata and tensor names -> prediction heads inside it, or the draft that it is.

Layer: checkpoint. Pure. `dflash` and `eagle3` are architectures of their own; a Markov head makes
DFlash DSpark; `nextn_predict_layers` without nextn tensors is a stripped model (runtimes E3).
"""

import re
from collections.abc import Iterable

from speccompose.checkpoint.gguf_geometry import GgufKeys
from speccompose.checkpoint.speculator import BLOCK_LIMIT
from speccompose.checkpoint.table import LAYERS
from speccompose.vocab.checkpoint import MtpFacts, MtpState, SpeculatorFacts
from speccompose.vocab.method import MethodId

EAGLE3_LAYERS = 3
"""llama.cpp: 'draft model is not eagle3 (expected 3 extract layers)'."""
_NEXTN = re.compile(r"^blk\.\d+\.nextn\.")


def gguf_mtp(keys: GgufKeys, tensors: Iterable[str]) -> MtpFacts:
    """Heads promised by the metadata against the tensors that make them."""
    heads = keys.table.whole("nextn_predict_layers", most=LAYERS) or 0
    found = sum(1 for name in tensors if _NEXTN.match(name))
    key = f"{keys.architecture}.nextn_predict_layers" if heads else None
    state: MtpState = "present" if found else "stripped"
    if not heads:
        state = "no_key" if found else "none"
    return MtpFacts(state=state, heads=heads, key=key, tensors=found)


def gguf_speculator(keys: GgufKeys, tensors: Iterable[str]) -> SpeculatorFacts | None:
    """What kind of draft this is; None for a model that serves by itself."""
    names = set(tensors)
    architecture = keys.architecture
    if architecture == "dflash":
        markov = any(name.startswith("markov_") for name in names)
        return _draft(keys, names, "dspark" if markov else "dflash")
    if architecture == "eagle3":
        return _draft(keys, names, "eagle3")
    if "assistant" in architecture:
        return SpeculatorFacts(method="mtp", style=f"GGUF {architecture}", shared_kv=True)
    return None


def _draft(keys: GgufKeys, names: set[str], method: MethodId) -> SpeculatorFacts:
    table = keys.table
    ids = table.wholes("target_layers", most=LAYERS)
    missing = []
    if not ids:
        missing.append(f"{keys.architecture}.target_layers: llama.cpp would abort or ignore it")
    elif method == "eagle3" and len(ids) != EAGLE3_LAYERS:
        missing.append(f"{EAGLE3_LAYERS} layers in eagle3.target_layers: it lists {len(ids)}")
    if "fc.weight" not in names:
        missing.append("fc.weight, which fuses the target's hidden states")
    return SpeculatorFacts(
        method=method,
        style=f"GGUF {keys.architecture}",
        block_size=table.whole("block_size", most=BLOCK_LIMIT, least=1),
        sample_from_anchor=table.flag("sample_from_anchor"),
        layer_ids=ids,
        target_hidden_size=table.whole("target_hidden_size", least=1)
        or table.whole("embedding_length", least=1),
        confidence_head=table.flag("has_confidence_head"),
        missing=tuple(missing),
    )
