"""A wave's gate: too many failures, enough done, the bake, promotion, the end. Pure.

Layer: fleet, beside decide.py. Three verdicts (S5): go on, abort, or pause for a person.
"""

from typing import Final

from speccompose.errors import ExitStatus
from speccompose.fleet.actions import Command, Now, Record, RolloutStep, Wait
from speccompose.fleet.board_state import BoardState
from speccompose.fleet.decide_boards import BATCH, command
from speccompose.fleet.phases import DONE
from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.rollout_journal import Entry, Phase
from speccompose.vocab.rollout_policy import RolloutPolicy, WaveRule

_MS: Final = 1000
_STUCK: Final[tuple[Phase, ...]] = ("stuck", "unreverted")


def allowed_failures(rule: WaveRule, size: int) -> int:
    """How many boards of a wave may fail: the count, or the share of the wave if that is more."""
    return max(rule.max_failures, int(rule.max_failures_pct * size / 100))


def too_many_failures(state: RolloutState) -> str | None:
    """Why the rollout must stop (S6), judged on every result; None while it may go on."""
    if state.wave < 0 or state.promoted:
        return None
    rule, failed = state.rule, state.failures()
    if not failed:
        return None
    allowed = allowed_failures(rule, len(state.plan.waves[state.wave].boards))
    if failed > allowed:
        return f"{failed} failed, {allowed} allowed"
    executed = state.done() + failed
    if executed >= rule.min_executed and 100 * failed > rule.failure_share_pct * executed:
        return f"{failed} of {executed} failed, {rule.failure_share_pct:g} % allowed"
    return None


def gate_steps(state: RolloutState, policy: RolloutPolicy, now: Now) -> tuple[RolloutStep, ...]:
    """Every board of the wave has ended: bake, promote, pause, begin the next wave, or end."""
    if state.promoted:
        following = state.wave + 1
        if following < len(state.plan.waves):
            return (Record(entry=Entry(event="wave", wave=following)),)
        return _finish(state)
    why = _not_enough(state)
    if why is not None:
        return (Record(entry=Entry(event="pausing", wave=state.wave, reason=why)),)
    if state.within("committed") and state.rule.bake_s:
        baking = _bake(state, policy, now)
        if baking:
            return baking
    return (Record(entry=Entry(event="promoted", wave=state.wave, reason="pass")),)


def _not_enough(state: RolloutState) -> str | None:
    """Why a wave that did not fail is no pass either; boards that were skipped do not count."""
    if state.within("inconclusive"):
        return "inconclusive"
    rule, done = state.rule, state.done()
    size = len(state.plan.waves[state.wave].boards) - len(state.within("skipped"))
    if done < min(rule.min_done, size) or 100 * done < rule.min_done_pct * size:
        return f"{done} of {size} done"
    return None


def _bake(state: RolloutState, policy: RolloutPolicy, now: Now) -> tuple[RolloutStep, ...]:
    """Watch the boards of the wave (S7); empty when the bake is over and was seen through."""
    if state.bake_until is None:
        until = now.t + state.rule.bake_s * _MS
        return (Record(entry=Entry(event="baking", wave=state.wave, until=until)),)
    watched = list(state.every(DONE))
    lost = [board for board in watched if board.misses >= policy.lost_after_tries]
    if lost:
        return tuple(Record(entry=_lost(board)) for board in lost)
    step = state.rule.bake_s * _MS // policy.bake_probes
    late = now.t >= state.bake_until
    due = [board for board in watched if _probe_due(board, policy, step, now=now, late=late)]
    asked = command("probe", due[:BATCH])
    if isinstance(asked, Command):
        return (asked,)
    if late and all(board.probes >= policy.bake_probes and not board.misses for board in watched):
        return ()
    return (Wait(until=_next_probe(state, watched, policy, step)),)


def _probe_due(
    board: BoardState, policy: RolloutPolicy, step: int, *, now: Now, late: bool
) -> bool:
    if board.misses:
        return now.t - board.touched >= policy.retry_s * _MS
    if late:
        return board.probes < policy.bake_probes
    return now.t - board.touched >= step


def _next_probe(
    state: RolloutState, watched: list[BoardState], policy: RolloutPolicy, step: int
) -> int:
    pace = policy.retry_s * _MS
    moments = [board.touched + (pace if board.misses else step) for board in watched]
    if not any(board.misses for board in watched):
        moments.append(int(state.bake_until or 0))
    return min(moments)


def _lost(board: BoardState) -> Entry:
    return Entry(event="board", board=board.id, was=board.phase, phase="failed", reason="lost")


def lost_boards(state: RolloutState) -> list[BoardState]:
    """Boards that were lost after their start: before the end they are asked once more (S17)."""
    every = (state.within("failed", number).values() for number in range(len(state.waves)))
    return [board for boards in every for board in boards if board.reason == "lost"]


def _finish(state: RolloutState) -> tuple[RolloutStep, ...]:
    asked = command("probe", lost_boards(state)[:BATCH])
    if asked is not None:
        return (asked,)
    entry = Entry(event="finished", status=int(final_status(state)))
    return (Record(entry=entry),)


def final_status(state: RolloutState) -> ExitStatus:
    """How a rollout that went through ends: the contract's 0, 13 or 14."""
    waves = range(len(state.waves))
    if any(state.count(_STUCK, number) for number in waves):
        return ExitStatus.ROLLBACK_INCOMPLETE
    done = sum(state.count((*DONE, "skipped"), number) for number in waves)
    return ExitStatus.DONE if done == len(state.boards) else ExitStatus.PENDING


def halted_status(state: RolloutState) -> ExitStatus:
    """How a rollout that was taken back ends: 10, or 14 where a board could not be."""
    stuck = any(state.count(_STUCK, number) for number in range(len(state.waves)))
    kept = any(b.committed for n in scope_waves(state) for b in state.every(("failed",), n))
    if stuck or kept:
        return ExitStatus.ROLLBACK_INCOMPLETE
    asked_for = state.reason == "rollback"
    return ExitStatus.DONE if asked_for else ExitStatus.ROLLOUT_HALTED


def scope_waves(state: RolloutState) -> range:
    """Waves that are taken back."""
    if state.scope == "all":
        return range(len(state.waves))
    if state.scope == "wave":
        return range(max(state.wave, 0), state.wave + 1)
    return range(0)
