"""Whether a draft fits a target, judged from what their files say, with every reason.

Beside stage 4 of 7. Pure. What engines do with a wrong pair ranges from a refusal to a server that
is healthy and never speculates (runtimes B4), so each row here is refused before anything starts.
Rules section 3: verifier, hidden size, vocabulary and tokenizer, layer ids, block size, tensors.
"""

from collections.abc import Iterator

from speccompose.plan.depth import deepest_in_block
from speccompose.plan.pair_vocabulary import heterogeneous_fields, judge_vocabulary
from speccompose.vocab.checkpoint import CheckpointFacts, PairCheck, PairVerdict, SpeculatorFacts
from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.method import MethodId

CONTAINERS = {"vllm": "safetensors", "llama.cpp": "gguf"}
"""What each engine is given here (rules section 2: safetensors are never handed to llama.cpp)."""


def judge_pair(
    target: CheckpointFacts,
    draft: CheckpointFacts,
    method: MethodId | None,
    engine: EngineEntry,
    engine_version: str | None,
    *,
    depth: int | None = None,
) -> PairVerdict:
    """Compare the two. ``method`` None: what the draft is made for.

    A check that the files do not settle is shown and refuses nothing by itself.
    """
    wanted = method or natural_method(draft)
    checks = [*_containers(target, draft, engine), *_roles(target, draft, wanted)]
    fields: dict[str, str] = {}
    deepest = None
    if all(check.fits for check in checks):
        head = draft.speculator
        if head is None:
            checks += judge_vocabulary(target, draft, engine, engine_version)
            fields = heterogeneous_fields(target, draft, engine, engine_version)
        else:
            deepest = _deepest(head, wanted)
            checks += _head(target, draft, head, engine)
            checks += _depth(head, depth, deepest)
        checks += _context(target, draft)
    return PairVerdict(
        target=target.name,
        draft=draft.name,
        method=wanted,
        engine=engine.id,
        engine_version=engine_version,
        matches=all(check.fits is not False for check in checks),
        checks=tuple(checks),
        deepest=deepest,
        fields=fields,
    )


def natural_method(draft: CheckpointFacts) -> MethodId | None:
    """The method that a draft is made for; a whole model drafts as a draft_model."""
    return draft.speculator.method if draft.speculator is not None else "draft_model"


def _containers(
    target: CheckpointFacts, draft: CheckpointFacts, engine: EngineEntry
) -> Iterator[PairCheck]:
    wanted = CONTAINERS[engine.id]
    for role, facts in (("target", target), ("draft", draft)):
        if facts.container != wanted:
            detail = f"the {role} is {facts.container}, {engine.name} is given {wanted}"
            yield PairCheck(subject="files", fits=False, detail=detail)


def _roles(
    target: CheckpointFacts, draft: CheckpointFacts, method: MethodId | None
) -> Iterator[PairCheck]:
    """The target serves by itself, and the draft is of the kind that the method takes."""
    if target.is_draft:
        yield PairCheck(subject="kind", fits=False, detail="the target is itself a draft")
    own = natural_method(draft)
    what = draft.speculator.style if draft.speculator else f"a plain model ({draft.architecture})"
    if draft.speculator is not None and draft.speculator.inside:
        yield PairCheck(subject="kind", fits=False, detail=f"the draft is a target: {what}")
    elif own is None:
        detail = f"the draft is {what}, which no supported method runs"
        yield PairCheck(subject="kind", fits=False, detail=detail)
    else:
        same = own == method
        wanted = f"{method} takes" if same else f"{method} was wanted, {own} takes"
        yield PairCheck(subject="kind", fits=same, detail=f"{wanted} it: the draft is {what}")


def _head(
    target: CheckpointFacts, draft: CheckpointFacts, head: SpeculatorFacts, engine: EngineEntry
) -> Iterator[PairCheck]:
    yield _verifier(target, head)
    yield _hidden(target, head)
    yield from _fused(target, head)
    yield from _head_vocabulary(target, draft, head)
    yield from _layers(target, head)
    yield from _anchor(head, engine)
    yield from _precision(target, head)
    for each in head.missing:
        yield PairCheck(subject="tensors", fits=False, detail=f"the draft lacks {each}")


def _verifier(target: CheckpointFacts, head: SpeculatorFacts) -> PairCheck:
    """A draft that names its target must name this one, or what this one was made from."""
    named = head.verifier
    if named is None or named.count("/") != 1 or named.startswith((".", "/", "~")):
        detail = f"the draft names no repository as its target{f': {named}' if named else ''}"
        return PairCheck(subject="verifier", fits=None, detail=detail)
    known = (*target.names, *target.bases)
    if named.casefold() in {name.casefold() for name in known}:
        relation = "is" if named in target.names else "was made from"
        detail = f"made for {named}, which the target {relation}"
        return PairCheck(subject="verifier", fits=True, detail=detail)
    if named.rpartition("/")[2].casefold() == target.name.casefold():
        detail = f"made for {named}, and the target's folder is called so"
        return PairCheck(subject="verifier", fits=True, detail=detail)
    classes = head.verifier_architectures
    if classes and target.architecture not in classes:
        detail = f"made for {named} ({', '.join(classes)}), the target is {target.architecture}"
        return PairCheck(subject="verifier", fits=False, detail=detail)
    quantised = target.quantisation is not None and not target.bases
    if not known or quantised:
        detail = f"made for {named}; the target does not say what it was made from"
        return PairCheck(subject="verifier", fits=None, detail=detail)
    detail = f"made for {named}, the target is {' from '.join(known[:2])}"
    return PairCheck(subject="verifier", fits=False, detail=detail)


