"""A board that exists only in time: its transaction, and what can go wrong with it.

Layer: fleet. Keeps the promises of the on-board program (one transaction at a time, idempotent
starts, the confirm timer) without doing anything, so that rollouts of thousands of boards and
days can be played through in seconds.
"""

import math
from collections import Counter
from typing import Final

import msgspec

from speccompose.vocab.rollout_engine import (
    Action,
    BoardCall,
    BoardReport,
    OnBoard,
    Unfit,
    Verdict,
)

_NEVER: Final = 10**15
_SPEEDS: Final[dict[Verdict, float]] = {
    "accepted": 150.0,
    "marginal": 115.0,
    "rejected": 95.0,
    "inconclusive": 120.0,
    "invalid": 100.0,
}
"""Output tokens/s with speculation where 100 come without."""


class Trouble(msgspec.Struct, kw_only=True):
    """What is wrong with one simulated board; times are ms of virtual time.

    ``away``: intervals without a connection. ``bad``: digest -> code of the failure that ends the
    board's own proof. ``lengths``: digest -> mean accepted length. ``verdicts``: digest -> what
    the A/B finds. ``dies_at``: power cut; the board is back ``boot_ms`` later. ``restarts_at``:
    the container restarts. ``stuck``: its rollback fails. ``flaky``: share of calls that break.
    """

    away: tuple[tuple[int, int], ...] = ()
    bad: dict[str, str] = {}
    lengths: dict[str, float] = {}
    verdicts: dict[str, Verdict] = {}
    hold_until: int = 0
    unfit: str | None = None
    identity: bool = False
    flaky: float = 0.0
    slow: float = 1.0
    dies_at: int | None = None
    boot_ms: int = 90_000
    restarts_at: int | None = None
    stuck: bool = False


