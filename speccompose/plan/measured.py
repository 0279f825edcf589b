"""What was measured on this board comes first in the automatic choice (rules section 3).

Between stages 4 and 5 of 7. Pure. What an acceptance here has rejected is passed over, what it
has accepted goes first; what the user names stays as named, with a warning.
"""

from collections.abc import Iterable

import msgspec

from speccompose.vocab.document import PlanDocument
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Finding, info, warning
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.measured import (
    MeasuredKey,
    MeasuredResult,
    StoredResult,
    TunedKey,
    TunedResult,
)
from speccompose.vocab.plan import SpeculationPlan
from speccompose.vocab.request import StackRequest

STORE = "results.jsonl in the state tree"

Told = tuple[SpeculationPlan, MeasuredResult | None]


def order_by_results(
    proposals: tuple[SpeculationPlan, ...],
    choice: ImageChoice,
    device: ResolvedDevice,
    results: tuple[StoredResult, ...],
    request: StackRequest,
) -> tuple[SpeculationPlan, ...]:
    """Proposals, accepted ones first and rejected ones left out where the choice is ours.

    Where options leave nothing but rejected ones (--depth alone), they are kept with a warning.
    """
    known = {result.key: result for result in results if isinstance(result, MeasuredResult)}
    tuned = {result.tuned: result for result in results if isinstance(result, TunedResult)}
    told: list[Told] = []
    for plan in proposals:
        key = plan_key(plan, choice, device)
        verdict = known.get(key) if key is not None else None
        chosen = tuned.get(tuned_key(key, request.concurrency)) if key is not None else None
        told.append((plan, newest(verdict, chosen, key)))
    kept = [each for each in told if not _is_rejected(each)]
    if _is_named(request) or not kept:
        return tuple(_warned(plan, result) for plan, result in told)
    passed = tuple(
        _passed_over(plan, result) for plan, result in told if result and result.is_rejected
    )
    kept.sort(key=_rank)
    first, *others = (_reasoned(plan, result) for plan, result in kept)
    return tuple(_with_findings(plan, passed) for plan in (_off_because(first, told), *others))


def plan_key(
    plan: SpeculationPlan, choice: ImageChoice, device: ResolvedDevice
) -> MeasuredKey | None:
    """The key of a proposal; None without speculation."""
    if plan.method is None:
        return None
    checkpoint = choice.checkpoint
    return MeasuredKey(
        image=choice.image.id,
        version=choice.build.version,
        digest=choice.build.digest,
        target=_weights(checkpoint.repo, checkpoint.file),
        draft=_weights(plan.draft_repo, plan.draft_file) if plan.draft_repo else None,
        method=plan.method,
        depth=plan.depth,
        device=device.id,
        power_mode=device.power_mode,
    )


def tuned_key(key: MeasuredKey, concurrency: int) -> TunedKey:
    """The key under which a depth search for such a stack was kept."""
    fields = {name: getattr(key, name) for name in MeasuredKey.__struct_fields__}
    del fields["depth"]
    return TunedKey(**fields, concurrency=concurrency)


def newest(
    verdict: MeasuredResult | None, tuned: TunedResult | None, key: MeasuredKey | None
) -> MeasuredResult | None:
    """The later of a verdict and a search, as a verdict.

    A search says of its own depth that it was chosen, and of every depth that none pays where the
    baseline won; of another depth than its own it says nothing.
    """
    if tuned is None or key is None or (tuned.depth and tuned.depth != key.depth):
        return verdict
    if verdict is not None and verdict.measured_at >= tuned.measured_at:
        return verdict
    return MeasuredResult(
        key=key,
        outcome="tuned" if tuned.depth else "rejected",
        baseline_tokens_s=tuned.baseline_tokens_s,
        speculative_tokens_s=tuned.tokens_s,
        measured_at=tuned.measured_at,
        context_tokens=tuned.context_tokens,
        sequences=tuned.sequences,
        dataset=tuned.dataset,
    )