def _hidden(target: CheckpointFacts, head: SpeculatorFacts) -> PairCheck:
    wanted, there = head.target_hidden_size, target.hidden_size
    if wanted is None or there is None:
        side = "draft" if wanted is None else "target"
        return PairCheck(
            subject="hidden size", fits=None, detail=f"the {side} does not say its hidden size"
        )
    detail = f"the draft wants {wanted}, the target has {there}"
    return PairCheck(subject="hidden size", fits=wanted == there, detail=detail)


def _fused(target: CheckpointFacts, head: SpeculatorFacts) -> Iterator[PairCheck]:
    """The tensor itself: it takes the hidden states of so many layers side by side."""
    if head.fused_hidden is None or not target.hidden_size:
        return
    layers, rest = divmod(head.fused_hidden, target.hidden_size)
    wanted = len(head.layer_ids) or layers
    detail = f"fc.weight takes {head.fused_hidden} values, {wanted} layers of the target give "
    detail += str(wanted * target.hidden_size)
    yield PairCheck(subject="head input", fits=rest == 0 and layers == wanted, detail=detail)


def _head_vocabulary(
    target: CheckpointFacts, draft: CheckpointFacts, head: SpeculatorFacts
) -> Iterator[PairCheck]:
    """Heads share the target's tokens; a smaller vocabulary of their own maps into it."""
    own, there = head.map_size or draft.vocab_size, target.vocab_size
    if own is None or there is None:
        detail = "the files do not say both sizes"
        yield PairCheck(subject="vocabulary", fits=None, detail=detail)
    else:
        detail = f"the draft is made for {own} tokens, the target has {there}"
        yield PairCheck(subject="vocabulary", fits=own == there, detail=detail)
    small = head.draft_vocab_size
    if small is not None and there is not None and small > there:
        detail = f"the draft proposes from {small} tokens, the target has {there}"
        yield PairCheck(subject="draft vocabulary", fits=False, detail=detail)


def _layers(target: CheckpointFacts, head: SpeculatorFacts) -> Iterator[PairCheck]:
    there = target.layers
    if head.target_layers is not None and there is not None:
        detail = f"the draft is made for {head.target_layers} layers, the target has {there}"
        yield PairCheck(subject="layers", fits=head.target_layers == there, detail=detail)
    if head.layer_ids and there is not None:
        highest = max(head.layer_ids)
        detail = f"the draft listens to layer {highest} at most, the target has 0 to {there - 1}"
        yield PairCheck(subject="layer ids", fits=highest < there, detail=detail)


def _anchor(head: SpeculatorFacts, engine: EngineEntry) -> Iterator[PairCheck]:
    if head.method == "dflash" and head.sample_from_anchor and engine.id == "vllm":
        detail = "sample_from_anchor=True is not supported for DFlash"
        yield PairCheck(subject="anchor", fits=False, detail=detail)


def _precision(target: CheckpointFacts, head: SpeculatorFacts) -> Iterator[PairCheck]:
    """Assistants trained on the unquantised model hardly fit a quantised one (vllm#41789)."""
    if head.shared_kv and target.quantisation is not None:
        detail = "the target is quantised; such pairs were seen to accept next to nothing"
        yield PairCheck(subject="precision", fits=None, detail=detail)


def _deepest(head: SpeculatorFacts, method: MethodId | None) -> int | None:
    if method not in ("dflash", "dspark") or head.block_size is None:
        return None
    return deepest_in_block(method, head.block_size)


def _depth(head: SpeculatorFacts, depth: int | None, deepest: int | None) -> Iterator[PairCheck]:
    if deepest is None:
        if head.method in ("dflash", "dspark"):
            detail = "the draft names no block size"
            yield PairCheck(subject="block size", fits=None, detail=detail)
        return
    asked = f", {depth} was asked for" if depth is not None else ""
    detail = f"a block of {head.block_size} allows depths 1 to {deepest}{asked}"
    yield PairCheck(subject="block size", fits=depth is None or depth <= deepest, detail=detail)


def _context(target: CheckpointFacts, draft: CheckpointFacts) -> Iterator[PairCheck]:
    own, there = draft.max_context_tokens, target.max_context_tokens
    if own is not None and there is not None and own < there:
        detail = f"the draft was made for {own} tokens, the target for {there}"
        yield PairCheck(subject="context", fits=None, detail=f"{detail}: keep --context below")
