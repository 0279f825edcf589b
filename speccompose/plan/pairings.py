"""Which ways to speculate the catalog knows for one checkpoint on one engine.

Part of stage 4. Pure. "For this target" means for it or for the base model that it is a
quantisation of; pairings live inside the model, so an empty or base target fits all checkpoints.
"""

from collections.abc import Iterator

from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import Family
from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.method import MethodEntry, MethodId
from speccompose.vocab.model import Checkpoint, ModelEntry, Pairing
from speccompose.vocab.request import StackRequest

STRUCTURED = ("code", "json")
"""Workloads whose output is predictable, where DFlash comes before MTP."""

_ORDER: tuple[MethodId, ...] = ("mtp", "dflash", "dspark", "eagle3", "draft_model")
_STRUCTURED_ORDER: tuple[MethodId, ...] = ("dflash", "mtp", "dspark", "eagle3", "draft_model")

_MADE_HERE = "truncate:"
"""How ``draft_bundled`` spells a draft that is made from its target (world/bundled.py)."""


class Ask(Frozen, frozen=True, kw_only=True):
    """What stage 4 is asked about: one board, image, checkpoint and request."""

    device: ResolvedDevice
    choice: ImageChoice
    model: ModelEntry
    request: StackRequest
    catalog: Catalog

    @property
    def engine(self) -> EngineEntry:
        """The engine of the chosen image."""
        return self.catalog.engines[self.choice.image.engine]

    @property
    def version(self) -> str:
        """Engine version of the chosen build."""
        return self.choice.build.version

    @property
    def checkpoint(self) -> Checkpoint:
        """The target."""
        return self.choice.checkpoint

    @property
    def family(self) -> Family:
        """Family of the board."""
        return self.device.family


class Candidate(Frozen, frozen=True, kw_only=True):
    """One method with one pairing; without a pairing the checkpoint speaks for itself."""

    method: MethodEntry
    pairing: Pairing | None = None

    @property
    def draft(self) -> str | None:
        """Repo of the separate draft, None when the target drafts itself."""
        return self.pairing.draft if self.pairing else None


def is_for(pairing: Pairing, checkpoint: Checkpoint, model: ModelEntry) -> bool:
    """Whether a pairing was published for this target or for its base model."""
    names = {checkpoint.repo, model.base_model}
    if checkpoint.quant is not None:
        names.add(f"{checkpoint.repo}:{checkpoint.quant}")
    return not pairing.targets or bool(names & set(pairing.targets))


def candidates_of(ask: Ask, method: MethodId) -> tuple[Candidate, ...]:
    """Every known way to use one method here, the one published for this board first."""
    entry = ask.catalog.methods[method]
    found = [
        Candidate(method=entry, pairing=pairing)
        for pairing in ask.model.pairings
        if pairing.method == method
        and ask.engine.id in pairing.engines
        and is_for(pairing, ask.checkpoint, ask.model)
        and ask.request.draft in (None, pairing.draft)
    ]
    by_itself = method == "mtp" and ask.checkpoint.has_mtp
    if by_itself and ask.request.draft is None and all(each.draft for each in found):
        found.append(Candidate(method=entry))
    if method == "ngram" and not found:
        found.append(Candidate(method=entry))
    return tuple(sorted(found, key=lambda each: not _is_preferred(each, ask.family)))


def automatic_candidates(ask: Ask) -> tuple[Candidate, ...]:
    """The automatic order: published preference for this board, then by method.

    For code and JSON DFlash stands before MTP, also where MTP is the published preference: that
    was measured on general prompts.
    """
    structured = ask.request.workload in STRUCTURED
    ranked = list(_in_method_order(ask, _STRUCTURED_ORDER if structured else _ORDER))
    return tuple(sorted(ranked, key=lambda each: not _is_lifted(each, ask.family, structured)))


def draft_is_known_for(ask: Ask, draft: str) -> tuple[Pairing, ...]:
    """Every pairing of the model with this draft, for whatever target or engine."""
    return tuple(pairing for pairing in ask.model.pairings if pairing.draft == draft)


def _in_method_order(ask: Ask, order: tuple[MethodId, ...]) -> Iterator[Candidate]:
    for method in order:
        if method in ask.catalog.methods and ask.catalog.methods[method].automatic:
            for candidate in candidates_of(ask, method):
                if not _is_test_only(candidate, ask.family):
                    yield candidate


def _is_test_only(candidate: Candidate, family: Family) -> bool:
    """Pairs made for tests are taken by themselves only on the boards they were made for.

    Such are synthetic ones, and drafts cut out of their target: nobody published those.
    """
    pairing = candidate.pairing
    if pairing is None or _is_preferred(candidate, family):
        return False
    return pairing.synthetic or (pairing.draft_bundled or "").startswith(_MADE_HERE)


def _is_preferred(candidate: Candidate, family: Family) -> bool:
    return candidate.pairing is not None and family in candidate.pairing.preferred_on


def _is_lifted(candidate: Candidate, family: Family, structured: bool) -> bool:
    return _is_preferred(candidate, family) and not (structured and candidate.method.id == "mtp")