def document_key(document: PlanDocument, power_mode: str | None) -> MeasuredKey | None:
    """The key of a stack as its plan.json tells it; None without speculation or when refused."""
    image, model, how = document.image, document.model, document.speculation
    if image is None or model is None or how is None or document.device is None:
        return None
    if how.method == "none":
        return None
    files = [item.file for item in document.downloads if item.role == "draft"]
    plain = {
        "image": image.id,
        "version": image.engine_version,
        "digest": image.digest,
        "target": _weights(str(model.repo), model.file),
        "draft": _weights(how.draft, next(iter(files), None)) if how.draft else None,
        "method": how.method,
        "depth": how.depth,
        "device": document.device.id,
        "power_mode": power_mode,
    }
    try:
        return msgspec.convert(plain, MeasuredKey)
    except msgspec.ValidationError:  # a plan by another version, with a method unknown here
        return None


def _weights(repo: str, file: str | None) -> str:
    return f"{repo}/{file}" if file else repo


def _is_named(request: StackRequest) -> bool:
    return request.method != "auto" or request.draft is not None


def _is_rejected(told: Told) -> bool:
    return told[1] is not None and told[1].is_rejected


def _rank(told: Told) -> float:
    """Accepted ones first, the greatest gain of them before; all others as they stand."""
    result = told[1]
    pays = result is not None and result.outcome in ("accepted", "tuned")
    return -result.gain_pct if result is not None and pays else float("inf")


def _reasoned(plan: SpeculationPlan, result: MeasuredResult | None) -> SpeculationPlan:
    """A measured gain speaks for itself, and against a prediction of a loss."""
    if result is None:
        return plan
    reason = f"measured here: {result.label}"
    findings = plan.findings
    if result.outcome in ("accepted", "tuned"):
        findings = tuple(each for each in findings if each.code != "predicted_loss")
    return msgspec.structs.replace(
        plan,
        reason=reason,
        findings=findings,
        decisions=(*plan.decisions, _decision(plan, result)),
    )


def _off_because(plan: SpeculationPlan, told: Iterable[Told]) -> SpeculationPlan:
    """Speculation that stays off because of results says which."""
    rejected = [f"{each.label} {result.label}" for each, result in told if result is not None]
    if plan.method is not None or not rejected:
        return plan
    return msgspec.structs.replace(plan, reason=f"measured here: {'; '.join(rejected)}")


def _decision(plan: SpeculationPlan, result: MeasuredResult) -> Decision:
    return Decision(
        subject="measured speed",
        value=f"{result.speculative_tokens_s:.1f} tokens/s, {result.baseline_tokens_s:.1f} without",
        rule=f"{'tune' if result.outcome == 'tuned' else 'accept'} measured {plan.label} at depth "
        f"{plan.depth} on {result.measured_at}{_circumstances(result)}: {result.outcome}",
        source=STORE,
    )


def _circumstances(result: MeasuredResult) -> str:
    """What is not part of the key, told so that nobody takes it for granted."""
    told = []
    if result.context_tokens is not None:
        told.append(f"context {result.context_tokens}")
    if result.sequences is not None:
        told.append(f"{result.sequences} sequences")
    if result.dataset is not None:
        told.append(f"prompts {result.dataset}")
    return f" ({', '.join(told)})" if told else ""


def _passed_over(plan: SpeculationPlan, result: MeasuredResult) -> Finding:
    return info(
        "measured_rejected",
        f"{plan.label} at depth {plan.depth} was passed over: measured here, {result.label}",
        hint=f"--method {plan.label} takes it all the same; accept measures it again",
        source=STORE,
    )


def _warned(plan: SpeculationPlan, result: MeasuredResult | None) -> SpeculationPlan:
    if result is None or not result.is_rejected:
        return _reasoned(plan, result)
    finding = warning(
        "measured_rejected",
        f"{plan.label} at depth {plan.depth} was measured here and did not pay: {result.label}",
        hint="accept measures it again; --method auto leaves it out",
        source=STORE,
    )
    return _with_findings(plan, (finding,))


def _with_findings(plan: SpeculationPlan, more: tuple[Finding, ...]) -> SpeculationPlan:
    return msgspec.structs.replace(plan, findings=(*plan.findings, *more))
