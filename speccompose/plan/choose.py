"""Stage 5 of 7, after speculate, before assemble: the first candidate that fits in memory.

Pure. A draft costs memory and memory decides whether a draft fits, so candidates come best first
and the budget takes the first that fits; the last one is always "no speculation".
"""

from collections.abc import Iterator
from functools import partial

from speccompose.errors import MemoryFitError, SpecComposeError, SpeculationError
from speccompose.plan.budget import fit_memory
from speccompose.plan.measured import order_by_results
from speccompose.plan.plain import without_speculation
from speccompose.plan.predict import with_predictions
from speccompose.plan.speculate import propose_speculation
from speccompose.plan.too_big import TooBigError
from speccompose.plan.tuned import at_tuned_depths
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Finding, info
from speccompose.vocab.image import ImageChoice, ImageRanking
from speccompose.vocab.measured import StoredResult
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.plan import MemoryPlan, SpeculationPlan
from speccompose.vocab.request import StackRequest


class Fit(Frozen, frozen=True, kw_only=True):
    """What was taken, and what was tried before it."""

    choice: ImageChoice
    speculation: SpeculationPlan
    memory: MemoryPlan
    findings: tuple[Finding, ...] = ()


def first_that_fits(
    device: ResolvedDevice,
    model: ModelEntry,
    ranking: ImageRanking,
    *,
    request: StackRequest,
    catalog: Catalog,
    measured: tuple[StoredResult, ...] = (),
) -> Fit:
    """Take the best candidate that memory allows; ``measured`` is what this board has shown.

    Raises:
        SpeculationError: no image can speculate as asked, though the model would serve without.
        MemoryFitError: nothing fits; the first candidate's figures are told.
    """
    refused: list[SpeculationError] = []
    too_big: list[MemoryFitError] = []
    for choice in ranking.choices:
        try:
            proposals = propose_speculation(device, choice, model, request, catalog)
        except SpeculationError as error:
            refused.append(error)
            continue
        proposals = at_tuned_depths(
            proposals,
            choice,
            device,
            measured,
            request=request,
            propose=partial(_proposed, device, choice, model, catalog),
        )
        told = with_predictions(device, choice, proposals, model, request, catalog)
        for speculation in order_by_results(told, choice, device, measured, request):
            try:
                memory = fit_memory(device, choice, speculation, model, request, catalog)
            except MemoryFitError as error:
                too_big.append(error)
                continue
            except SpeculationError as error:
                refused.append(error)
                continue
            skipped = tuple(each for error in too_big for each in _skipped(error))
            return Fit(choice=choice, speculation=speculation, memory=memory, findings=skipped)
    if too_big:
        raise too_big[0]
    raise _refusal(device, model, ranking, request=request, catalog=catalog, refused=refused)


def _proposed(
    device: ResolvedDevice,
    choice: ImageChoice,
    model: ModelEntry,
    catalog: Catalog,
    request: StackRequest,
) -> tuple[SpeculationPlan, ...]:
    return propose_speculation(device, choice, model, request, catalog)


def _skipped(error: MemoryFitError) -> Iterator[Finding]:
    """A candidate passed over, and what was only assumed of it."""
    yield info("candidate_too_big", error.brief, source="rules section 4")
    if isinstance(error, TooBigError):
        yield from error.findings


def _refusal(
    device: ResolvedDevice,
    model: ModelEntry,
    ranking: ImageRanking,
    *,
    request: StackRequest,
    catalog: Catalog,
    refused: list[SpeculationError],
) -> SpecComposeError:
    """A refusal is 7 only if the model would plan without speculation (rules section 2)."""
    plain = without_speculation(request)
    if plain != request:
        try:
            first_that_fits(device, model, ranking, request=plain, catalog=catalog)
        except SpecComposeError as deeper:
            return deeper
    first = refused[0]
    details = list(first.details)
    for other in refused[1:]:
        if other.brief != first.brief:
            details.append(other.brief)
    return SpeculationError(
        first.brief, details, hint=first.hint, code=first.code, source=first.source
    )
