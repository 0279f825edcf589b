"""How long a board may take for each phase: the policy's figures and the stack's own. Pure.

Layer: fleet. Every phase that waits for something has a deadline (S27).
"""

from speccompose.fleet.board_state import BoardState
from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.rollout_engine import AcceptMode, BoardCall, CallDeadlines
from speccompose.vocab.rollout_journal import Phase

_MS = 1000


def accept_mode(state: RolloutState, board: BoardState) -> AcceptMode:
    """Only the canary measures, and only what no stored result covers (rules section 6)."""
    return "measure" if board.wave == 0 and state.stack(board).accept else "answer"


def call_deadlines(state: RolloutState, board: BoardState) -> CallDeadlines:
    """The seconds that the board itself gives its phases."""
    limits, stack = state.policy.deadlines, state.stack(board)
    measured = accept_mode(state, board) == "measure"
    return CallDeadlines(
        stage_s=limits.stage_s,
        start_s=stack.start_deadline_s + limits.start_margin_s,
        acceptance_s=limits.measure_s if measured else limits.acceptance_s,
        confirm_s=limits.confirm_s,
        rollback_s=limits.rollback_s,
    )


def phase_deadline(state: RolloutState, board: BoardState, phase: Phase, t: int) -> int | None:
    """When a board that enters a phase now must have left it, in rollout ms.

    A board that is applying gets the time of its own deadlines and of the rollback that follows
    them, so that the controller never gives up on a board that will still answer for itself.
    """
    limits = state.policy.deadlines
    if phase in ("pushing", "staging"):
        return t + (limits.push_s if phase == "pushing" else limits.stage_s) * _MS
    if phase == "applying":
        own = call_deadlines(state, board)
        return t + (own.start_s + own.acceptance_s + own.confirm_s + own.rollback_s) * _MS
    if phase == "unconfirmed":
        return t + (limits.confirm_s + limits.rollback_s) * _MS
    if phase in ("declining", "reverting"):
        return t + limits.rollback_s * _MS
    return None


def board_call(state: RolloutState, board: BoardState) -> BoardCall:
    """What an engine is told of this board, whichever method it is called with."""
    stack = state.stack(board)
    return BoardCall(
        board=board.id,
        rollout=state.transaction(board),
        stack=stack.name,
        digest=board.digest,
        bundle=board.bundle,
        accept=accept_mode(state, board),
        counter=state.plan.counter,
        allow_downgrade=state.allow_downgrade,
        long_prompt=board.wave == 0,
        deadlines=call_deadlines(state, board),
    )
