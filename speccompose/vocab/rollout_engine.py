"""What the fleet asks of a board and what a board answers: the engine's five methods in nouns.

Layer: vocab. The controller makes `BoardCall`s, an engine turns each into one `BoardResult`; the
report inside is the on-board program's own JSON, and unknown keys in it are passed over, since
boards and control machine are updated at different times.
"""

from typing import Literal

import msgspec

from speccompose.vocab.base import Frozen

Action = Literal["stage", "apply", "rollback"]
"""stage: pull and verify, nothing that serves is touched. apply: switch, start, prove, arm the
confirm timer. rollback: the previous release, or nothing where there was none."""

OnBoard = Literal[
    "idle",
    "staged",
    "switching",
    "checking",
    "unconfirmed",
    "committed",
    "rolling_back",
    "rolled_back",
    "stuck",
    "stopped",
    "degraded",
]
Outcome = Literal["ok", "failed", "unreachable", "unknown"]
"""unreachable: nothing was delivered. unknown: something may have been (no answer came)."""

Verdict = Literal["accepted", "marginal", "rejected", "inconclusive", "invalid"]
AcceptMode = Literal["measure", "answer"]
"""measure: the A/B of rules section 6. answer: one completion with speculation active."""


class Unfit(msgspec.Struct, frozen=True, kw_only=True):
    """One preflight finding that keeps a board out (S24); not a failure."""

    code: str
    message: str = ""


class BoardReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the on-board program says of itself.

    ``state``: of the last transaction. ``running``: the action whose unit runs now. ``rollout``
    and ``target``: whose the last transaction was and what it was to bring; ``digest``: the
    release that is committed; ``previous``: the one before. ``reason``: code of the last failure.
    ``restarts``: of the container since it was started. ``accepted_length``: mean accepted length
    of the proving answers. ``verdict`` of its own A/B where it measured, with output tokens/s of
    both arms at concurrency 1. ``counter``: of the committed release (S28). ``clock``: the board's
    time, seconds since 1970.
    """

    state: OnBoard = "idle"
    running: Action | None = None
    rollout: str | None = None
    target: str | None = None
    digest: str | None = None
    previous: str | None = None
    reason: str | None = None
    message: str | None = None
    healthy: bool | None = None
    restarts: int = 0
    accepted_length: float | None = None
    verdict: Verdict | None = None
    baseline_tokens_s: float | None = None
    speculative_tokens_s: float | None = None
    hold: str | None = None
    unfit: tuple[Unfit, ...] = ()
    drift: tuple[str, ...] = ()
    counter: int | None = None
    boot: str | None = None
    clock: float | None = None


class BoardResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One board's outcome of one call.

    ``reason`` where it is not ok, by the engine: 'identity' (changed host key), 'auth', 'sudo',
    'timeout', 'busy' (sshd's MaxStartups), 'locked' (another rollout holds the board), or the
    board's own code.
    """

    board: str
    outcome: Outcome
    report: BoardReport | None = None
    reason: str | None = None
    message: str | None = None


class CallDeadlines(Frozen, frozen=True, kw_only=True):
    """Seconds that the board gives each of its phases."""

    stage_s: int
    start_s: int
    acceptance_s: int
    confirm_s: int
    rollback_s: int


class BoardCall(Frozen, frozen=True, kw_only=True):
    """Everything an engine needs to reach one board and to tell it what to do.

    ``bundle`` names the stack's folder on the control machine, ``digest`` the release on the
    board. A rollback takes back the release of ``rollout`` and ``digest`` and nothing else: on a
    board that does not run it, it changes nothing. ``allow_downgrade`` lifts S28;
    ``force`` starts although there would be no way back (S12). ``long_prompt``: the board also
    answers a prompt as long as the context, as a canary must (field case M-09).
    """

    board: str
    rollout: str
    stack: str
    digest: str
    bundle: str
    accept: AcceptMode = "answer"
    counter: int = 0
    allow_downgrade: bool = False
    force: bool = False
    long_prompt: bool = False
    deadlines: CallDeadlines
