"""A fleet's plan, rollouts and drift as text, at most 80 columns.

Layer: report. Pure.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from speccompose.errors import ExitStatus
from speccompose.fleet.drift import CheckRow, DriftRow
from speccompose.fleet.fleet_plan import differences
from speccompose.fleet.status import BoardRow, LogRow, RolloutStatus, WaveRow
from speccompose.report.table import columns
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import FleetPlan, PlannedBoard

SHOWN = 12
"""Boards that are listed one by one; of more, the rest is counted."""

ENDED = {
    ExitStatus.DONE: "done",
    ExitStatus.PENDING: "done, but not on every board",
    ExitStatus.ROLLOUT_HALTED: "halted, and rolled back",
    ExitStatus.PAUSED: "paused",
    ExitStatus.ROLLBACK_INCOMPLETE: "halted; not every board could be rolled back",
}
NEXT = {
    ExitStatus.PENDING: "fleet catch-up, when those boards answer again",
    ExitStatus.ROLLOUT_HALTED: "mend what failed, then fleet plan and fleet run",
    ExitStatus.PAUSED: "fleet resume goes on with it, fleet abort takes it back",
    ExitStatus.ROLLBACK_INCOMPLETE: "those boards want a person: check status, check recover",
}
"""What the operator of a rollout that ended so would do; verbs of `speccompose`."""


def plan_lines(plan: FleetPlan) -> str:
    """Stacks, waves, what changes, and who gets nothing."""
    boards = [board for board in plan.boards if board.stack is not None]
    changes = differences(plan)
    head = f"{plan.fleet}: {len(boards)} of {len(plan.boards)} boards, {len(changes)} change"
    lines = [head, *columns([["rollout", plan.rollout], ["counter", str(plan.counter)]])]
    lines += ["", "stacks", *_stack_lines(plan, boards)]
    lines += ["", "waves", *_wave_lines(plan)]
    refused = [board for board in plan.boards if board.refusal is not None]
    if refused:
        lines += ["", f"refused ({len(refused)})", *_refusal_lines(refused)]
    lines += _change_lines(plan)
    return "\n".join(lines)


def _stack_lines(plan: FleetPlan, boards: list[PlannedBoard]) -> list[str]:
    count = Counter(board.stack for board in boards)
    rows = []
    for bundle, stack in plan.stacks.items():
        if not count[bundle]:
            continue
        classes = sorted({str(b.board_class) for b in boards if b.stack == bundle})
        speculation = f"{stack.method} {stack.depth}" if stack.depth else stack.method
        measured = ", measured on the canary" if stack.accept else ""
        rows.append([f"{count[bundle]}x", f"{stack.name}: {stack.model}"])
        rows.append(["", f"{stack.engine}, {speculation}{measured}"])
        rows.append(["", f"{', '.join(classes)}  {stack.digest[:19]}"])
    return columns(rows)


def _wave_lines(plan: FleetPlan) -> list[str]:
    rows = []
    for wave in plan.waves:
        rule = plan.policy.waves[wave.rule]
        names = ", ".join(wave.boards[:SHOWN])
        more = f" and {len(wave.boards) - SHOWN} more" if len(wave.boards) > SHOWN else ""
        rows.append([wave.name, f"{len(wave.boards)}", f"bake {_time(rule.bake_s)}: {names}{more}"])
    return columns(rows)


def _refusal_lines(refused: list[PlannedBoard]) -> list[str]:
    rows = []
    for board in refused[:SHOWN]:
        why = board.refusal
        if why is not None:
            rows.append([board.id, f"{why.message.splitlines()[0]} (status {why.status})"])
            if why.hint:
                rows.append(["", f"hint: {why.hint}"])
    if len(refused) > SHOWN:
        rows.append(["", f"and {len(refused) - SHOWN} more; --json has them all"])
    return columns(rows)


def _change_lines(plan: FleetPlan) -> list[str]:
    changes = differences(plan)
    known = {name: pair for name, pair in changes.items() if pair[0] is not None}
    if not known:
        return []
    rows = [
        [name, f"{_short(before)} -> {_short(after)}"]
        for name, (before, after) in list(known.items())[:SHOWN]
    ]
    if len(known) > SHOWN:
        rows.append(["", f"and {len(known) - SHOWN} more"])
    return ["", "changes", *columns(rows)]


def status_lines(
    status: RolloutStatus, *, every: bool = False, carried_out: bool | None = None
) -> str:
    """Where a rollout stands: waves, the boards that want attention, and what to do next.

    ``carried_out``: whether a controller is at work on it; None where that does not matter.
    """
    ended = ENDED.get(ExitStatus(status.status)) if status.status is not None else None
    lines = [f"{status.fleet}: {status.rollout} is {ended or status.mode}"]
    lines += columns([[status.reason]]) if status.reason else []
    lines += ["", *columns([_wave_row(wave) for wave in status.waves])]
    boards = [b for b in status.boards if every or b.phase not in ("committed", "already")]
    if boards:
        lines += ["", "boards" if every else "boards that are not done"]
        lines += columns([row for board in boards[: SHOWN * 4] for row in _board_rows(board)])
        if len(boards) > SHOWN * 4:
            lines.append(f"  and {len(boards) - SHOWN * 4} more; --json has them all")
    following = next_step(status, carried_out)
    return "\n".join([*lines, *(["", f"next: {following}"] if following else [])])


def next_step(status: RolloutStatus, carried_out: bool | None) -> str | None:
    """What somebody would do now, in one line."""
    if carried_out is False and status.status is None and status.mode != "new":
        return "fleet resume --take-over: nobody carries it out any more"
    return None if status.status is None else NEXT.get(ExitStatus(status.status))


def _board_rows(board: BoardRow) -> list[list[str]]:
    said = [["", "", board.message]] if board.message else []
    return [[board.id, board.phase or "refused", board.reason or ""], *said]


def _wave_row(wave: WaveRow) -> list[str]:
    left = f", {_time(wave.left_s)} left" if wave.left_s is not None else ""
    failed = f", {wave.failed} failed" if wave.failed else ""
    return [wave.name, wave.stage + left, f"{wave.done} of {wave.total} done{failed}"]


def entry_line(entry: Entry, plan: FleetPlan) -> str | None:
    """One line of progress; None for what says nothing to people."""
    if entry.event == "board":
        why = f" ({entry.reason})" if entry.reason else ""
        return f"{entry.board}: {entry.phase}{why}"
    if entry.event in ("wave", "baking", "promoted") and entry.wave is not None:
        wave = plan.waves[entry.wave]
        words = {"wave": f"begins: {counted(wave.boards)}", "baking": "bakes"}
        return f"wave {wave.name} {words.get(entry.event, 'is good')}"
    if entry.event in ("seen", "missed"):
        return None
    if entry.event == "finished" and entry.status is not None:
        return f"finished: {ENDED.get(ExitStatus(entry.status), f'status {entry.status}')}"
    return entry.event.replace("_", " ") + (f": {entry.reason}" if entry.reason else "")


def drift_lines(rows: Iterable[DriftRow]) -> str:
    """Boards that are not as they were left."""
    rows = tuple(rows)
    count = Counter(row.kind for row in rows)
    lines = [f"{count['same']} as deployed, {count['drift']} drifted"]
    lines[0] += f", {count['unreachable']} not reached" if count["unreachable"] else ""
    shown = [row for row in rows if row.kind != "same"]
    return "\n".join([*lines, *columns([[row.board, "; ".join(row.lines)] for row in shown])])


def check_lines(rows: Iterable[CheckRow]) -> str:
    """What a rollout would do with every board; nothing was changed."""
    table = []
    for row in rows:
        change = f"{_short(row.before)} -> {_short(row.after)}"
        why = f" ({row.reason})" if row.reason else ""
        table.append(
            [row.board, row.phase + why, "unchanged" if row.before == row.after else change]
        )
        table += [["", "", line] for line in row.lines]
    return "\n".join(columns(table))


def log_lines(rows: Iterable[LogRow]) -> str:
    """Who did what when, as the journal has it."""
    table = []
    for row in rows:
        what = f"{row.board}: {row.change}" if row.board else row.event.replace("_", " ")
        why = f" ({row.reason})" if row.reason else ""
        table.append([row.at, row.actor, what + why])
    return "\n".join(columns(table, indent=""))


def counted(boards: Collection[str]) -> str:
    """'1 board', '2 boards'."""
    return f"{len(boards)} board" + "s" * (len(boards) != 1)


def _short(digest: str | None) -> str:
    return "nothing" if digest is None else digest[:19]


def _time(seconds: int) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds} s"
