"""How deep a method may draft with one checkpoint, and where its depth starts.

Part of stage 4. Pure. Turns block sizes, head counts and engine faults into limits; a starting
depth is clamped to them, a depth asked for never is (rules section 3).
"""

from collections.abc import Iterable

from speccompose.engines.faults import minimum
from speccompose.vocab.base import Frozen
from speccompose.vocab.device import Family
from speccompose.vocab.engine import Fault
from speccompose.vocab.method import MethodEntry, MethodId
from speccompose.vocab.model import ModelEntry, Pairing
from speccompose.vocab.request import MAX_DEPTH


class DepthLimits(Frozen, frozen=True, kw_only=True):
    """Depths that the checkpoint allows.

    Above ``heads`` a depth must be a multiple of it. ``firm`` is False where the limit is known
    only from second hand: then a deeper request is a warning. ``why`` says what sets the limit.
    """

    lowest: int = 1
    highest: int | None = None
    heads: int | None = None
    firm: bool = True
    why: str | None = None

    def allows(self, depth: int) -> bool:
        """Whether the depth is valid."""
        if depth < self.lowest or (self.highest is not None and depth > self.highest):
            return False
        return self.heads is None or depth <= self.heads or depth % self.heads == 0

    def clamp(self, wanted: int) -> int:
        """The largest valid depth not above the wanted one, else the smallest valid."""
        for depth in range(wanted, 0, -1):
            if self.allows(depth):
                return depth
        return next(depth for depth in range(1, wanted + self.lowest + 1) if self.allows(depth))

    def describe(self) -> str:
        """The valid depths in words: '1 to 7', '1 to 2, then multiples of 2'."""
        if self.highest is not None:
            same = self.lowest == self.highest
            return str(self.highest) if same else f"{self.lowest} to {self.highest}"
        if self.heads is not None and self.heads > 1:
            return f"1 to {self.heads}, then multiples of {self.heads}"
        return f"{self.lowest} or more"


def depth_limits(
    method: MethodId, pairing: Pairing | None, model: ModelEntry, faults: Iterable[Fault]
) -> DepthLimits:
    """The limits of one method with one pairing.

    A block sets the limit of dflash and dspark; mtp drafts as many as it has heads, or a multiple.
    """
    if method == "mtp":
        heads = _heads(pairing, model)
        return DepthLimits(heads=heads, why=f"{heads} prediction heads" if heads else None)
    block = pairing.block_size if pairing else None
    if pairing is None or block is None or method not in ("dflash", "dspark"):
        return DepthLimits()
    seen = pairing.block_evidence == "seen"
    lowest = block * minimum(faults, "depth_blocks") if pairing.draft is None else 0
    return DepthLimits(
        lowest=max(1, lowest),
        highest=deepest_in_block(method, block),
        firm=seen,
        why=f"block_size {block}" if seen else f"block_size {block} (second hand)",
    )


def deepest_in_block(method: MethodId, block: int) -> int:
    """dflash keeps one position of its block for the anchor, dspark drafts the whole block."""
    return max(1, block - 1 if method == "dflash" else block)


def starting_depth(method: MethodEntry, pairing: Pairing | None, family: Family) -> tuple[int, str]:
    """Where the depth starts and whose figure that is.

    A figure published for this board comes first, then the method's for this board, then one
    published for the pair in general, then the method's own.
    """
    if pairing is not None and family in pairing.depth_by_family:
        return pairing.depth_by_family[family], f"published for {family}"
    if pairing is not None and pairing.depth is not None and family in pairing.preferred_on:
        return pairing.depth, f"published for {family}"
    if family in method.depth_by_family:
        return method.depth_by_family[family], f"where {method.id} starts on {family}"
    if pairing is not None and pairing.depth is not None:
        return pairing.depth, "published for the pair"
    return method.depth_default, f"where {method.id} starts"


TUNING_RANGE: dict[MethodId, tuple[int, int]] = {
    "mtp": (1, 5),
    "dflash": (3, 15),
    "dspark": (1, 8),
    "eagle3": (1, 7),
    "draft_model": (2, 8),
    "ngram": (2, 8),
}
"""Depths that a search looks at where nobody names any: around the starting points, as the
tutorials on speculative decoding for Jetson and the published curves go. A block's own limit goes
before the upper end of dflash and dspark."""


def tuning_depths(method: MethodId, limits: DepthLimits, start: int) -> tuple[int, ...]:
    """Depths worth a measurement with one checkpoint, ascending; the start is always among them."""
    low, high = TUNING_RANGE[method]
    if limits.highest is not None:
        high = min(limits.highest, MAX_DEPTH)
    # A checkpoint whose valid depths begin above the range (dspark inside the target) has its own.
    high = max(high, limits.lowest)
    found = {depth for depth in range(min(low, high), high + 1) if limits.allows(depth)}
    return tuple(sorted(found | {start}))


def explain_clamp(limits: DepthLimits, wanted: int, depth: int) -> str:
    """One clause: what was wanted, what the checkpoint allows, what came of it."""
    if depth != wanted:
        return f"{limits.why} allows {limits.describe()}, {wanted} becomes {depth}"
    at_most = f": {limits.why} allows {depth} at most" if depth == limits.highest else ""
    return f"depth {depth}{at_most}"


def _heads(pairing: Pairing | None, model: ModelEntry) -> int | None:
    if pairing is not None and pairing.heads is not None:
        return pairing.heads
    inside = pairing is None or pairing.draft is None
    layers = model.geometry.mtp_layers if model.geometry and inside else 0
    return layers or None
