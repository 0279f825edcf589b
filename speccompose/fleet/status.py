"""A rollout's state and journal -> rows for people, pages and JSON. Pure.

Layer: fleet.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from speccompose.fleet.phases import DONE, FAILED, LEFT_OUT
from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.base import Frozen
from speccompose.vocab.rollout_journal import Entry, Phase

WaveStage = Literal["waiting", "on", "baking", "promoted", "taken back"]


class WaveRow(Frozen, frozen=True, kw_only=True):
    """One wave; ``phases`` counts its boards, ``left_s`` is what its bake has left."""

    name: str
    stage: WaveStage
    total: int
    done: int
    failed: int
    phases: Mapping[Phase, int]
    left_s: int | None = None


class BoardRow(Frozen, frozen=True, kw_only=True):
    """One board; ``phase`` is null where it was refused. ``message``: what it said itself."""

    id: str
    board_class: str | None
    site: str | None
    wave: str | None
    phase: Phase | None
    reason: str | None
    before: str | None
    digest: str | None
    method: str | None
    since_s: int | None = None
    message: str | None = None


class LogRow(Frozen, frozen=True, kw_only=True):
    """One decision or change, for people: who, when, what, why."""

    at: str
    actor: str
    event: str
    wave: str | None
    board: str | None
    change: str | None
    reason: str | None


class RolloutStatus(Frozen, frozen=True, kw_only=True):
    """`fleet status --json`. ``eta_s``: until the wave that is on can be promoted, where known."""

    rollout: str
    fleet: str
    kind: str
    mode: str
    status: int | None
    reason: str | None
    wave: int
    elapsed_s: int
    eta_s: int | None
    waves: tuple[WaveRow, ...]
    boards: tuple[BoardRow, ...]
    without_speculation: Mapping[str, str]


def rollout_status(state: RolloutState) -> RolloutStatus:
    """Where a rollout stands."""
    plan = state.plan
    return RolloutStatus(
        rollout=plan.rollout,
        fleet=plan.fleet,
        kind=plan.kind,
        mode=state.mode,
        status=state.status,
        reason=state.reason,
        wave=state.wave,
        elapsed_s=(state.t - state.opened_at) // 1000,
        eta_s=_bake_left(state),
        waves=wave_rows(state),
        boards=tuple(_board_rows(state)),
        without_speculation=dict(state.fallbacks.keys()),
    )


def wave_rows(state: RolloutState) -> tuple[WaveRow, ...]:
    """Every wave with what its boards are doing."""
    return tuple(_wave_row(state, number) for number in range(len(state.plan.waves)))


def log_rows(entries: Iterable[Entry], state: RolloutState) -> tuple[LogRow, ...]:
    """The journal as people read it: without the lines that say that nothing changed."""
    return tuple(
        LogRow(
            at=entry.at,
            actor=entry.actor,
            event=entry.event,
            wave=_wave_name(state, entry),
            board=entry.board,
            change=_change(entry),
            reason=entry.reason,
        )
        for entry in entries
        if entry.event not in ("seen", "missed")
    )


def _change(entry: Entry) -> str | None:
    """What a line says of its board: from where to where, or that its verdict came."""
    if entry.phase is None:
        return "measured" if entry.board is not None else None
    return entry.phase if entry.was is None else f"{entry.was} -> {entry.phase}"


def _wave_name(state: RolloutState, entry: Entry) -> str | None:
    if entry.board is not None and entry.board in state.boards:
        return state.plan.waves[state.boards[entry.board].wave].name
    return state.plan.waves[entry.wave].name if entry.wave is not None else None


def _wave_row(state: RolloutState, number: int) -> WaveRow:
    wave = state.plan.waves[number]
    phases = Counter(state.boards[name].phase for name in wave.boards)
    on = number == state.wave
    return WaveRow(
        name=wave.name,
        stage=_stage(state, number),
        total=len(wave.boards),
        done=sum(phases[phase] for phase in DONE),
        failed=sum(phases[phase] for phase in FAILED),
        phases=dict(sorted(phases.items())),
        left_s=_bake_left(state) if on else None,
    )


def _stage(state: RolloutState, number: int) -> WaveStage:
    if number > state.wave:
        return "waiting"
    halted = state.mode == "aborting" or (state.mode == "finished" and not state.promoted)
    if halted and (number == state.wave or state.scope == "all"):
        return "taken back"
    if number < state.wave or state.promoted:
        return "promoted"
    return "baking" if state.bake_until is not None else "on"


def _bake_left(state: RolloutState) -> int | None:
    if state.bake_until is None or state.promoted or state.mode == "finished":
        return None
    return max(0, state.bake_until - state.t) // 1000


def _board_rows(state: RolloutState) -> Iterable[BoardRow]:
    for planned in state.plan.boards:
        board = state.boards.get(planned.id)
        if board is None:
            refusal = planned.refusal
            yield BoardRow(
                id=planned.id, board_class=planned.board_class, site=planned.site, wave=None,
                phase=None, reason=refusal.message.splitlines()[0] if refusal else None,
                before=planned.before, digest=None, method=None,
            )  # fmt: skip
            continue
        yield BoardRow(
            id=board.id, board_class=board.board_class, site=planned.site,
            wave=state.plan.waves[board.wave].name, phase=board.phase, reason=board.reason,
            before=planned.before, digest=board.digest, method=state.stack(board).method,
            since_s=(state.t - board.since) // 1000,
            message=board.message if board.phase in (*FAILED, *LEFT_OUT) else None,
        )  # fmt: skip
