"""A virtual clock and an engine over simulated boards: a rollout of days in a second.

Layer: fleet. Faults are drawn from a seed; every call is logged, so that tests can say what was
done to whom in which order.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from speccompose.fleet.simulated_board import SimulatedBoard
from speccompose.vocab.rollout_engine import Action, BoardCall, BoardResult

NOON: Final = 1_796_040_000.0
"""Noon UTC of 2026-11-30, where virtual wall clocks begin."""


class VirtualClock:
    """Time that passes only when somebody waits or works."""

    def __init__(self, wall: float = NOON) -> None:
        self.t = 0
        self._wall = wall

    def monotonic_ms(self) -> int:
        """Milliseconds since the beginning."""
        return self.t

    def wall(self) -> float:
        """Seconds since 1970, jumps included."""
        return self._wall + self.t / 1000

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.t += max(1, int(seconds * 1000))

    def jump(self, seconds: float) -> None:
        """Set the wall clock; the other one does not notice."""
        self._wall += seconds


class Logged(NamedTuple):
    """One call of one board: when, what, who, with which digest, in which transaction."""

    t: int
    kind: str
    board: str
    digest: str
    rollout: str


class SimulatedEngine:
    """The five methods over simulated boards. ``cost_ms``: of a call, and of each board in it."""

    def __init__(
        self,
        boards: Iterable[SimulatedBoard],
        clock: VirtualClock,
        *,
        seed: int = 0,
        cost_ms: tuple[int, int] = (1_000, 20),
    ) -> None:
        self.boards: Mapping[str, SimulatedBoard] = {board.name: board for board in boards}
        self.clock = clock
        self.log: list[Logged] = []
        self._chance = random.Random(seed)
        self._cost = cost_ms

    def probe(self, calls: Sequence[BoardCall]) -> Iterable[BoardResult]:
        """Read the board's state."""
        return self._each(calls, "probe", lambda board, call, t: None)

    def push(self, calls: Sequence[BoardCall]) -> Iterable[BoardResult]:
        """Bring the bundle."""
        return self._each(calls, "push", _push)

    def start(self, calls: Sequence[BoardCall], action: Action) -> Iterable[BoardResult]:
        """Start an action on each board."""
        return self._each(calls, action, _STARTS[action])

    def poll(self, calls: Sequence[BoardCall], wait_s: float) -> Iterable[BoardResult]:
        """Wait until one of them changes, at most ``wait_s``; then read all."""
        there = [self.boards[call.board] for call in calls]
        until = min((board.next_change() for board in there), default=self.clock.t)
        if not all(board.is_away(self.clock.t) for board in there):
            self.clock.t = max(self.clock.t, min(until, self.clock.t + int(wait_s * 1000)))
        return self._each(calls, "poll", lambda board, call, t: None)

    def confirm(self, calls: Sequence[BoardCall]) -> Iterable[BoardResult]:
        """Commit what is unconfirmed."""
        return self._each(calls, "confirm", lambda board, call, t: board.confirm(call, t))

    def _each(
        self,
        calls: Sequence[BoardCall],
        kind: str,
        doing: Callable[[SimulatedBoard, BoardCall, int], str | None],
    ) -> Iterator[BoardResult]:
        self.clock.t += self._cost[0]
        for call in calls:
            self.clock.t += self._cost[1]
            yield self._one(call, kind, doing)

    def _one(
        self,
        call: BoardCall,
        kind: str,
        doing: Callable[[SimulatedBoard, BoardCall, int], str | None],
    ) -> BoardResult:
        board, t = self.boards[call.board], self.clock.t
        board.advance(t)
        if board.trouble.identity:
            return BoardResult(board=board.name, outcome="failed", reason="identity")
        if board.is_away(t):
            return BoardResult(board=board.name, outcome="unreachable", reason="timeout")
        broken = self._chance.random() if board.trouble.flaky else 1.0
        if broken < board.trouble.flaky / 2:
            return BoardResult(board=board.name, outcome="unreachable", reason="busy")
        self.log.append(Logged(t, kind, board.name, call.digest, call.rollout))
        code = doing(board, call, t)
        if broken < board.trouble.flaky:  # it was done, and nobody heard of it
            return BoardResult(board=board.name, outcome="unknown", reason="timeout")
        report = board.report(t)
        if code is None:
            return BoardResult(board=board.name, outcome="ok", report=report)
        return BoardResult(board=board.name, outcome="failed", reason=code, report=report)


_STARTS: Final[Mapping[Action, Callable[[SimulatedBoard, BoardCall, int], str | None]]] = {
    "stage": lambda board, call, t: board.stage(call, t),
    "apply": lambda board, call, t: board.apply(call, t),
    "rollback": lambda board, call, t: board.rollback(call, t),
}


def _push(board: SimulatedBoard, call: BoardCall, t: int) -> None:
    board.pushed.add(call.digest)
