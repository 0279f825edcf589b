"""What `accept --json` prints and keeps as result.json: a verdict, and everything it rests on.

Layer: vocab. device/result_document.py writes it (a board has the standard library only); reports
and `accept --compare` read it. The contract's fields come first; all others may be missing in a
file of another version, and keys that are unknown here are let through.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Outcome = Literal["accepted", "marginal", "rejected", "inconclusive", "invalid"]
Arm = Literal["baseline", "speculative"]


class Kept(Struct, frozen=True, kw_only=True):
    """Part of a kept file: immutable, and a newer version's keys are no error."""


class Spread(Kept, frozen=True, kw_only=True):
    """How one measure was spread over the requests of a run.

    ``quantiles`` are 21 values, at 0, 5, 10 ... 100 %: enough to draw the distribution. Empty when
    nothing was measured.
    """

    count: int
    mean: float | None
    quantiles: tuple[float, ...] = ()


class Latencies(Kept, frozen=True, kw_only=True):
    """Times in milliseconds: to the first token, per token after it, between two arrivals, and of
    a whole request.
    """

    ttft_ms: Spread
    tpot_ms: Spread
    itl_ms: Spread
    e2e_ms: Spread


class Drafting(Kept, frozen=True, kw_only=True):
    """What the engine counted during a run.

    ``acceptance_by_position``: share of the drafts that were accepted up to and including each
    position (unconditional), empty where the engine does not tell.
    """

    drafts: float
    draft_tokens: float
    accepted_tokens: float
    acceptance_by_position: tuple[float, ...] = ()


class PeakMemory(Kept, frozen=True, kw_only=True):
    """The most that was in use during a run, in MiB, and how that is known.

    ``board_mib``: of the whole board, everything that runs on it included. ``container_mib``: what
    the kernel counts for the container, page cache included, a Jetson's GPU memory not.
    """

    board_mib: int | None
    container_mib: int | None
    source: str


class CategoryRun(Kept, frozen=True, kw_only=True):
    """One category's part of a run. ``request_tokens_s``: tokens a second of one request."""

    category: str
    requests: int
    request_tokens_s: float
    tpot_ms_p50: float | None
    ttft_ms_p50: float | None
    mean_accepted_length: float | None = None


class Reading(Kept, frozen=True, kw_only=True):
    """A board's state at one moment, as far as it tells."""

    power_mode: str | None
    clocks: Mapping[str, str]
    throttle_events: Mapping[str, int]
    cooling: tuple[str, ...]
    hottest_c: float | None


class RunResult(Kept, frozen=True, kw_only=True):
    """One repeat of one arm at one concurrency; the contract's seven fields first."""

    arm: Arm
    concurrency: int
    repeat: int
    output_tokens_s: float
    tpot_ms_p50: float | None
    ttft_ms_p50: float | None
    mean_accepted_length: float | None
    errors: tuple[str, ...] = ()
    at: str | None = None
    window_s: float | None = None
    requests: int | None = None
    latency: Latencies | None = None
    drafting: Drafting | None = None
    preemptions: float | None = None
    memory: PeakMemory | None = None
    categories: tuple[CategoryRun, ...] = ()


class ComparisonResult(Kept, frozen=True, kw_only=True):
    """Speculation against baseline in one measure: geometric means, their ratio and its interval.

    ``measure`` is 'output_tokens_s' or 'tpot_ms_p50'. ``accept_ratio`` and ``reject_ratio`` are
    the boundaries that the interval is held against, None where there is none.
    """

    measure: Literal["output_tokens_s", "tpot_ms_p50"]
    concurrency: int
    baseline: float
    speculative: float
    ratio: float
    low: float
    high: float
    accept_ratio: float | None = None
    reject_ratio: float | None = None


class CategoryResult(Kept, frozen=True, kw_only=True):
    """One category, both arms: medians over the repeats. Told, and never judged."""

    category: str
    concurrency: int
    baseline_tokens_s: float
    speculative_tokens_s: float
    ratio: float
    mean_accepted_length: float | None = None


class Subject(Kept, frozen=True, kw_only=True):
    """What was measured: the stack as its plan.json tells it."""

    stack: str
    plan: str
    device: str | None
    family: str | None
    engine: str
    engine_version: str | None
    image: str
    image_digest: str | None
    target: str | None
    draft: str | None
    method: str
    depth: int
    context_tokens: int | None
    sequences: int | None


class DatasetResult(Kept, frozen=True, kw_only=True):
    """The prompts: which, how many of them, and a hash that says whether two runs had the same.

    ``output_tokens``: the longest answer, where it was not the rules' one.
    """

    name: str
    sha256: str
    conversations: int
    category: str | None = None
    requests: int | None = None
    output_tokens: int | None = None


class Contents(Kept, frozen=True, kw_only=True):
    """Greedy answers that differ: between two baseline passes, and from them with speculation."""

    prompts: int
    baseline_differs: int
    speculative_differs: int


class Conditions(Kept, frozen=True, kw_only=True):
    """The board before and after, and what changed between any two readings."""

    before: Reading | None
    after: Reading | None
    changes: tuple[str, ...] = ()


class AcceptanceResult(Kept, frozen=True, kw_only=True):
    """One acceptance. ``rules`` are the thresholds of the stack's acceptance.json.

    ``commands``: what to type to do it again, and both arms' server command lines.
    """

    outcome: Outcome
    synthetic: bool
    reasons: tuple[str, ...]
    runs: tuple[RunResult, ...]
    schema: int = 1
    started_at: str | None = None
    finished_at: str | None = None
    runner: str = "native"
    quick: bool = False
    speccompose: str | None = None
    subject: Subject | None = None
    dataset: DatasetResult | None = None
    rules: Mapping[str, float | int | tuple[int, ...]] = field(default_factory=dict)
    repeats: int = 0
    comparisons: tuple[ComparisonResult, ...] = ()
    categories: tuple[CategoryResult, ...] = ()
    contents: Contents | None = None
    conditions: Conditions | None = None
    commands: Mapping[str, str] = field(default_factory=dict)
    artifacts: str | None = None