class SimulatedBoard:
    """One board. ``applied`` counts accepted starts by transaction and digest."""

    def __init__(self, name: str, digest: str | None, trouble: Trouble | None = None) -> None:
        self.name = name
        self.digest = digest
        self.previous: str | None = None
        self.trouble = trouble or Trouble()
        self.state: OnBoard = "committed" if digest is not None else "idle"
        self.running: Action | None = None
        self.rollout: str | None = None
        self.target: str | None = None
        self.reason: str | None = None
        self.verdict: Verdict | None = None
        self.length: float | None = None
        self.pushed: set[str] = set()
        self.staged: set[str] = set()
        self.applied: Counter[tuple[str, str]] = Counter()
        self.committed_at = 0
        self.until = _NEVER
        self._call: BoardCall | None = None

    def is_away(self, t: int) -> bool:
        """Whether nobody can reach it now."""
        if any(start <= t < end for start, end in self.trouble.away):
            return True
        dies = self.trouble.dies_at
        return dies is not None and dies <= t < dies + self.trouble.boot_ms

    def next_change(self) -> int:
        """When its state changes by itself."""
        return self.until

    def advance(self, t: int) -> None:
        """Live until this moment."""
        dies = self.trouble.dies_at
        while True:
            if dies is not None and dies <= min(t, self.until):
                self.trouble.dies_at = None if dies + self.trouble.boot_ms <= t else dies
                self._power_cut(dies)
                dies = None
            if self.until > t:
                return
            self._step(self.until)

    def stage(self, call: BoardCall, t: int) -> str | None:
        """Begin to pull; a code where it is refused."""
        if call.digest not in self.pushed:
            return "no_stack"
        return self._begin(call, "stage", t)

    def apply(self, call: BoardCall, t: int) -> str | None:
        """Begin to switch; a code where it is refused."""
        if self._is_known(call) and self.state not in ("staged", "idle"):
            return None
        if call.digest not in self.staged and self.running is None:
            return "not_staged"
        return self._begin(call, "apply", t)

    def rollback(self, call: BoardCall, t: int) -> str | None:
        """Give the previous release back, if this one is the release that was brought."""
        if self.running is not None and self.rollout != call.rollout:
            return "locked"
        if not self._is_known(call) or self.state in ("rolled_back", "stuck", "rolling_back"):
            return None
        self._enter("rolling_back", t, 20_000)
        self.running, self.reason = "rollback", "asked"
        return None

    def confirm(self, call: BoardCall, t: int) -> str | None:
        """Commit what is unconfirmed; a code when it came too late."""
        if not self._is_known(call) or self.state not in ("unconfirmed", "committed"):
            return self.state
        if self.state == "unconfirmed":
            self.previous, self.digest = self.digest, call.digest
            self.state, self.until, self.committed_at = "committed", _NEVER, t
        return None

    def report(self, t: int) -> BoardReport:
        """What its on-board program says now."""
        crash = self.trouble.restarts_at
        restarts = int(crash is not None and self.committed_at <= crash <= t)
        unfit = (Unfit(code=self.trouble.unfit),) if self.trouble.unfit else ()
        return BoardReport(
            state=self.state,
            running=self.running,
            rollout=self.rollout,
            target=self.target,
            digest=self.digest,
            previous=self.previous,
            reason=self.reason,
            healthy=self.digest is not None,
            restarts=restarts,
            accepted_length=self.length,
            verdict=self.verdict,
            baseline_tokens_s=None if self.verdict is None else 100.0,
            speculative_tokens_s=None if self.verdict is None else _SPEEDS[self.verdict],
            hold="busy" if t < self.trouble.hold_until else None,
            unfit=unfit,
        )

    def _is_known(self, call: BoardCall) -> bool:
        return self.rollout == call.rollout and self.target == call.digest

    def _begin(self, call: BoardCall, action: Action, t: int) -> str | None:
        if self.running is not None:
            return None if self._is_known(call) and self.running == action else "locked"
        self.rollout, self.target, self._call = call.rollout, call.digest, call
        self.running, self.reason, self.verdict, self.length = action, None, None, None
        if action == "stage":
            self._enter("idle", t, 40_000)
        else:
            self.applied[call.rollout, call.digest] += 1
            self._enter("switching", t, 10_000)
        return None

    def _enter(self, state: OnBoard, t: int, lasts: int) -> None:
        self.state = state
        self.until = t + math.ceil(lasts * self.trouble.slow)

    def _step(self, t: int) -> None:
        """What follows by itself when the time of a state is up."""
        assert self._call is not None
        if self.running == "stage":
            self.running, self.until = None, _NEVER
            self.state = "staged"
            self.staged.add(self._call.digest)
        elif self.state == "switching":
            self._enter("checking", t, 600_000 if self._call.accept == "measure" else 60_000)
        elif self.state == "checking":
            self._proved(t)
        elif self.state == "unconfirmed":
            self.reason = "confirm_timeout"
            self.running = "rollback"
            self._enter("rolling_back", t, 20_000)
        else:
            self._back(t)

    def _proved(self, t: int) -> None:
        """The end of the proof: armed, or back to what was."""
        assert self._call is not None
        digest, limits = self._call.digest, self._call.deadlines
        reason = self.trouble.bad.get(digest)
        if self.trouble.slow * 60_000 > (limits.start_s + limits.acceptance_s) * 1000:
            reason = "deadline"
        self.length = self.trouble.lengths.get(digest, 3.0)
        if self._call.accept == "measure":
            self.verdict = self.trouble.verdicts.get(digest, "accepted")
        if reason is not None:
            self.reason = reason
            self._enter("rolling_back", t, 20_000)
            return
        self.state, self.running = "unconfirmed", None
        self.until = t + limits.confirm_s * 1000

    def _back(self, t: int) -> None:
        """The end of a rollback."""
        self.running, self.until = None, _NEVER
        self.state = "stuck" if self.trouble.stuck else "rolled_back"
        if self.state == "rolled_back" and self.digest == self.target:
            self.digest, self.previous = self.previous, None

    def _power_cut(self, t: int) -> None:
        """At boot the recover unit ends whatever was open: unconfirmed means rolled back."""
        if self.running == "stage":
            self.running, self.until, self.state = None, _NEVER, "idle"
            self.reason = "power_cut"
        elif self.running is not None or self.state == "unconfirmed":
            self.reason = "power_cut"
            self._back(t)
