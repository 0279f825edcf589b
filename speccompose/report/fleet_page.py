"""A rollout becomes one page for people: waves, board classes, who wants attention, who did what.

Layer: report. Pure. Boards are drawn as squares, so that two thousand fit on a screen and one that
failed is seen at once; those that are not done are listed by name as well.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from speccompose.errors import ExitStatus
from speccompose.fleet.status import BoardRow, LogRow, RolloutStatus, WaveRow
from speccompose.report.fleet_text import ENDED, counted
from speccompose.report.html_page import Table, Tile, html_page
from speccompose.vocab.rollout_plan import FleetPlan

GOOD = ("committed", "already")
BAD = ("failed", "stuck", "unreverted", "inconclusive")
BACK = ("reverting", "reverted", "declining")
BUSY = ("ready", "pushing", "pushed", "staging", "staged", "applying", "unconfirmed")
LISTED = 200
LOGGED = 400


class Square(NamedTuple):
    """One board in the picture: its colour's class, and what is said when it is pointed at."""

    tone: str
    title: str


class Group(NamedTuple):
    """The boards of one wave or class."""

    name: str
    note: str
    squares: tuple[Square, ...]


def fleet_page(status: RolloutStatus, plan: FleetPlan, log: Sequence[LogRow]) -> str:
    """The page of one rollout."""
    values: dict[str, object] = {
        "title": f"{status.fleet}: {status.rollout}",
        "outcome": _outcome(status),
        "tone": _tone(status),
        "lead": _lead(status, plan),
        "tiles": _tiles(status),
        "legend": (("done", "done"), ("busy", "under way"), ("wait", "not started")),
        "legend_more": (("bad", "failed"), ("back", "taken back"), ("off", "away or left out")),
        "waves": [
            _wave_group(status, wave, set(planned.boards))
            for wave, planned in zip(status.waves, plan.waves, strict=True)
        ],
        "classes": _classes(status),
        "attention": _attention(status),
        "stacks": _stacks(status, plan),
        "log": _log(log),
        "footer": " · ".join(
            (f"speccompose {plan.speccompose}", f"policy {plan.policy.id}", plan.inventory[:19])
        ),
    }
    return html_page("fleet", values)


def tone_of(phase: str | None) -> str:
    """The colour of a board."""
    for tone, phases in (("done", GOOD), ("bad", BAD), ("back", BACK), ("busy", BUSY)):
        if phase in phases:
            return tone
    return "wait" if phase in ("waiting", "untouched") else "off"


def _outcome(status: RolloutStatus) -> str:
    if status.status is None:
        return status.mode
    return ENDED.get(ExitStatus(status.status), status.mode)


def _tone(status: RolloutStatus) -> str:
    if status.status is None:
        return "warn" if status.mode in ("paused", "pausing", "aborting") else "good"
    done = (ExitStatus.DONE, ExitStatus.PENDING)
    return "good" if status.status in done else "bad"


def _lead(status: RolloutStatus, plan: FleetPlan) -> str:
    boards, waves = counted([b.id for b in plan.boards]), len(plan.waves)
    why = f" Reason: {status.reason}." if status.reason else ""
    wave = plan.waves[min(max(status.wave, 0), len(plan.waves) - 1)].name if plan.waves else "-"
    at = f"; at wave {wave}" if status.status is None else ""
    return f"{boards} in {waves} wave{'s' * (waves != 1)}{at}.{why}"


def _tiles(status: RolloutStatus) -> list[Tile]:
    count = Counter(tone_of(board.phase) for board in status.boards)
    total = len(status.boards)
    return [
        Tile("done", f"{count['done']} of {total}"),
        Tile("under way", str(count["busy"])),
        Tile("failed", str(count["bad"])),
        Tile("taken back", str(count["back"])),
        Tile("away or left out", str(count["off"])),
        Tile("running for" if status.status is None else "took", _time(status.elapsed_s)),
    ]


def _wave_group(status: RolloutStatus, wave: WaveRow, names: set[str]) -> Group:
    boards = [board for board in status.boards if board.id in names]
    left = f", {_time(wave.left_s)} of its bake left" if wave.left_s is not None else ""
    note = f"{wave.stage}{left}: {wave.done} of {wave.total} done"
    return Group(wave.name, note, tuple(_square(board) for board in boards))


def _square(board: BoardRow) -> Square:
    words = [board.id, board.board_class or "unknown class", board.phase or "refused"]
    if board.reason:
        words.append(board.reason)
    return Square(tone_of(board.phase), ", ".join(words))


def _classes(status: RolloutStatus) -> Table:
    names = sorted({board.board_class or "unknown" for board in status.boards})
    rows = []
    for name in names:
        boards = [b for b in status.boards if (b.board_class or "unknown") == name]
        count = Counter(tone_of(board.phase) for board in boards)
        methods = sorted({board.method for board in boards if board.method})
        tones = ("done", "busy", "bad", "back", "off")
        rows.append(
            (name, ", ".join(methods) or "-", str(len(boards)), *(str(count[t]) for t in tones))
        )
    heads = ("class", "speculation", "boards", "done", "under way", "failed", "back", "away")
    return Table(heads, tuple(rows))


def _attention(status: RolloutStatus) -> Table | None:
    """Boards that somebody should look at."""
    wanted = [b for b in status.boards if tone_of(b.phase) in ("bad", "back", "off")]
    if not wanted:
        return None
    rows: list[tuple[str, ...]] = [
        (b.id, b.board_class or "-", b.wave or "-", b.phase or "refused", _why(b))
        for b in wanted[:LISTED]
    ]
    if len(wanted) > LISTED:
        rows.append((f"and {len(wanted) - LISTED} more", "", "", "", ""))
    return Table(("board", "class", "wave", "state", "why"), tuple(rows))


def _why(board: BoardRow) -> str:
    told = [text for text in (board.reason, board.message) if text]
    return ": ".join(told) or "-"


def _stacks(status: RolloutStatus, plan: FleetPlan) -> Table:
    """What is rolled out, and whether its speculation was found to pay."""
    rows = []
    for stack in plan.stacks.values():
        users = sum(1 for board in status.boards if board.digest == stack.digest)
        method = f"{stack.method} {stack.depth}" if stack.depth else stack.method
        verdict = "measured on the canary" if stack.accept else "as stored, or none"
        if stack.digest in status.without_speculation.values():
            verdict = "speculation did not pay: goes out without"
        rows.append((stack.name, stack.model, stack.engine, method, str(users), verdict))
    return Table(("stack", "model", "engine", "speculation", "boards", "verdict"), tuple(rows))


def _log(log: Sequence[LogRow]) -> Table:
    """The last entries, newest first."""
    rows = [
        (
            row.at,
            row.actor,
            row.wave or "-",
            f"{row.board}: {row.change}" if row.board else row.event,
            row.reason or "",
        )
        for row in reversed(log[-LOGGED:])
    ]
    return Table(("when", "who", "wave", "what", "why"), tuple(rows))


def _time(seconds: int) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds} s"
