"""A rollout that stops: let what is in flight end, take back what the policy says. Pure.

Layer: fleet, beside decide.py (S4, S6, S11). Boards that nothing was started on stay untouched;
rollbacks run side by side, as many per mirror as may pull there.
"""

from collections import Counter
from collections.abc import Iterator

from speccompose.fleet.actions import Now, Record, RolloutStep, Wait
from speccompose.fleet.board_state import BoardState
from speccompose.fleet.decide_boards import BATCH, command, end_steps, next_due, running_steps
from speccompose.fleet.decide_wave import halted_status, lost_boards, scope_waves
from speccompose.fleet.phases import IN_FLIGHT
from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_policy import RolloutPolicy


def abort_steps(state: RolloutState, policy: RolloutPolicy, now: Now) -> tuple[RolloutStep, ...]:
    """The next steps of an abort; at last its end with 10 or 14."""
    objected = _object(state)
    if objected:
        return objected
    back = command("rollback", _to_take_back(state, policy))
    steps = (
        *((back,) if back is not None else ()),
        *end_steps(state, policy, now),
        *running_steps(state, policy, now),
    )
    if steps:
        return steps
    if state.count((*IN_FLIGHT, "reverting")) or _reverting(state):
        return (Wait(until=next_due(state, policy, now)),)
    asked = command("probe", lost_boards(state)[:BATCH])
    if asked is not None:
        return (asked,)
    return (Record(entry=Entry(event="finished", status=int(halted_status(state)))),)


def _object(state: RolloutState) -> tuple[RolloutStep, ...]:
    """Boards that proved themselves meanwhile are not confirmed into a wave that is taken back."""
    if state.scope == "device":
        return ()
    proved = state.within("unconfirmed").values()
    return tuple(Record(entry=_aborted(board)) for board in proved if board.reason is None)


def _aborted(board: BoardState) -> Entry:
    return Entry(
        event="board",
        board=board.id,
        was=board.phase,
        phase="unconfirmed",
        reason="aborted",
        until=board.until,
    )


def _to_take_back(state: RolloutState, policy: RolloutPolicy) -> Iterator[BoardState]:
    """Committed boards within the scope, the lost ones among them, as many as may go at once."""
    busy = Counter(board.planned.site for board in _reverting(state))
    for number in scope_waves(state):
        for board in state.every(("committed", "failed"), number):
            if board.fault or not board.committed:  # a faulty one is taken back anyway
                continue
            if busy[board.planned.site] < policy.max_pulls:
                busy[board.planned.site] += 1
                yield board


def _reverting(state: RolloutState) -> list[BoardState]:
    every = (state.within("reverting", number).values() for number in range(len(state.waves)))
    return [board for boards in every for board in boards]
