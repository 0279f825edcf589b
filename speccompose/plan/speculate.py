"""Stage 4 of 7, after select, before budget: ways to speculate with one image, best first.

Pure. Automatic choices end with "none" and say in findings what was passed over and why; what the
user names is proposed exactly as named, or refused.
"""

import msgspec

from speccompose.engines import ENGINES
from speccompose.engines.faults import active_faults
from speccompose.engines.user_flags import normalise_name, refuse_owned
from speccompose.errors import SpeculationError
from speccompose.plan.depth import (
    DepthLimits,
    depth_limits,
    explain_clamp,
    starting_depth,
)
from speccompose.plan.obstacles import RULES, no_candidate, obstacle, unknown_draft
from speccompose.plan.pairings import (
    Ask,
    Candidate,
    automatic_candidates,
    candidates_of,
    draft_is_known_for,
)
from speccompose.plan.plain import drafting_flags
from speccompose.plan.speculation_findings import pair_findings
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Finding, info
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.method import MethodId
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.plan import SpeculationPlan
from speccompose.vocab.request import StackRequest

OFF_FROM_CONCURRENCY = 8
"""From this load on the automatic choice is none (rules section 3)."""

_SYNTHETIC_FLAGS = ("--spec-synth-len", "--spec-synth-rates")


def propose_speculation(
    device: ResolvedDevice,
    choice: ImageChoice,
    model: ModelEntry,
    request: StackRequest,
    catalog: Catalog,
) -> tuple[SpeculationPlan, ...]:
    """Ways to speculate, best first.

    Raises:
        SpeculationError: status 7; a method, draft or depth that was asked for is not to be had.
        UsageError: status 2; --set names a flag that a plan option owns.
    """
    ask = Ask(device=device, choice=choice, model=model, request=request, catalog=catalog)
    refuse_owned(ask.engine, request.set_flags, ENGINES[ask.engine.id].owned_flags)
    if request.method == "none":
        return (_off("asked for"),)
    if request.method != "auto":
        return (_named_method(ask, request.method),)
    if request.draft is not None:
        return (_named_draft(ask, request.draft),)
    return _automatic(ask)


def _automatic(ask: Ask) -> tuple[SpeculationPlan, ...]:
    """All that could be taken, then none, unless other options show that none is not meant."""
    candidates = automatic_candidates(ask)
    insists = _insists(ask)
    if ask.request.concurrency >= OFF_FROM_CONCURRENCY and not insists:
        return (_off(f"at concurrency {ask.request.concurrency} batches are full without it"),)
    proposals: list[SpeculationPlan] = []
    passed: list[Finding] = []
    refused: list[SpeculationError] = []
    for candidate in candidates:
        try:
            plan = _propose(ask, candidate)
        except SpeculationError as error:
            refused.append(error)
            passed.append(_passed_over(candidate, error))
            continue
        proposals.append(_with_findings(plan, passed))
    if insists:
        if not proposals:
            raise refused[0] if refused else _nothing_to_set(ask)
        return tuple(proposals)
    reason = "no way to speculate is known here" if not proposals else "nothing else fits"
    return (*proposals, _with_findings(_off(reason), passed))


def _named_method(ask: Ask, method: MethodId) -> SpeculationPlan:
    candidates = candidates_of(ask, method)
    if not candidates:
        unmade = Candidate(method=ask.catalog.methods[method])
        raise obstacle(ask, unmade) or no_candidate(ask, method)
    return _first_possible(ask, candidates)


def _named_draft(ask: Ask, draft: str) -> SpeculationPlan:
    """The draft itself says the method."""
    methods = dict.fromkeys(pairing.method for pairing in draft_is_known_for(ask, draft))
    candidates = tuple(each for method in methods for each in candidates_of(ask, method))
    if not candidates:
        raise unknown_draft(ask, draft)
    return _first_possible(ask, candidates)


def _first_possible(ask: Ask, candidates: tuple[Candidate, ...]) -> SpeculationPlan:
    """The first candidate without an obstacle, else the first one's refusal."""
    refused: list[SpeculationError] = []
    for candidate in candidates:
        try:
            return _propose(ask, candidate)
        except SpeculationError as error:
            refused.append(error)
    raise refused[0]


