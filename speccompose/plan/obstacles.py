"""Why a way to speculate cannot be taken here, in the words of a refusal.

Part of stage 4. Pure. An explicit request raises the refusal, the automatic choice turns it into
a finding and goes on.
"""

from speccompose.engines.faults import active_faults
from speccompose.engines.vllm import runs_eager
from speccompose.errors import SpeculationError
from speccompose.plan.pairings import Ask, Candidate, draft_is_known_for
from speccompose.vocab.method import MethodId
from speccompose.vocab.versions import version_key

RULES = "rules section 3"


def obstacle(ask: Ask, candidate: Candidate) -> SpeculationError | None:
    """The first thing in the way, None when there is nothing."""
    return (
        _eager_board(ask, candidate)
        or _no_room_for_drafts(ask, candidate)
        or _missing_in_image(ask, candidate)
        or _too_old(ask, candidate)
        or _faulty(ask, candidate)
        or _no_heads(ask, candidate)
    )


def no_candidate(ask: Ask, method: MethodId) -> SpeculationError:
    """Nothing known for a method that was asked for: say what is."""
    if ask.request.draft is not None:
        return unknown_draft(ask, ask.request.draft)
    if method == "mtp":
        return _unproved_heads(ask)
    known = [
        f"{pairing.draft or 'inside the checkpoint'} on {' and '.join(pairing.engines)}"
        f" for {', '.join(pairing.targets) or 'any checkpoint'}"
        for pairing in ask.model.pairings
        if pairing.method == method
    ]
    return SpeculationError(
        f"no {method} draft is known for {ask.checkpoint.repo} on {ask.engine.name}",
        [f"known for {ask.model.id}: {each}" for each in known],
        hint="ask for --method auto, or add a pairing in an overlay",
        code="no_pairing",
        source=RULES,
    )


def unknown_draft(ask: Ask, draft: str) -> SpeculationError:
    """A draft that was named and is not published for this target, engine and method."""
    elsewhere = [
        f"{draft}: {pairing.method} on {' and '.join(pairing.engines)}"
        f" for {', '.join(pairing.targets) or ask.model.base_model}"
        for pairing in draft_is_known_for(ask, draft)
    ]
    drafts = sorted({pairing.draft for pairing in ask.model.pairings if pairing.draft})
    known = f"drafts known for {ask.model.id}: {', '.join(drafts) or 'none'}"
    return SpeculationError(
        f"{draft} is not known as a draft for {ask.checkpoint.repo} on {ask.engine.name}",
        elsewhere or [known],
        hint="a draft built for another size or architecture is not interchangeable",
        code="unknown_draft",
        source=RULES,
    )


def _eager_board(ask: Ask, candidate: Candidate) -> SpeculationError | None:
    if not runs_eager(ask.device, ask.engine.id):
        return None
    return SpeculationError(
        f"{ask.device.id} runs {ask.engine.name} without speculation",
        [f"{candidate.method.id} was wanted; 8 GB leave no room for graphs and drafts"],
        hint="use --method none, or --engine llama.cpp",
        code="no_speculation_on_8gb",
        source="rules section 2",
    )


def _missing_in_image(ask: Ask, candidate: Candidate) -> SpeculationError | None:
    offered = ask.choice.build.methods
    if candidate.method.id in offered:
        return None
    return SpeculationError(
        f"{ask.choice.image.id} {ask.version} does not offer {candidate.method.id}",
        [f"it offers {', '.join(offered) or 'no speculation that is known to work'}"],
        hint="use --method auto, or name another --image",
        code="method_not_in_image",
        source=ask.choice.build.source,
    )


def _too_old(ask: Ask, candidate: Candidate) -> SpeculationError | None:
    engine = ask.engine.id
    floor = candidate.method.engines.get(engine)
    if floor is None:
        return SpeculationError(
            f"{ask.engine.name} has no {candidate.method.id}", code="method_not_in_engine"
        )
    wanted = [floor.since]
    if candidate.pairing is not None and engine in candidate.pairing.min_engine:
        wanted.append(candidate.pairing.min_engine[engine])
    since = max(wanted, key=version_key)
    if version_key(ask.version) >= version_key(since):
        return None
    subject = candidate.draft or candidate.method.id
    return SpeculationError(
        f"{subject} needs {ask.engine.name} {since} or newer, {ask.choice.image.id} has"
        f" {ask.version}",
        hint="use --method auto, or name another --image",
        code="engine_too_old",
        source=floor.source,
    )


def _faulty(ask: Ask, candidate: Candidate) -> SpeculationError | None:
    faults = active_faults(
        ask.engine,
        ask.version,
        family=ask.family,
        model=ask.model,
        method=candidate.method.id,
    )
    for fault in faults:
        if fault.refuse is not None:
            return SpeculationError(
                f"{fault.refuse}, {ask.choice.image.id} has {ask.version}",
                [fault.message],
                hint="use --method none, or name another --image",
                code="known_fault",
                source=fault.source,
            )
    return None


def _no_heads(ask: Ask, candidate: Candidate) -> SpeculationError | None:
    """MTP without a draft of its own needs prediction heads as tensors in the checkpoint."""
    if candidate.method.id != "mtp" or candidate.draft is not None or ask.checkpoint.has_mtp:
        return None
    return _unproved_heads(ask)


def _unproved_heads(ask: Ask) -> SpeculationError:
    repo = ask.checkpoint.repo
    carriers = [each.repo for each in ask.model.checkpoints if each.has_mtp]
    if ask.checkpoint.has_mtp is None:
        brief = f"it is not known whether {repo} carries MTP tensors"
        hint = "run speccompose inspect on it; a config key alone is no proof"
    else:
        brief = f"{repo} carries no MTP tensors"
        hint = "use --method none, or a checkpoint that carries them"
    return SpeculationError(
        brief,
        [f"{each} carries them" for each in dict.fromkeys(carriers)],
        hint=hint,
        code="no_mtp_heads",
        source=ask.checkpoint.source,
    )


def _no_room_for_drafts(ask: Ask, candidate: Candidate) -> SpeculationError | None:
    """Separate drafts are refused on Orin NX and Nano; an MTP assistant is not one of them.

    A method that lives on drafts is refused before one is looked for.
    """
    inside = candidate.pairing is not None and candidate.draft is None
    if not candidate.method.separate_draft or inside:
        return None
    if ask.device.profile.serving.separate_drafts:
        return None
    draft = candidate.draft or ask.request.draft or f"a {candidate.method.id} draft"
    return SpeculationError(
        f"{candidate.method.id} is refused on {ask.device.id}",
        [
            f"family {ask.family}: target and draft together rarely fit in its memory",
            f"wanted: {draft} beside {ask.checkpoint.repo}",
        ],
        hint="use --method auto (MTP inside the checkpoint is allowed), none or ngram",
        code="no_drafts_on_board",
        source="NVIDIA/skills jetson-speculative-decoding; rules section 3",
    )
