"""What runs on a board: one row per model, or per changed request.

Layer: vocab.
"""

from speccompose.vocab.base import Frozen


class FitRow(Frozen, frozen=True, kw_only=True):
    """One model on one board: the plan in short, or why there is none."""

    label: str
    fits: bool
    repo: str | None = None
    engine: str | None = None
    method: str | None = None
    depth: int = 0
    context_tokens: int = 0
    headroom_mib: int = 0
    reason: str | None = None
    status: int = 0
