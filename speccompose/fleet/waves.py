"""Boards and wave rules -> waves: who is in which, in which order (S2). Pure.

Layer: fleet. A board's place depends on its name and the seed alone, so a board that joins moves
nobody else within the order.
"""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice

from speccompose.vocab.rollout_plan import PlannedBoard, PlannedWave
from speccompose.vocab.rollout_policy import WaveRule


def waves(
    boards: Iterable[PlannedBoard], rules: Sequence[WaveRule], seed: int
) -> tuple[PlannedWave, ...]:
    """Waves that are a partition of the boards that get a stack.

    The first wave holds every board class with every stack it gets, whatever its rule says.
    Shares are of all boards and round up; a wave without boards is left out, and what the rules
    leave over comes in the last one.
    """
    order = sorted(
        (board for board in boards if board.stack is not None),
        key=lambda board: (_place(board.id, seed), board.id),
    )
    left = {board.id: board for board in order}
    made = []
    for number, rule in enumerate(rules):
        last = number == len(rules) - 1
        chosen = _chosen(rule, left, len(order), last=last)
        if number == 0:
            chosen = _covering(chosen, left.values())
        for name in chosen:
            del left[name]
        if chosen:
            made.append(PlannedWave(name=rule.name, rule=number, boards=tuple(chosen)))
    return tuple(made)


def kind_of_board(board: PlannedBoard) -> tuple[str, str]:
    """What a canary stands for: class and stack."""
    return str(board.board_class), str(board.stack)


def _place(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()


def _chosen(rule: WaveRule, left: dict[str, PlannedBoard], total: int, *, last: bool) -> list[str]:
    """Names of the boards that a rule takes of those that are left."""
    if last:
        return list(left)
    if rule.per_class is not None:
        return _per_kind(left.values(), rule.per_class)
    if rule.tags:
        return [name for name, board in left.items() if set(rule.tags) & set(board.tags)]
    if rule.boards:
        return [name for name in rule.boards if name in left]
    return list(islice(left, rule.count or _share(rule.share_pct or 0, total)))


def _share(percent: float, total: int) -> int:
    """A share of all boards, rounded up."""
    return int(-(-(percent * total) // 100))


def _per_kind(boards: Iterable[PlannedBoard], most: int) -> list[str]:
    taken: dict[tuple[str, str], int] = {}
    names = []
    for board in boards:
        kind = kind_of_board(board)
        if taken.get(kind, 0) < most:
            taken[kind] = taken.get(kind, 0) + 1
            names.append(board.id)
    return names


def _covering(chosen: list[str], boards: Iterable[PlannedBoard]) -> list[str]:
    """The chosen boards, and one of every kind that none of them is of."""
    every = list(boards)
    named = set(chosen)
    covered = {kind_of_board(board) for board in every if board.id in named}
    missing = [board for board in every if kind_of_board(board) not in covered]
    return [*chosen, *_per_kind(missing, 1)]
