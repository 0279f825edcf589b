"""Whether a whole model may draft for another: same tokens, as each engine compares them.

Beside stage 4 of 7. Pure. llama.cpp compares types, special tokens and texts; vLLM compares sizes
alone, so the texts are compared here for it. Never is a config changed to make sizes equal.
"""

from collections.abc import Iterator

from speccompose.vocab.checkpoint import CheckpointFacts, PairCheck, TokenizerFacts
from speccompose.vocab.engine import EngineEntry, VersionedName
from speccompose.vocab.versions import within

SIZE_GAP = 128
"""Rows by which vocabularies may differ: llama.cpp's SPEC_VOCAB_MAX_SIZE_DIFFERENCE, and the
padding that models of one family differ by (GH vllm-project/vllm#10913)."""

FIRST_COMPARED = 5
"""llama.cpp's SPEC_VOCAB_CHECK_START_TOKEN_ID: ids below may differ."""

HETEROGENEOUS = "use_heterogeneous_vocab"
"""vLLM's field for drafts of another vocabulary size; greedy sampling only."""


def judge_vocabulary(
    target: CheckpointFacts, draft: CheckpointFacts, engine: EngineEntry, version: str | None
) -> Iterator[PairCheck]:
    """Sizes, special tokens and texts by the engine's rule."""
    if engine.id == "llama.cpp":
        yield from _llama_cpp(target, draft)
    else:
        yield _texts(target.tokenizer, draft.tokenizer, first=0)
        yield _sizes(target, draft, engine, version)


def heterogeneous_fields(
    target: CheckpointFacts, draft: CheckpointFacts, engine: EngineEntry, version: str | None
) -> dict[str, str]:
    """The speculative-config field that a padded pair needs, where the version has it."""
    if engine.id != "vllm" or target.vocab_size == draft.vocab_size:
        return {}
    return {HETEROGENEOUS: "true"} if _takes_other_sizes(engine, version) else {}


def _sizes(
    target: CheckpointFacts, draft: CheckpointFacts, engine: EngineEntry, version: str | None
) -> PairCheck:
    own, there = draft.vocab_size, target.vocab_size
    if own is None or there is None:
        detail = "the files do not say both sizes"
        return PairCheck(subject="vocabulary", fits=None, detail=detail)
    sizes = f"target {there}, draft {own}"
    if own == there:
        return PairCheck(subject="vocabulary", fits=True, detail=f"{sizes}: equal")
    if abs(own - there) > SIZE_GAP:
        detail = f"{sizes}: more than padding"
        return PairCheck(subject="vocabulary", fits=False, detail=detail)
    if _takes_other_sizes(engine, version):
        detail = f"{sizes}: padding, taken with {HETEROGENEOUS} (greedy sampling only)"
        return PairCheck(subject="vocabulary", fits=True, detail=detail)
    field = _field(engine)
    since = f"; from {field.since} on with {HETEROGENEOUS}" if field and field.since else ""
    whose = f"{engine.name} {version}" if version else engine.name
    detail = f"{sizes}: padding only, but {whose} wants equal sizes{since}"
    return PairCheck(subject="vocabulary", fits=False, detail=detail)


def _field(engine: EngineEntry) -> VersionedName | None:
    return next((each for each in engine.speculation_fields if each.name == HETEROGENEOUS), None)


def _takes_other_sizes(engine: EngineEntry, version: str | None) -> bool:
    field = _field(engine)
    return field is not None and version is not None and within(version, field.since, field.below)


def _llama_cpp(target: CheckpointFacts, draft: CheckpointFacts) -> Iterator[PairCheck]:
    there, own = target.tokenizer, draft.tokenizer
    if there is None or own is None:
        side = "target" if there is None else "draft"
        detail = f"the {side} has no tokenizer: it cannot be compared"
        yield PairCheck(subject="tokenizer", fits=False, detail=detail)
        return
    detail = f"target {there.kind} ({there.pre}), draft {own.kind} ({own.pre})"
    yield PairCheck(subject="vocabulary type", fits=there.kind == own.kind, detail=detail)
    if there.kind != own.kind:
        return
    yield _special("BOS", (there.add_bos, there.bos_id), (own.add_bos, own.bos_id))
    yield _special("EOS", (there.add_eos, there.eos_id), (own.add_eos, own.eos_id))
    gap = abs((there.tokens or 0) - (own.tokens or 0))
    detail = f"target {there.tokens}, draft {own.tokens}; up to {SIZE_GAP} may differ"
    yield PairCheck(subject="vocabulary", fits=gap <= SIZE_GAP, detail=detail)
    yield _texts(there, own, first=FIRST_COMPARED)


def _special(
    name: str, there: tuple[bool | None, int | None], own: tuple[bool | None, int | None]
) -> PairCheck:
    """Added alike; and where it is added, the same token."""
    same = there[0] == own[0] and (not there[0] or there[1] == own[1])
    unsettled = there[0] != own[0] and None in (there[0], own[0])
    detail = f"target {_added(there)}, draft {_added(own)}"
    return PairCheck(subject=f"{name} token", fits=None if unsettled else same, detail=detail)


def _added(special: tuple[bool | None, int | None]) -> str:
    added, token = special
    how = "adds by its type's default" if added is None else "adds" if added else "does not add"
    return f"{how} {token}" if token is not None else f"{how} one"


def _texts(there: TokenizerFacts | None, own: TokenizerFacts | None, *, first: int) -> PairCheck:
    """The first token that differs; identical tokenizers need no comparison."""
    if there is None or own is None:
        side = "target" if there is None else "draft"
        detail = f"the {side} has no tokenizer file: its tokens are not known"
        return PairCheck(subject="tokens", fits=None, detail=detail)
    if there.digest == own.digest:
        return PairCheck(subject="tokens", fits=True, detail="the tokenizers are identical")
    if not there.texts or not own.texts:
        same = there.kind == own.kind and there.digest != own.digest
        detail = f"target {there.kind}, draft {own.kind}: they differ and cannot be read further"
        return PairCheck(subject="tokens", fits=False if same else None, detail=detail)
    for number in range(first, min(len(there.texts), len(own.texts))):
        if there.texts[number] != own.texts[number]:
            detail = f"token {number} is {there.texts[number][:24]!r} for the target, "
            detail += f"{own.texts[number][:24]!r} for the draft"
            return PairCheck(subject="tokens", fits=False, detail=detail)
    shared = min(len(there.texts), len(own.texts))
    return PairCheck(subject="tokens", fits=True, detail=f"equal from {first} to {shared - 1}")