def _propose(ask: Ask, candidate: Candidate) -> SpeculationPlan:
    """One candidate as a plan.

    Raises:
        SpeculationError: an obstacle, or a depth that the checkpoint forbids.
    """
    in_the_way = obstacle(ask, candidate)
    if in_the_way is not None:
        raise in_the_way
    limits = _limits(ask, candidate)
    depth, reason = _depth(ask, candidate, limits)
    pairing = candidate.pairing
    method = candidate.method
    return SpeculationPlan(
        method=method.id,
        engine_method=method.engines[ask.engine.id].argument,
        depth=depth,
        pairing=pairing,
        draft_repo=candidate.draft,
        draft_file=pairing.draft_file if pairing else None,
        draft_mib=(pairing.draft_mib or 0) if pairing else 0,
        lookup_min=method.lookup_min,
        lookup_max=method.lookup_max,
        synthetic=_is_synthetic(ask, candidate),
        reason=f"{_why(ask, candidate)}; {reason}",
        decisions=_decisions(ask, candidate, depth, reason),
        findings=pair_findings(ask, candidate, limits, depth),
    )


def _limits(ask: Ask, candidate: Candidate) -> DepthLimits:
    method = candidate.method.id
    faults = active_faults(
        ask.engine, ask.version, family=ask.family, model=ask.model, method=method
    )
    return depth_limits(method, candidate.pairing, ask.model, faults)


def _depth(ask: Ask, candidate: Candidate, limits: DepthLimits) -> tuple[int, str]:
    """The depth and a clause that explains it; a depth asked for is never adjusted."""
    wanted, whose = starting_depth(candidate.method, candidate.pairing, ask.family)
    asked = ask.request.depth
    if asked is None:
        depth = limits.clamp(wanted)
        return depth, f"{explain_clamp(limits, wanted, depth)} ({whose})"
    if limits.firm and not limits.allows(asked):
        raise SpeculationError(
            f"depth {asked} is not possible with {candidate.draft or ask.checkpoint.repo}",
            [f"{limits.why} allows {limits.describe()}"],
            hint="use one of these, or leave --depth out",
            code="depth_refused",
            source=candidate.pairing.source if candidate.pairing else RULES,
        )
    return asked, f"depth {asked} as asked for"


def _why(ask: Ask, candidate: Candidate) -> str:
    pairing = candidate.pairing
    name = candidate.method.id
    if ask.request.method == name:
        return f"{name} as asked for"
    if pairing is not None and ask.family in pairing.preferred_on:
        return f"{name} is the published choice on {ask.family}"
    if candidate.draft is None:
        return f"{name} is inside the checkpoint"
    return f"{name} with a draft published for this model"


def _decisions(ask: Ask, candidate: Candidate, depth: int, reason: str) -> tuple[Decision, ...]:
    source = candidate.pairing.source if candidate.pairing else candidate.method.source
    return (
        Decision(
            subject="speculation method",
            value=candidate.method.id,
            rule=_why(ask, candidate),
            source=source,
        ),
        Decision(subject="speculation depth", value=str(depth), rule=reason, source=source),
    )


def _off(reason: str) -> SpeculationPlan:
    decision = Decision(subject="speculation method", value="none", rule=reason, source=RULES)
    return SpeculationPlan(method=None, depth=0, reason=reason, decisions=(decision,))


def _passed_over(candidate: Candidate, error: SpeculationError) -> Finding:
    return info(
        "method_skipped",
        f"{candidate.method.id} was passed over: {error.brief}",
        hint=error.hint,
        source=error.source,
    )


def _with_findings(plan: SpeculationPlan, more: list[Finding]) -> SpeculationPlan:
    return msgspec.structs.replace(plan, findings=(*plan.findings, *more))


def _insists(ask: Ask) -> bool:
    """Whether an option makes sense with speculation only."""
    return ask.request.depth is not None or bool(drafting_flags(ask.request))


def _nothing_to_set(ask: Ask) -> SpeculationError:
    wanted = [f"--depth {ask.request.depth}"] if ask.request.depth is not None else []
    wanted += [f"--set {flag}" for flag in drafting_flags(ask.request)]
    return SpeculationError(
        f"{' '.join(wanted)}: nothing speculates for {ask.checkpoint.repo} here",
        hint="leave it out, or name a method",
        code="no_pairing",
        source=RULES,
    )


def _is_synthetic(ask: Ask, candidate: Candidate) -> bool:
    names = {normalise_name(ask.engine, flag) for flag, _ in ask.request.set_flags}
    pairing = candidate.pairing
    return bool(names & set(_SYNTHETIC_FLAGS)) or (pairing is not None and pairing.synthetic)
