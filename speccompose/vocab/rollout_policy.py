"""How a fleet is rolled out: waves, gates, limits, deadlines (profiles/rollouts/<id>.yaml).

Layer: vocab. Read by fleet/; all times are seconds, all shares are percent of boards.
"""

from typing import Annotated, Literal

from msgspec import Meta

from speccompose.vocab.base import Frozen, Id, Sourced

Percent = Annotated[float, Meta(gt=0, le=100)]
LimitPercent = Annotated[float, Meta(ge=0, le=100)]
Seconds = Annotated[int, Meta(ge=0, le=31_536_000)]
AtLeastOne = Annotated[int, Meta(ge=1)]

RollbackScope = Literal["device", "wave", "all"]


class WaveRule(Frozen, frozen=True, kw_only=True):
    """Who is in a wave, and when it counts as good.

    Exactly one of ``per_class`` (this many boards of every class), ``share_pct`` (of all boards,
    rounded up), ``count``, ``tags`` (all boards with one of them) and ``boards`` says who; the
    last wave takes every board that is left. A wave is aborted when more boards failed than
    ``max_failures`` or ``max_failures_pct`` of the wave, whichever is more, or when the share of
    failures among at least ``min_executed`` finished boards exceeds ``failure_share_pct``.
    """

    name: str
    per_class: AtLeastOne | None = None
    share_pct: Percent | None = None
    count: AtLeastOne | None = None
    tags: tuple[str, ...] = ()
    boards: tuple[str, ...] = ()
    bake_s: Seconds = 600
    max_failures: Annotated[int, Meta(ge=0)] = 1
    max_failures_pct: LimitPercent = 2.0
    failure_share_pct: LimitPercent = 20.0
    min_executed: AtLeastOne = 5
    min_done: Annotated[int, Meta(ge=0)] = 1
    min_done_pct: LimitPercent = 80.0


class Deadlines(Frozen, frozen=True, kw_only=True):
    """Every phase has one (S27). ``start_margin_s`` comes on top of the stack's start deadline."""

    reach_wait_s: Seconds = 600
    push_s: Seconds = 300
    stage_s: Seconds = 14_400
    start_margin_s: Seconds = 300
    acceptance_s: Seconds = 900
    measure_s: Seconds = 5_400
    confirm_s: Seconds = 600
    rollback_s: Seconds = 1_800
    wave_s: Seconds = 86_400
    rollout_s: Seconds = 1_209_600


class RolloutPolicy(Sourced, frozen=True, kw_only=True):
    """One way to roll out.

    ``max_parallel`` boards switch or check at once; ``max_pulls`` stage at once per mirror.
    ``rollback``: what an abort takes back: the failed boards only (each does that itself), the
    wave, or every wave. ``on_rejected``: what becomes of a class whose speculation does not pay.
    ``on_deadline``: what a wave or rollout deadline does. ``accepted_length_ratio``: least mean
    accepted length of a board, as a part of its canary's (rules section 6).
    """

    id: Id
    waves: Annotated[tuple[WaveRule, ...], Meta(min_length=1)]
    deadlines: Deadlines = Deadlines()
    max_parallel: AtLeastOne = 50
    max_pulls: AtLeastOne = 10
    bake_probes: AtLeastOne = 3
    retry_s: Annotated[int, Meta(ge=1)] = 30
    lost_after_tries: AtLeastOne = 2
    poll_wait_s: Annotated[int, Meta(ge=1, le=60)] = 20
    rollback: RollbackScope = "wave"
    on_rejected: Literal["without_speculation", "stop"] = "without_speculation"
    on_deadline: Literal["abort", "pause"] = "abort"
    strict: bool = False
    accepted_length_ratio: Annotated[float, Meta(ge=0, le=1)] = 0.8
    allow_floating: bool = False
    allow_refused: bool = False
    seed: int = 0
    note: str | None = None
