"""state, policy, now -> what to do next. Pure: the only code that knows waves.

Layer: fleet. Read this first of fleet/. One call looks at the boards that are busy and returns a
few steps; the controller carries them out, journals what came of them, and asks again. Nothing
here talks to a board, reads a clock or changes the state.
"""

from itertools import islice

from speccompose.errors import ExitStatus
from speccompose.fleet.actions import Command, Done, Now, Record, RolloutStep, Wait
from speccompose.fleet.decide_abort import abort_steps
from speccompose.fleet.decide_boards import (
    BATCH,
    end_steps,
    expired,
    new_steps,
    next_due,
    running_steps,
)
from speccompose.fleet.decide_wave import gate_steps, too_many_failures
from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_policy import RolloutPolicy

_MS = 1000


def decide(state: RolloutState, policy: RolloutPolicy, now: Now) -> tuple[RolloutStep, ...]:
    """The next steps; never empty. Records come alone, since they change what follows."""
    if state.mode == "finished":
        return (Done(status=int(state.status or 0)),)
    if state.mode == "paused":
        return (Done(status=int(ExitStatus.PAUSED)),)
    if state.stale:
        return (Command(kind="probe", boards=tuple(islice(state.stale, BATCH))),)
    late = expired(state, now)
    if late:
        return late
    if state.mode == "aborting":
        return abort_steps(state, policy, now)
    return _forward(state, policy, now)


def _forward(state: RolloutState, policy: RolloutPolicy, now: Now) -> tuple[RolloutStep, ...]:
    """A rollout that is going on, or draining before a pause."""
    reason = too_many_failures(state)
    if reason is not None:
        return (aborting(reason),)
    running = (*end_steps(state, policy, now), *running_steps(state, policy, now))
    if state.mode == "pausing":
        return running or _drained(state, policy, now)
    overdue = _overdue(state, policy, now)
    if overdue is not None:
        return (overdue,)
    if state.promoted:
        return gate_steps(state, policy, now)
    new = new_steps(state, policy, now)
    if running or new:
        return (*running, *new)
    if state.active():
        return (Wait(until=next_due(state, policy, now)),)
    return gate_steps(state, policy, now)


def aborting(reason: str) -> Record:
    """The rollout is to stop and to take back what the policy says."""
    return Record(entry=Entry(event="aborting", reason=reason))


def _drained(state: RolloutState, policy: RolloutPolicy, now: Now) -> tuple[RolloutStep, ...]:
    """Nothing runs any more on a board: paused, unless somebody only has to be waited for."""
    if any(True for _ in state.every(("staging", "applying", "unconfirmed", "declining"))):
        return (Wait(until=next_due(state, policy, now)),)
    if state.within("reverting"):
        return (Wait(until=next_due(state, policy, now)),)
    entry = Entry(event="paused", reason=state.reason, status=int(ExitStatus.PAUSED))
    return (Record(entry=entry),)


def _overdue(state: RolloutState, policy: RolloutPolicy, now: Now) -> Record | None:
    """A deadline of the wave or the rollout: it stops, it does not only report.

    Boards that nobody could change all the while (held, outside their window, unreachable) are no
    progress either way: ``expired`` has made them pending, and the gate counts them.
    """
    limits = policy.deadlines
    if now.t - state.opened_at > limits.rollout_s * _MS:
        reason = "rollout_deadline"
    elif state.wave >= 0 and not state.promoted and _wave_late(state, limits.wave_s, now):
        reason = "wave_deadline"
    else:
        return None
    if policy.on_deadline == "pause":
        return Record(entry=Entry(event="pausing", reason=reason))
    return aborting(reason)


def _wave_late(state: RolloutState, wave_s: int, now: Now) -> bool:
    """The bake has its own length and does not count."""
    return (
        state.bake_until is None
        and now.t - state.wave_since > wave_s * _MS
        and bool(state.active())
    )
