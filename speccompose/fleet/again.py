"""A rollout that went through -> plans that go on where it ended: catch-up and repair. Pure.

Layer: fleet. Only the last completed release is ever applied again (S18), in class order and
through the same gates; one that was halted never is.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from speccompose.errors import ExitStatus, UsageError
from speccompose.fleet.phases import DONE
from speccompose.fleet.plan_file import inventory_hash, rollout_id
from speccompose.fleet.rollout_state import RolloutState
from speccompose.fleet.waves import waves
from speccompose.vocab.rollout_journal import Phase
from speccompose.vocab.rollout_plan import FleetPlan, PlanKind, PlannedBoard, PlannedStack

LATE: Final[tuple[Phase, ...]] = ("pending", "ineligible", "failed", "unreached", "deferred")
"""Boards that the release did not reach, or that could not take it when it came."""

replace = msgspec.structs.replace


def completed(state: RolloutState) -> bool:
    """Whether a rollout went through, so that its release may be applied again."""
    through = (ExitStatus.DONE, ExitStatus.PENDING)
    return state.mode == "finished" and state.status in through and state.reason != "rollback"


def late_boards(state: RolloutState) -> tuple[str, ...]:
    """Boards that a completed rollout has left without its release."""
    return tuple(name for name, board in state.boards.items() if board.phase in LATE)


def standing(states: Sequence[RolloutState]) -> dict[str, RolloutState]:
    """Each board that has the release -> the rollout that brought it last; ``states`` are the
    release's own and those that followed it up, in their order."""
    found: dict[str, RolloutState] = {}
    for state in states:
        for name, board in state.boards.items():
            if board.phase in DONE:
                found[name] = state
            elif board.phase in ("reverted", "failed") and state.mode == "finished":
                found.pop(name, None)
    return found


def again(state: RolloutState, names: Collection[str], kind: PlanKind) -> FleetPlan:
    """The same release for these boards: what their class got in the end, fallbacks included.

    Raises:
        UsageError: the release was halted or is not complete, or none of these boards is late.
    """
    if not completed(state):
        raise UsageError(
            f"{state.plan.rollout} did not go through: its release is not applied again",
            [f"it is {state.mode}, status {state.status}, {state.reason or 'without a reason'}"],
            hint="plan a release anew, or resume this one",
            code="release_not_completed",
        )
    stacks = _as_it_ended(state)
    boards = tuple(
        replace(board, stack=_as_its_class(state, board.id), before=None)
        for board in state.plan.boards
        if board.id in names and board.id in state.boards
    )
    if not boards:
        raise UsageError(
            f"no board of {state.plan.rollout} is left to {kind}",
            hint="a board that was skipped gets it by `fleet run`; `fleet status` shows them all",
            code="nothing_left",
        )
    return _numbered(state, boards, stacks, kind)


def _as_its_class(state: RolloutState, name: str) -> str:
    """The bundle that a board gets: the plain one where its class's canary rejected the other."""
    board = state.boards[name]
    plain = state.plain(board)
    rejected = (board.board_class, board.digest) in state.fallbacks
    return plain.bundle if rejected and plain is not None else board.bundle


def _numbered(
    state: RolloutState,
    boards: tuple[PlannedBoard, ...],
    stacks: Mapping[str, PlannedStack],
    kind: PlanKind,
) -> FleetPlan:
    policy = state.policy
    plan = replace(
        state.plan,
        rollout="",
        kind=kind,
        inventory=inventory_hash(boards),
        boards=boards,
        stacks=stacks,
        waves=waves(boards, policy.waves, policy.seed),
    )
    return replace(plan, rollout=rollout_id(plan))


def _as_it_ended(state: RolloutState) -> Mapping[str, PlannedStack]:
    """The stacks, measured by now, with the mean accepted length that their canaries had."""
    lengths: dict[str, float] = {}
    for board in state.boards.values():
        length = state.lengths.get((board.board_class, board.digest))
        if length is not None:
            lengths[board.bundle] = length
    return {
        name: replace(stack, accept=False, accepted_length=lengths.get(name, stack.accepted_length))
        for name, stack in state.plan.stacks.items()
    }
