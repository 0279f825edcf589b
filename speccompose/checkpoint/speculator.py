"""A draft's config.json and tensors -> its method, block, verifier and what it was built for.

Layer: checkpoint. Pure. Formats: speculators, EAGLE-3 heads of other trainers, z-lab DFlash,
DeepSpec DSpark, Gemma's assistant, and DSpark inside a DeepSeek target (runtimes E1).
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from speccompose.checkpoint.safetensors_header import StoredTensor
from speccompose.checkpoint.table import LAYERS, VOCABULARY, WIDTH, Table
from speccompose.vocab.checkpoint import SpeculatorFacts
from speccompose.vocab.method import MethodId

BLOCK_LIMIT: Final = 1024
_SPECULATORS: Final[dict[str, MethodId]] = {
    "eagle3": "eagle3",
    "peagle": "eagle3",
    "dflash": "dflash",
    "dflash2": "dflash",
    "dspark": "dspark",
}
"""Types that vLLM knows; speculators' own mtp and xpress are none of them."""

_ARCHITECTURES: Final[tuple[tuple[re.Pattern[str], MethodId | None, str], ...]] = (
    (re.compile("dspark", re.I), "dspark", "DeepSpec DSpark"),
    (re.compile("dflash2", re.I), "dflash", "DFlash2"),
    (re.compile("dflash", re.I), "dflash", "z-lab DFlash"),
    (re.compile("eagle-?3|eagle3", re.I), "eagle3", "EAGLE-3"),
    (re.compile("eagle|medusa|mlpspeculator", re.I), None, "an older kind of head"),
)
_ASSISTANT = re.compile(r"^gemma\d+(_unified)?_assistant$")
_FUSION = re.compile(r"(^|\.)fc\.weight$")
_MARKOV = re.compile(r"markov")


class _Kind(NamedTuple):
    method: MethodId | None
    style: str


def read_speculator(root: Table, tensors: Mapping[str, StoredTensor]) -> SpeculatorFacts | None:
    """What kind of draft this is; None for a model that serves by itself."""
    if root.whole("dspark_block_size", most=BLOCK_LIMIT, least=1):
        return _inside(root)
    kind = _kind(root)
    if kind is None and any(name.startswith("midlayer.") for name in tensors):
        kind = _Kind("eagle3", "EAGLE-3, by its tensors alone")
    if kind is None:
        return None
    if kind.style == "Gemma assistant":
        return SpeculatorFacts(
            method="mtp",
            style=kind.style,
            target_hidden_size=root.whole("backbone_hidden_size", least=1),
            shared_kv=True,
        )
    return _separate(root, kind, tensors)


def _kind(root: Table) -> _Kind | None:
    named = root.text("speculators_model_type")
    if named is not None:
        return _Kind(_SPECULATORS.get(named), f"speculators {named}")
    if _ASSISTANT.match(root.text("model_type") or ""):
        return _Kind("mtp", "Gemma assistant")
    for architecture in root.texts("architectures"):
        for pattern, method, style in _ARCHITECTURES:
            if pattern.search(architecture):
                return _Kind(method, style)
    return None


def _inside(root: Table) -> SpeculatorFacts:
    return SpeculatorFacts(
        method="dspark",
        style="DSpark inside the checkpoint",
        inside=True,
        block_size=root.whole("dspark_block_size", most=BLOCK_LIMIT),
        layer_ids=root.wholes("dspark_target_layer_ids", most=LAYERS),
    )


def _separate(root: Table, kind: _Kind, tensors: Mapping[str, StoredTensor]) -> SpeculatorFacts:
    part = root.text_part()
    places = [place for place in (root, root.table("dflash_config"), part) if place is not None]
    own = root.table("speculators_config")
    verifier = own.table("verifier") if own else None
    method = kind.method
    if method == "dflash" and _markov_rank(places):
        method = "dspark"
    target = root.whole("target_hidden_size", least=1)
    vocabulary = _first(places, "draft_vocab_size", VOCABULARY)
    return SpeculatorFacts(
        method=method,
        style=kind.style,
        verifier=verifier.text("name_or_path") if verifier else None,
        verifier_architectures=verifier.texts("architectures") if verifier else (),
        block_size=_first(places, "block_size", BLOCK_LIMIT),
        proposed_tokens=_proposed(own),
        sample_from_anchor=root.flag("sample_from_anchor"),
        layer_ids=_layer_ids(root, places),
        target_layers=_first(places, "num_target_layers", LAYERS),
        target_hidden_size=target or part.whole("hidden_size", least=1),
        fused_hidden=_fused(tensors),
        draft_vocab_size=vocabulary,
        map_size=_length(tensors, "t2d"),
        confidence_head=root.flag("enable_confidence_head"),
        missing=_missing(method, vocabulary, part, tensors),
    )


def _first(places: list[Table], key: str, most: int) -> int | None:
    for place in places:
        found = place.whole(key, most=most, least=1)
        if found is not None:
            return found
    return None


def _markov_rank(places: list[Table]) -> bool:
    """A DFlash body with a Markov head is DSpark."""
    return any(place.whole("markov_rank", most=WIDTH) for place in places)


def _layer_ids(root: Table, places: list[Table]) -> tuple[int, ...]:
    eagle = root.table("eagle_config")
    for place in [*places, *([eagle] if eagle else [])]:
        for key in (
            "target_layer_ids",
            "aux_hidden_state_layer_ids",
            "eagle_aux_hidden_state_layer_ids",
        ):
            found = place.wholes(key, most=LAYERS)
            if found:
                return found
    return ()


def _proposed(own: Table | None) -> int | None:
    """The depth that the default proposal method names, else the first."""
    if own is None:
        return None
    methods = own.tables("proposal_methods")
    default = own.text("default_proposal_method")
    named = [each for each in methods if each.text("proposal_type") == default]
    for each in (*named, *methods):
        return each.whole("speculative_tokens", most=BLOCK_LIMIT)
    return None


def _fused(tensors: Mapping[str, StoredTensor]) -> int | None:
    for name, tensor in tensors.items():
        if (
            _FUSION.search(name)
            and len(tensor.shape) == 2
            and tensor.type in ("bf16", "f16", "f32")
        ):
            return tensor.shape[1]
    return None


def _length(tensors: Mapping[str, StoredTensor], name: str) -> int | None:
    found = tensors.get(name)
    return found.shape[0] if found is not None and found.shape else None


def _missing(
    method: MethodId | None,
    vocabulary: int | None,
    part: Table,
    tensors: Mapping[str, StoredTensor],
) -> tuple[str, ...]:
    """Tensors without which the head cannot work, each with why it is needed."""
    missing = []
    if method in ("eagle3", "dflash", "dspark"):
        if not any(_FUSION.search(name) for name in tensors):
            missing.append("fc.weight, which fuses the target's hidden states")
        full = part.whole("vocab_size", most=VOCABULARY)
        if vocabulary is not None and full is not None and vocabulary != full:
            length = _length(tensors, "d2t")
            if length is None:
                missing.append(f"d2t, which maps its {vocabulary} tokens to the target's {full}")
            elif length != vocabulary:
                missing.append(f"d2t for {vocabulary} tokens: it has {length} entries")
    if method == "dspark" and not any(_MARKOV.search(name) for name in tensors):
        missing.append("the Markov head (markov_*)")
    return tuple(missing)
