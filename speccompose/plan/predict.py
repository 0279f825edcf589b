"""Proposals -> the same with a predicted speed-up, and what it assumes.

Part of stage 5, between speculate and budget. Pure. A prediction orders proposals that the rules
hold equal and tells of a loss; it never overrules a published preference or a measurement. For
one request at a time: with more, batches change what a pass costs.
"""

import itertools
from collections.abc import Iterable, Iterator

import msgspec

from speccompose.plan.acceptance_curve import curve_of
from speccompose.plan.pass_time import PassTime
from speccompose.plan.traffic import DraftTraffic, TargetTraffic, draft_traffic, target_traffic
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.drafting import AcceptanceFigures
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Finding, info, warning
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.method import MethodEntry
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.plan import SpeculationPlan
from speccompose.vocab.request import StackRequest

_SOURCE = "Leviathan et al., arXiv 2211.17192"
_GIGA = 1e9
_TERA = 1e12
_OPERATIONS_PER_PARAMETER = 2


class Prediction(Frozen, frozen=True, kw_only=True):
    """Expected tokens per second as a multiple of those without speculation."""

    speedup: float
    accepted_length: float
    verify_ratio: float
    draft_ratio: float
    assumptions: tuple[str, ...]
    source: str


def with_predictions(
    device: ResolvedDevice,
    choice: ImageChoice,
    proposals: tuple[SpeculationPlan, ...],
    model: ModelEntry,
    request: StackRequest,
    catalog: Catalog,
) -> tuple[SpeculationPlan, ...]:
    """Proposals with their predictions; equals stand in the order of these."""
    if request.concurrency > 1:
        return proposals
    told = [
        _told(
            each,
            predict_speedup(device, choice, each, model, catalog),
            published=_is_published(each, device, request),
        )
        for each in proposals
    ]
    return tuple(_in_order(told, device))


def predict_speedup(
    device: ResolvedDevice,
    choice: ImageChoice,
    speculation: SpeculationPlan,
    model: ModelEntry,
    catalog: Catalog,
) -> Prediction | None:
    """The speed-up that published acceptance and the bytes of a pass lead to.

    None when there is nothing to predict from: no bandwidth, no sizes, no acceptance figure, or a
    draft that is made for tests.
    """
    if speculation.method is None or speculation.synthetic:
        return None
    method = catalog.methods[speculation.method]
    figures, whose = _figures(speculation, method)
    target = target_traffic(choice.checkpoint, model)
    draft = draft_traffic(speculation, method, choice.checkpoint, model)
    if figures is None or target is None or draft is None:
        return None
    time = _pass_time(device, choice, (target, draft), method, catalog)
    if time is None:
        return None
    depth = speculation.depth
    length = curve_of(figures).length(depth)
    return Prediction(
        speedup=time.speedup(length, depth, figures.fire_share),
        accepted_length=length,
        verify_ratio=time.verify_ratio(depth),
        draft_ratio=time.draft_ratio(depth),
        assumptions=_assumptions(figures, whose, (target, draft)),
        source=figures.source,
    )


def _figures(
    speculation: SpeculationPlan, method: MethodEntry
) -> tuple[AcceptanceFigures | None, str]:
    """Acceptance of the pair, else what the method usually has."""
    own = speculation.pairing.acceptance if speculation.pairing else None
    if own is not None:
        return own, "this pair"
    return method.typical_acceptance, f"another {method.id} pair"


def _pass_time(
    device: ResolvedDevice,
    choice: ImageChoice,
    traffic: tuple[TargetTraffic, DraftTraffic],
    method: MethodEntry,
    catalog: Catalog,
) -> PassTime | None:
    """Bytes over bandwidth, with the engine's own time; None without a bandwidth."""
    target, draft = traffic
    memory = device.profile.memory
    engine = catalog.engines[choice.image.engine].drafting
    if memory is None or memory.bandwidth_gb_s is None or engine is None:
        return None
    bytes_per_ms = memory.bandwidth_gb_s * _GIGA / 1000
    tflops = device.profile.fp16_tflops
    operations = target.parameters * _OPERATIONS_PER_PARAMETER
    return PassTime(
        one_token_ms=target.total_bytes / bytes_per_ms,
        routed_ms=target.routed_bytes / bytes_per_ms,
        experts=target.experts,
        experts_per_token=target.experts_per_token,
        token_compute_ms=operations / (tflops * _TERA / 1000) if tflops else 0.0,
        draft_ms=draft.total_bytes / bytes_per_ms,
        parallel=method.parallel,
        overhead_ms=engine.pass_ms,
        step_overhead_ms=engine.step_ms if draft.total_bytes else 0.0,
    )


def _assumptions(
    figures: AcceptanceFigures, whose: str, traffic: tuple[TargetTraffic, DraftTraffic]
) -> tuple[str, ...]:
    target, draft = traffic
    return (
        f"acceptance of {whose} ({figures.measured_on}), decaying with the position",
        "one request at a time, a pass takes as long as its weights take to read",
        target.assumption,
        draft.assumption,
    )


def _is_published(plan: SpeculationPlan, device: ResolvedDevice, request: StackRequest) -> bool:
    """Whether somebody published this for the board, at this depth: then it was measured there."""
    return request.depth is None and _is_preferred(plan, device)


def _told(
    plan: SpeculationPlan, prediction: Prediction | None, *, published: bool
) -> SpeculationPlan:
    if prediction is None:
        return plan
    cost = prediction.accepted_length / prediction.speedup
    decision = Decision(
        subject="predicted speed-up",
        value=f"{prediction.speedup:.2f}",
        rule=(
            f"{prediction.accepted_length:.2f} tokens in the time of {cost:.2f}; assumed: "
            + "; ".join(prediction.assumptions)
        ),
        source=f"{prediction.source}; {_SOURCE}",
    )
    return msgspec.structs.replace(
        plan,
        predicted_speedup=round(prediction.speedup, 2),
        decisions=(*plan.decisions, decision),
        findings=(*plan.findings, *_loss(plan, prediction, published=published)),
    )


def _loss(plan: SpeculationPlan, prediction: Prediction, *, published: bool) -> Iterator[Finding]:
    """Told whoever chose it; milder where a publisher's measurement stands against it."""
    if prediction.speedup >= 1.0:
        return
    message = (
        f"{plan.label} at depth {plan.depth} is predicted at {prediction.speedup:.2f} of the "
        "speed without it"
    )
    hint = "compare both with speccompose accept"
    if published:
        message += ", though it is published for this board"
        yield info("predicted_loss", message, hint=hint, source=prediction.source)
    else:
        hint += ", or try a smaller --depth"
        yield warning("predicted_loss", message, hint=hint, source=prediction.source)


def _in_order(
    plans: Iterable[SpeculationPlan], device: ResolvedDevice
) -> Iterator[SpeculationPlan]:
    """Reorder only neighbours of one method and one standing, and only if all are predicted."""
    for _, group in itertools.groupby(plans, key=lambda plan: _standing(plan, device)):
        equals = list(group)
        speeds = [plan.predicted_speedup for plan in equals]
        if None not in speeds:
            equals.sort(key=lambda plan: plan.predicted_speedup or 0.0, reverse=True)
        yield from equals


def _standing(plan: SpeculationPlan, device: ResolvedDevice) -> tuple[str, bool]:
    return plan.label, _is_preferred(plan, device)


def _is_preferred(plan: SpeculationPlan, device: ResolvedDevice) -> bool:
    return plan.pairing is not None and device.family in plan.pairing.preferred_on
