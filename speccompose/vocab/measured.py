"""What an acceptance found on this board, kept for the next plan.

Layer: vocab. Written by `accept` into the result store (world/result_store.py), read by stage 5's
choice (plan/measured.py).
"""

from typing import Literal

from speccompose.vocab.base import Frozen
from speccompose.vocab.method import MethodId


class MeasuredKey(Frozen, frozen=True, kw_only=True):
    """What a result holds for (rules section 6); anything else means measuring again.

    ``image``, ``version`` and ``digest`` are the engine build, ``device`` the catalog's module.
    ``target`` and ``draft`` are a repo, or repo and file where one file of it is served.
    """

    image: str
    version: str
    digest: str | None
    target: str
    draft: str | None
    method: MethodId
    depth: int
    device: str
    power_mode: str | None


class MeasuredResult(Frozen, frozen=True, kw_only=True):
    """A verdict and its speeds at concurrency 1, output tokens per second at the client.

    ``strict``: it was asked for with --strict, where a marginal gain counts as rejected.
    """

    key: MeasuredKey
    outcome: Literal["accepted", "marginal", "rejected"]
    strict: bool = False
    baseline_tokens_s: float
    speculative_tokens_s: float
    measured_at: str

    @property
    def is_rejected(self) -> bool:
        """Whether speculation was switched off for it."""
        return self.outcome == "rejected" or (self.strict and self.outcome == "marginal")

    @property
    def gain_pct(self) -> float:
        """Change of the speed by speculation, in percent."""
        if self.baseline_tokens_s <= 0:
            return 0.0
        return (self.speculative_tokens_s / self.baseline_tokens_s - 1.0) * 100.0

    @property
    def label(self) -> str:
        """'accepted, +41 %'."""
        return f"{self.outcome}, {self.gain_pct:+.0f} %"
