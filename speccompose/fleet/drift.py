"""Does every board still run what it was left with (S25), and what would a rollout do (S26).

Layer: fleet. Both only probe; nothing is journaled, since nothing is decided.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final, Literal

from speccompose.errors import ExitStatus
from speccompose.fleet.actions import Now
from speccompose.fleet.deadlines import board_call
from speccompose.fleet.engine import Engine
from speccompose.fleet.rollout_state import RolloutState
from speccompose.fleet.transition import after_result
from speccompose.vocab.base import Frozen
from speccompose.vocab.rollout_engine import BoardCall, BoardResult
from speccompose.vocab.rollout_journal import Phase
from speccompose.vocab.rollout_plan import FleetPlan

BATCH: Final = 200
DriftKind = Literal["same", "drift", "unreachable"]


class DriftRow(Frozen, frozen=True, kw_only=True):
    """One board: what differs, one line each."""

    board: str
    kind: DriftKind
    expected: str
    found: str | None = None
    lines: tuple[str, ...] = ()


class CheckRow(Frozen, frozen=True, kw_only=True):
    """One board of a dry run: the phase that its probe leads to, and what would change."""

    board: str
    phase: Phase
    reason: str | None = None
    before: str | None = None
    after: str
    lines: tuple[str, ...] = ()


def find_drift(calls: Iterable[BoardCall], engine: Engine) -> tuple[DriftRow, ...]:
    """Ask each board; ``digest`` of a call is what it should run."""
    rows = []
    by_name = {call.board: call for call in calls}
    for result in _probed(by_name, engine):
        rows.append(_drift_row(by_name[result.board], result))
    return tuple(rows)


def drift_status(rows: Iterable[DriftRow]) -> ExitStatus:
    """16 where a board drifted, 13 where one could not be asked, else 0."""
    kinds = {row.kind for row in rows}
    if "drift" in kinds:
        return ExitStatus.DRIFT
    return ExitStatus.PENDING if "unreachable" in kinds else ExitStatus.DONE


def check(plan: FleetPlan, engine: Engine, now: Now) -> tuple[CheckRow, ...]:
    """Probe and preflight every board; say what a rollout would do with it."""
    state = RolloutState(plan)
    calls = {name: board_call(state, board) for name, board in state.boards.items()}
    rows = []
    for result in _probed(calls, engine):
        board = state.boards[result.board]
        entry = after_result(state, "probe", result, now)
        report = result.report
        unfit = report.unfit if report is not None else ()
        rows.append(
            CheckRow(
                board=board.id,
                phase=(entry.phase if entry is not None else None) or board.phase,
                reason=entry.reason if entry is not None else result.reason,
                before=report.digest if report is not None else None,
                after=board.digest,
                lines=tuple(f"{item.code}: {item.message}" for item in unfit),
            )
        )
    return tuple(rows)


def _probed(calls: Mapping[str, BoardCall], engine: Engine) -> Iterable[BoardResult]:
    """Results in batches, one per board."""
    left = iter(calls.values())
    while batch := tuple(islice(left, BATCH)):
        missing = {call.board for call in batch}
        for result in engine.probe(batch):
            if result.board in missing:
                missing.remove(result.board)
                yield result
        for name in sorted(missing):
            yield BoardResult(board=name, outcome="unknown", reason="no_result")


def _drift_row(call: BoardCall, result: BoardResult) -> DriftRow:
    report = result.report
    if report is None:
        return DriftRow(
            board=call.board,
            kind="unreachable",
            expected=call.digest,
            lines=(result.reason or result.outcome,),
        )
    lines = list(report.drift)
    if report.digest != call.digest:
        lines.insert(0, f"runs {report.digest or 'nothing'}")
    if report.state in ("degraded", "stopped", "stuck"):
        lines.append(report.state)
    if report.healthy is False:
        lines.append("unhealthy")
    if report.restarts:
        lines.append(f"restarted {report.restarts} times")
    return DriftRow(
        board=call.board,
        kind="drift" if lines else "same",
        expected=call.digest,
        found=report.digest,
        lines=tuple(dict.fromkeys(lines)),
    )
