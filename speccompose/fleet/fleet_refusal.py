"""Why a board of a fleet, or a whole fleet, gets nothing: refusals with their statuses. Pure.

Layer: fleet, beside fleet_plan.py.
"""

from collections.abc import Iterable
from typing import Final

from speccompose.catalog.problem import capped
from speccompose.errors import ERROR_BY_STATUS, ExitStatus, SpecComposeError, UsageError
from speccompose.vocab.fleet import BoardEntry
from speccompose.vocab.rollout_plan import BoardRefusal, FleetPlan, PlannedBoard

_ORDER: Final[tuple[int, ...]] = (4, 5, 7, 6)
"""Refusals are judged in the contract's order; others come after."""


def first_status(statuses: Iterable[int]) -> int:
    """The refusal that is told: in the contract's order; 2 for none."""
    found = set(statuses)
    ordered = [*(status for status in _ORDER if status in found), *sorted(found)]
    return ordered[0] if ordered else int(ExitStatus.USAGE)


def refusal_of(error: SpecComposeError) -> BoardRefusal:
    """An error as a board's refusal."""
    return BoardRefusal(
        status=int(error.status),
        code=error.code,
        message="\n".join((error.brief, *error.details)),
        hint=error.hint,
    )


def unassigned(entry: BoardEntry, class_id: str) -> UsageError:
    """No assignment of deploy takes this board."""
    return UsageError(
        f"no assignment of deploy matches {entry.id}",
        [f"tags {', '.join(entry.tags) or 'none'}, class {class_id}"],
        hint="add one without conditions at the end, for every board that is left",
        code="no_assignment",
    )


def requires_missing(name: str, missing: list[str]) -> UsageError:
    """The stack comes after others that the board has not had (S18)."""
    return UsageError(
        f"{name} requires {', '.join(missing)}, which this board has not run",
        hint=f"roll {missing[0]} out first, or `speccompose fleet catch-up`",
        code="requires_missing",
    )


def nothing_to_do(boards: Iterable[PlannedBoard]) -> SpecComposeError:
    """Every board's own refusal, with the status that comes first among them."""
    refused = [board for board in boards if board.refusal is not None]
    lines = [f"{b.id}: {b.refusal.message.splitlines()[0]}" for b in refused if b.refusal]
    status = first_status(b.refusal.status for b in refused if b.refusal)
    hints = list(dict.fromkeys(b.refusal.hint for b in refused if b.refusal and b.refusal.hint))
    return ERROR_BY_STATUS.get(status, UsageError)(
        "no board of this fleet gets anything",
        lines[:10],
        hint=hints[0] if hints else "mend the refusals above",
        code="fleet_empty",
    )


def refuse_refused(plan: FleetPlan) -> None:
    """A rollout leaves nobody out unless the policy says that it may.

    Raises:
        SpecComposeError: boards are refused; with the status of the first in the contract's order.
    """
    refused = [board for board in plan.boards if board.refusal is not None]
    if not refused or plan.policy.allow_refused:
        return
    lines = [f"{b.id}: {b.refusal.message.splitlines()[0]}" for b in refused if b.refusal]
    status = first_status(b.refusal.status for b in refused if b.refusal)
    raise ERROR_BY_STATUS.get(status, UsageError)(
        f"{len(refused)} of {len(plan.boards)} boards get nothing from this plan",
        capped(lines),
        hint="mend them, or allow_refused: true in the fleet's changes leaves them out",
        code="boards_refused",
    )
