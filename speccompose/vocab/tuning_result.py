"""What `tune --json` prints and keeps as result.json: a curve over depths, and the one to take.

Layer: vocab. speccompose/tuning.py writes it; reports and the result store read it. Parts that an
acceptance has too are the same types.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from speccompose.vocab.acceptance_result import (
    Conditions,
    DatasetResult,
    Kept,
    RunResult,
    Subject,
)

TuneOutcome = Literal["chosen", "none", "out_of_limits", "invalid"]


class LevelPoint(Kept, frozen=True, kw_only=True):
    """One depth at one concurrency: means over its repeats (times are medians of medians)."""

    concurrency: int
    output_tokens_s: float
    tpot_ms_p50: float | None
    ttft_ms_p50: float | None
    e2e_ms_p50: float | None
    mean_accepted_length: float | None


class DepthPoint(Kept, frozen=True, kw_only=True):
    """One depth; 0 is the baseline. Not measured: ``levels`` is empty and ``why`` tells.

    ``predicted_tokens_s``: what the fit says of the user's concurrency, measured or not.
    ``acceptance_by_position`` is of the user's concurrency.
    """

    depth: int
    measured: bool
    levels: tuple[LevelPoint, ...] = ()
    acceptance_by_position: tuple[float, ...] = ()
    peak_memory_mib: int | None = None
    predicted_tokens_s: float | None = None
    within_limits: bool = True
    why: str | None = None
    artifacts: str | None = None
    reused: bool = False
    runs: tuple[RunResult, ...] = ()


class TuneLimits(Kept, frozen=True, kw_only=True):
    """What the user would not have exceeded; None is no limit."""

    tpot_ms: float | None = None
    ttft_ms: float | None = None
    e2e_ms: float | None = None
    memory_mib: int | None = None


class TuningResult(Kept, frozen=True, kw_only=True):
    """One depth search. ``outcome``: a depth was chosen, the baseline wins ('none'), nothing is
    within the limits, or the measurement does not count.

    ``depth`` is what to take (0 is none), None when nothing was decided. ``order``: depths in the
    order in which they were measured. ``switching``: how the engine was told a new depth, by a
    restart or per request.
    """

    outcome: TuneOutcome
    synthetic: bool
    depth: int | None
    reasons: tuple[str, ...]
    curve: tuple[DepthPoint, ...]
    schema: int = 1
    concurrency: int = 1
    method: str
    order: tuple[int, ...] = ()
    exhaustive: bool = False
    switching: Literal["restart", "request"] = "restart"
    started_at: str | None = None
    finished_at: str | None = None
    quick: bool = False
    speccompose: str | None = None
    subject: Subject | None = None
    dataset: DatasetResult | None = None
    limits: TuneLimits = TuneLimits()
    conditions: Conditions | None = None
    commands: Mapping[str, str] = field(default_factory=dict)
    artifacts: str | None = None
    applied: str | None = None
