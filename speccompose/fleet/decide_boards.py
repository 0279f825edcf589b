"""Which boards of the wave are asked, pushed to, started, confirmed or given up now. Pure.

Layer: fleet, beside decide.py. Limits stand here: how many boards switch at once, how many pull
from one mirror, and how often a board that does not answer is tried.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from speccompose.fleet.actions import Command, CommandKind, Now, Record, RolloutStep
from speccompose.fleet.board_state import BoardState
from speccompose.fleet.phases import POLLED
from speccompose.fleet.rollout_state import RolloutState
from speccompose.fleet.windows import is_open
from speccompose.vocab.rollout_journal import Entry, Phase
from speccompose.vocab.rollout_policy import RolloutPolicy

BATCH: Final = 200
"""Boards of one engine call: results of a large wave come in while the next boards are asked."""

BESIDE: Final = 20
"""Boards of one call while others wait for their confirmation: a call ends with its slowest board,
and a push over a bad network must not outlast the timers of boards that have proved themselves."""

_MS: Final = 1000
_WAITED_FOR: Final[tuple[Phase, ...]] = (*POLLED, "pushing")


def command(kind: CommandKind, boards: Iterable[BoardState], wait_s: float = 0.0) -> Command | None:
    """A call for these boards; None for none."""
    names = tuple([board.id for board in boards])
    return Command(kind=kind, boards=names, wait_s=wait_s) if names else None


def expired(state: RolloutState, now: Now) -> tuple[RolloutStep, ...]:
    """Boards whose deadline has passed, with what that means for them (S16, S17, S27)."""
    found = []
    for number in _waves_on(state):
        for board in state.every(_WAITED_FOR, number):
            if board.until is not None and now.t > board.until:
                found.append(_given_up(board))
    limits = state.policy.deadlines
    if state.mode == "running" and not state.promoted:
        patience = limits.reach_wait_s * _MS
        for board in state.within("unreached").values():
            if now.t > board.since + patience:
                found.append(_line(board, "pending", board.reason))
        if now.t > state.wave_since + limits.wave_s * _MS:
            found += [_line(b, "pending", b.reason) for b in state.within("deferred").values()]
    return tuple(Record(entry=entry) for entry in found)


def _waves_on(state: RolloutState) -> Iterable[int]:
    return range(len(state.waves)) if state.mode == "aborting" else (state.wave,)


def _given_up(board: BoardState) -> Entry:
    """What a passed deadline makes of a board; before the switch nothing was harmed."""
    if board.phase in ("pushing", "staging"):
        if board.misses or board.phase == "pushing":
            return _line(board, "pending", "lost_staging")
        return _line(board, "failed", "stage_timeout")
    if board.phase == "reverting":
        return _line(board, "unreverted", board.reason)
    return _line(board, "failed", "lost" if board.misses else "timeout")


def _line(board: BoardState, phase: Phase, reason: str | None) -> Entry:
    return Entry(event="board", board=board.id, was=board.phase, phase=phase, reason=reason)


def end_steps(state: RolloutState, policy: RolloutPolicy, now: Now) -> tuple[RolloutStep, ...]:
    """Boards that proved themselves are confirmed; those with an objection are taken back."""
    confirm, decline = [], []
    for board in state.within("unconfirmed").values():
        if board.reason is None:
            if _due(board, policy, now):
                confirm.append(board)
            continue
        switched = (board.board_class, board.digest) in state.fallbacks
        if board.reason == "rejected" and _goes_plain(state, policy, board) and not switched:
            return (_without_speculation(board),)
        decline.append(board)
    decline += [board for board in state.faulty.values() if board.phase == "committed"]
    decline += [board for board in _asked_back(state) if _due(board, policy, now)]
    steps = (command("confirm", confirm), command("rollback", decline))
    return tuple(step for step in steps if step is not None)


def _asked_back(state: RolloutState) -> Iterator[BoardState]:
    for number in _waves_on(state):
        yield from state.every(("declining", "reverting"), number)


def _goes_plain(state: RolloutState, policy: RolloutPolicy, board: BoardState) -> bool:
    wanted = policy.on_rejected == "without_speculation"
    return wanted and state.plain(board) is not None


def _without_speculation(board: BoardState) -> Record:
    """The class of this board goes on without speculation (rules section 6)."""
    entry = Entry(
        event="without_speculation",
        board=board.id,
        board_class=board.board_class,
        digest=board.digest,
        reason="rejected",
        evidence=None,
    )
    return Record(entry=entry)


def running_steps(state: RolloutState, policy: RolloutPolicy, now: Now) -> tuple[RolloutStep, ...]:
    """Ask the boards whose unit works on something."""
    phases: tuple[Phase, ...] = ("applying", "staging")
    asked = [board for board in state.every(phases) if _due(board, policy, now)]
    if not asked:
        return ()
    wait_s = min(float(policy.poll_wait_s), _until_next(state, policy, now))
    step = command("poll", asked, wait_s)
    return (step,) if step is not None else ()


def new_steps(state: RolloutState, policy: RolloutPolicy, now: Now) -> tuple[RolloutStep, ...]:
    """Begin with further boards of the wave, as far as the limits allow."""
    if state.bake_until is not None:
        return ()
    closed = [board for board in state.within("staged").values() if not _open(state, board, now)]
    if closed:
        return tuple(Record(entry=_line(board, "deferred", "window")) for board in closed)
    room = max(0, policy.max_parallel - len(state.within("applying")))
    batch = BESIDE if state.count(("applying", "unconfirmed")) else BATCH
    ahead = min(BATCH - state.count(("pushing", "pushed")), batch)
    steps = (
        command("apply", islice(state.within("staged").values(), room)),
        command("stage", _by_mirror(state, policy)),
        command("push", islice(state.within("ready").values(), max(0, ahead))),
        command("probe", islice(_unasked(state, policy, now), batch)),
    )
    return tuple(step for step in steps if step is not None)


def _by_mirror(state: RolloutState, policy: RolloutPolicy) -> Iterator[BoardState]:
    """Boards that may pull now: at most ``max_pulls`` from each site's mirror at once."""
    pulling = Counter(board.planned.site for board in state.within("staging").values())
    for board in state.within("pushed").values():
        if pulling[board.planned.site] < policy.max_pulls:
            pulling[board.planned.site] += 1
            yield board


