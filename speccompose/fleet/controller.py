"""Plan + journal + engine + clock -> a rollout that is carried out, or taken up again.

Layer: fleet. A loop of decide, act, journal until the rollout ends or pauses. Everything that
is started is journaled before, everything that is learned right after; nothing else is state.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from speccompose.errors import ExitStatus
from speccompose.fleet.actions import Command, Done, Now, Record, RolloutStep, Wait
from speccompose.fleet.board_state import BoardState
from speccompose.fleet.clock import FleetClock, RolloutTime
from speccompose.fleet.deadlines import board_call, phase_deadline
from speccompose.fleet.decide import decide
from speccompose.fleet.engine import Engine
from speccompose.fleet.journal import Journal
from speccompose.fleet.transition import after_result
from speccompose.vocab.rollout_engine import BoardCall, BoardResult
from speccompose.vocab.rollout_journal import Entry, Phase

Inbox = Callable[[], Iterable[Entry]]
"""What people asked for meanwhile (pause, abort, skip): drafts, each handed over once."""

Watcher = Callable[[Entry], None]
"""Told of every line as it is written: live progress."""

_INTENTS: Final[dict[str, Phase]] = {"push": "pushing", "stage": "staging", "apply": "applying"}


def _nothing() -> Iterable[Entry]:
    return ()


def _unwatched(entry: Entry) -> None:
    del entry


class Controller:
    """Carries one rollout out. At most one runs per fleet (lock.py).

    ``nap_s``: longest sleep, after which people's requests are looked for.
    """

    def __init__(
        self,
        journal: Journal,
        engine: Engine,
        clock: FleetClock,
        *,
        inbox: Inbox = _nothing,
        watcher: Watcher = _unwatched,
        nap_s: float = 5.0,
    ) -> None:
        self.journal, self.engine, self.clock = journal, engine, clock
        self.state = journal.state
        self._inbox, self._watcher, self._nap_s = inbox, watcher, nap_s
        self._time = RolloutTime(clock, self.state.t)
        self._paused_by: str | None = None

    def open(
        self,
        taken_from: str | None = None,
        *,
        why: str | None = None,
        allow_downgrade: bool = False,
    ) -> None:
        """Begin the rollout, or the next run of one that has ended."""
        self._took_over(taken_from)
        rollout = self.state.plan.rollout
        self._record(
            Entry(event="opened", rollout=rollout, reason=why, allow_downgrade=allow_downgrade)
        )

    def resume(self, taken_from: str | None = None, *, why: str | None = None) -> None:
        """Take up what another controller left: boards tell first where they are.

        A pause ends with this, a rollout that has ended stays as it is.
        """
        self._took_over(taken_from)
        if self.state.mode in ("finished", "new"):
            return
        self._record(Entry(event="resumed", rollout=self.state.plan.rollout, reason=why))
        if self.state.mode in ("paused", "pausing"):
            self._record(Entry(event="continued"))

    def take_back(
        self, reason: str, taken_from: str | None = None, *, why: str | None = None
    ) -> None:
        """Stop and undo: 'rollback' takes back every wave of a rollout that went through, any
        other reason what the policy says of one that is open."""
        self._took_over(taken_from)
        self._record(Entry(event="resumed", rollout=self.state.plan.rollout, reason=why))
        scope = "all" if reason == "rollback" else self.state.policy.rollback
        self._record(Entry(event="aborting", reason=reason, scope=scope))

    def _took_over(self, taken_from: str | None) -> None:
        if taken_from is not None:
            self._record(Entry(event="took_over", reason=taken_from))

    def request_pause(self, reason: str = "interrupted") -> None:
        """Start nothing new, let what runs end (S22). May be called from a signal handler."""
        self._paused_by = reason

    def run(self) -> ExitStatus:
        """Until the rollout ends or pauses.

        Raises:
            DataError: the journal cannot be written.
        """
        while True:
            self._take_requests()
            failures = self.state.failures()
            for step in decide(self.state, self.state.policy, self._time.now()):
                if isinstance(step, Done):
                    return ExitStatus(step.status)
                self._carry_out(step)
                if self.state.failures() != failures:
                    break  # Judge it before anything else is started (S6).

    def _carry_out(self, step: RolloutStep) -> None:
        if isinstance(step, Record):
            self._record(step.entry)
        elif isinstance(step, Wait):
            left = (step.until - self._time.now().t) / 1000
            self.clock.sleep(min(max(left, 0.01), self._nap_s))
        elif isinstance(step, Command):
            self._command(step)

    def _take_requests(self) -> None:
        if self._paused_by is not None and self.state.mode == "running":
            self._record(Entry(event="pausing", reason=self._paused_by))
        self._paused_by = None
        for entry in self._inbox():
            if acceptable(entry, self.state.mode, self.state.boards):
                self._record(entry)

    def _command(self, command: Command) -> None:
        now = self._time.now()
        for name in command.boards:
            intent = self._intent(command, self.state.boards[name], now)
            if intent is not None:
                self._record(intent)
        calls = [board_call(self.state, self.state.boards[name]) for name in command.boards]
        quiet: dict[str, list[str]] = {"seen": [], "missed": []}
        for result in _one_each(calls, self._call(command, calls)):
            entry = after_result(self.state, command.kind, result, self._time.now())
            if entry is None:
                quiet["seen"].append(result.board)
            elif entry.event == "missed":
                quiet["missed"].append(result.board)
            else:
                self._record(entry)
        if quiet["seen"]:
            self._record(Entry(event="seen", boards=tuple(quiet["seen"])))
        if quiet["missed"]:
            self._record(Entry(event="missed", boards=tuple(quiet["missed"])))

    def _intent(self, command: Command, board: BoardState, now: Now) -> Entry | None:
        """What is about to be done to a board, written down before it is."""
        phase = _INTENTS.get(command.kind)
        if command.kind == "rollback":
            phase = "declining" if board.phase == "unconfirmed" else "reverting"
            if board.phase in ("declining", "reverting"):
                return None
        if phase is None:
            return None
        return Entry(
            event="board",
            board=board.id,
            was=board.phase,
            phase=phase,
            reason=board.reason if command.kind == "rollback" else None,
            digest=board.digest,
            until=phase_deadline(self.state, board, phase, now.t),
            fault=board.fault,
        )

    def _call(self, command: Command, calls: list[BoardCall]) -> Iterable[BoardResult]:
        if command.kind == "probe":
            return self.engine.probe(calls)
        if command.kind == "push":
            return self.engine.push(calls)
        if command.kind == "poll":
            return self.engine.poll(calls, command.wait_s)
        if command.kind == "confirm":
            return self.engine.confirm(calls)
        return self.engine.start(calls, command.kind)

    def _record(self, draft: Entry) -> None:
        entry = self.journal.record(draft, self._time.now())
        self._watcher(entry)


def _one_each(calls: list[BoardCall], results: Iterable[BoardResult]) -> Iterator[BoardResult]:
    """Exactly one result per call: of two the first, and 'unknown' for none."""
    open_calls = {call.board for call in calls}
    for result in results:
        if result.board in open_calls:
            open_calls.remove(result.board)
            yield result
    for call in calls:
        if call.board in open_calls:
            yield BoardResult(board=call.board, outcome="unknown", reason="no_result")


def acceptable(entry: Entry, mode: str, boards: dict[str, BoardState]) -> bool:
    """Whether a person's request still makes sense when the controller gets to it."""
    if entry.event == "pausing":
        return mode == "running"
    if entry.event == "aborting":
        return mode in ("running", "pausing")
    if entry.event == "board" and entry.phase == "skipped":
        board = boards.get(str(entry.board))
        return board is not None and board.phase in SKIPPABLE
    return False


SKIPPABLE: Final[tuple[Phase, ...]] = (
    "waiting", "unreached", "deferred", "ready", "pushed",
    "pending", "ineligible", "inconclusive", "failed",
)  # fmt: skip
"""A board that runs something of this rollout cannot be skipped any more; abort takes it back."""
