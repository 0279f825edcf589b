"""What was measured on this board, kept for the next plan: verdicts, and depths that were chosen.

Layer: vocab. Written by `accept` and `tune` into the result store (world/result_store.py), read by
stage 5's choice (plan/measured.py, plan/tuned.py).

Neither context nor concurrency is part of a verdict's key: every verdict is taken at concurrency
1 and 8 with requests that are short against any context, so another context or another expected
load would measure the same again. Both are kept beside the figures, with the prompts, and told
in the plan. A depth is chosen at one concurrency, so there it is part of the key.
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
    ``outcome`` 'tuned': no verdict, the depth that a search chose (plan/tuned.py makes these).
    ``dataset``: name and hash of the prompts, None for results of older versions. ``brief``: by
    --quick, one category or a number of requests: it orders this board's plans, and spares no
    canary its measurement.
    """

    key: MeasuredKey
    outcome: Literal["accepted", "marginal", "rejected", "tuned"]
    strict: bool = False
    baseline_tokens_s: float
    speculative_tokens_s: float
    measured_at: str
    context_tokens: int | None = None
    sequences: int | None = None
    dataset: str | None = None
    brief: bool = False

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


class TunedKey(Frozen, frozen=True, kw_only=True):
    """What a chosen depth holds for: a verdict's key without the depth, at one concurrency."""

    image: str
    version: str
    digest: str | None
    target: str
    draft: str | None
    method: MethodId
    device: str
    power_mode: str | None
    concurrency: int


class TunedResult(Frozen, frozen=True, kw_only=True):
    """The depth that a search chose; 0 when the baseline won. Speeds are at its concurrency."""

    tuned: TunedKey
    depth: int
    baseline_tokens_s: float
    tokens_s: float
    measured_at: str
    context_tokens: int | None = None
    sequences: int | None = None
    dataset: str | None = None


StoredResult = MeasuredResult | TunedResult