def _unasked(state: RolloutState, policy: RolloutPolicy, now: Now) -> Iterator[BoardState]:
    """Boards to be probed before anything else; not more than can soon be used."""
    if len(state.within("ready")) < BATCH:
        yield from state.within("waiting").values()
    for board in state.every(("unreached", "deferred")):
        waits = board.reason == "window" and not _open(state, board, now)
        if not waits and now.t - board.touched >= policy.retry_s * _MS:
            yield board


def _open(state: RolloutState, board: BoardState, now: Now) -> bool:
    return is_open(state.plan.windows, board.planned.window, now.wall)


def _due(board: BoardState, policy: RolloutPolicy, now: Now) -> bool:
    """A board that answered may be asked again at once, since it waits itself; one that did not,
    or that a rollback was sent to, only after a while."""
    if board.phase in ("declining", "reverting"):
        return now.t - board.touched >= _pace(board, policy)
    return board.misses == 0 or now.t - board.touched >= _pace(board, policy)


def _pace(board: BoardState, policy: RolloutPolicy) -> int:
    calm = policy.retry_s if board.misses else min(policy.poll_wait_s, policy.retry_s)
    return calm * _MS


def next_due(state: RolloutState, policy: RolloutPolicy, now: Now) -> int:
    """When something is to be done next, at least a little later than now."""
    return now.t + int(max(1.0, _until_next(state, policy, now)) * _MS)


def _until_next(state: RolloutState, policy: RolloutPolicy, now: Now) -> float:
    """Seconds until a board is tried again or a deadline passes, at most half a minute."""
    moments = [now.t + policy.retry_s * _MS]
    for number in _waves_on(state):
        for board in state.every(_WAITED_FOR, number):
            if board.until is not None:
                moments.append(board.until + 1)
            if board.misses or board.phase in ("declining", "reverting"):
                moments.append(board.touched + _pace(board, policy))
    for board in state.every(("unreached", "deferred")):
        moments.append(board.touched + policy.retry_s * _MS)
        if board.phase == "unreached":
            moments.append(board.since + policy.deadlines.reach_wait_s * _MS + 1)
    later = [moment for moment in moments if moment > now.t]
    return (min(later) - now.t) / _MS if later else 1.0
