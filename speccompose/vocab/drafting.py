"""How well and how dear drafting is: acceptance as measured, and what a draft step reads.

Layer: vocab. Facts for the prediction of stage 5; filled from profiles/models, profiles/methods
and profiles/engines.
"""

from typing import Annotated

from msgspec import Meta

from speccompose.vocab.base import Frozen, Sourced
from speccompose.vocab.device import Evidence

Probability = Annotated[float, Meta(ge=0, le=1)]


class AcceptedLength(Frozen, frozen=True, kw_only=True):
    """Mean tokens per target pass (accepted ones plus one) with ``depth`` drafted tokens."""

    depth: Annotated[int, Meta(ge=1)]
    length: Annotated[float, Meta(ge=1)]


class AcceptanceFigures(Sourced, frozen=True, kw_only=True):
    """Acceptance of one draft as somebody measured it.

    ``per_position``: share of drafts accepted up to and including each position, first one first.
    ``lengths``: mean accepted length at depths, where no positions were published.
    ``fire_share``: share of passes in which there is a draft at all; n-gram finds none in many.
    """

    per_position: tuple[Probability, ...] = ()
    lengths: tuple[AcceptedLength, ...] = ()
    fire_share: Annotated[float, Meta(gt=0, le=1)] = 1.0
    measured_on: str
    evidence: Evidence = "seen"

    def __post_init__(self) -> None:
        """Refuse figures that cannot be.

        Raises:
            ValueError: saying what contradicts.
        """
        if bool(self.per_position) == bool(self.lengths):
            raise ValueError("expected either per_position or lengths")
        if any(b > a for a, b in zip(self.per_position, self.per_position[1:], strict=False)):
            raise ValueError("expected per_position to fall: a later token needs the earlier ones")
        depths = [point.depth for point in self.lengths]
        if depths != sorted(set(depths)):
            raise ValueError("expected lengths in the order of their depths, each depth once")
        if any(point.length > point.depth + 1 for point in self.lengths):
            raise ValueError("expected each length to be depth + 1 at most")


class DraftShape(Sourced, frozen=True, kw_only=True):
    """What a draft of a method usually is, in layers of the target's width.

    Only the prediction uses it, and only where the size of a draft is not known; a memory plan
    never does. ``vocabulary``: tokens in the draft's own output head, None for the target's head.
    """

    layers: Annotated[int, Meta(ge=1)]
    vocabulary: int | None = None


class DraftingCost(Sourced, frozen=True, kw_only=True):
    """Time that speculation costs an engine beyond the bytes it reads, in milliseconds.

    ``pass_ms``: once per target pass, to sample, compare and roll back. ``step_ms``: once per run
    of the draft (each position of a sequential drafter, the block of a parallel one).
    """

    pass_ms: Annotated[float, Meta(ge=0)]
    step_ms: Annotated[float, Meta(ge=0)]
    evidence: Evidence = "inferred"
