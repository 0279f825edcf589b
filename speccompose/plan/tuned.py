"""A depth that a search chose on this board goes before every other starting depth.

Between stages 4 and 5 of 7. Pure. What the user names is never changed; a tuned depth is proposed
as if it had been asked for, so whatever forbids it elsewhere forbids it here, and then the usual
start stands.
"""

from collections.abc import Callable

import msgspec

from speccompose.errors import SpecComposeError
from speccompose.plan.measured import STORE, plan_key, tuned_key
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.measured import StoredResult, TunedResult
from speccompose.vocab.plan import SpeculationPlan
from speccompose.vocab.request import StackRequest

Propose = Callable[[StackRequest], tuple[SpeculationPlan, ...]]


def at_tuned_depths(
    proposals: tuple[SpeculationPlan, ...],
    choice: ImageChoice,
    device: ResolvedDevice,
    results: tuple[StoredResult, ...],
    *,
    request: StackRequest,
    propose: Propose,
) -> tuple[SpeculationPlan, ...]:
    """The same proposals, each at the depth that was tuned for it, where one was."""
    tuned = {result.tuned: result for result in results if isinstance(result, TunedResult)}
    if request.depth is not None or not tuned:
        return proposals
    found = []
    for plan in proposals:
        key = plan_key(plan, choice, device)
        result = tuned.get(tuned_key(key, request.concurrency)) if key is not None else None
        found.append(plan if result is None else _at(plan, result, request, propose))
    return tuple(found)


def _at(
    plan: SpeculationPlan, result: TunedResult, request: StackRequest, propose: Propose
) -> SpeculationPlan:
    """The proposal at the tuned depth; as it was where that depth is refused now, or is none."""
    if plan.method is None or result.depth in (0, plan.depth):
        return plan
    asked = msgspec.structs.replace(
        request, method=plan.method, draft=plan.draft_repo or request.draft, depth=result.depth
    )
    try:
        deeper = propose(asked)[0]
    except SpecComposeError:
        return plan
    if (deeper.draft_repo, deeper.draft_file) != (plan.draft_repo, plan.draft_file):
        return plan
    decision = Decision(
        subject="speculation depth",
        value=str(result.depth),
        rule=f"tune chose it on {result.measured_at} at concurrency {result.tuned.concurrency}: "
        f"{result.tokens_s:.1f} tokens/s, {result.baseline_tokens_s:.1f} without",
        source=STORE,
    )
    others = tuple(each for each in deeper.decisions if each.subject != "speculation depth")
    return msgspec.structs.replace(
        deeper,
        reason=f"depth {result.depth} was tuned here",
        decisions=(*others, decision),
        findings=(*plan.findings, *(f for f in deeper.findings if f not in plan.findings)),
    )
