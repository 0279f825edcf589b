"""What was seen of a stack, and what is remembered of it, become what is done.

Layer: device (standard library, Python 3.8). Pure: ``judge(memory, seen, rules)``. Busy is not
dead: an engine whose counters advance is left alone however long its answers take. Dead is: its
process has ended, it does not get ready by its deadline, or (H-03) several looks in a row without
any progress and without a token, whatever /health says. A dead stack is restarted, three times an
hour at most, then given up. What a person has stopped is never started.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from speccompose.device.watch_metrics import UNKNOWN, Activity

# What is so.
SERVING = "serving"
BUSY = "busy"
STARTING = "starting"
SUSPECT = "suspect"
DEAD = "dead"
LEFT = "left"

# What is done.
NOTHING = "nothing"
RESTART = "restart"
GIVE_UP = "give_up"

# How a request for one token ended.
TOKEN = "token"
NO_TOKEN = "no_token"
REFUSED = "refused"
NOT_ASKED = "not_asked"

HOUR_S = 3600.0


class Rules(NamedTuple):
    """Rules section 5: restarts are bounded. Times in seconds.

    ``restarts`` in an hour, and as many in a row after none of which it served: starts that take
    half an hour each would never be three in an hour. ``strikes``: looks in a row that make a
    running engine dead; ``blind_strikes`` where it shows no counters, so that a queue cannot be
    told from a deadlock. ``token_s``: how long a look waits for one token.
    """

    start_deadline_s: float
    restarts: int = 3
    strikes: int = 3
    blind_strikes: int = 5
    idle_token_every_s: float = 300.0
    token_s: float = 60.0


class Seen(NamedTuple):
    """One look. ``at_s`` is seconds since boot; ``start`` names one start of one container.

    ``unit`` is the state of the stack's systemd unit, None where there is none. ``by_hand``: a
    person stopped the container with docker (which forgets that; the memory does not). ``later``
    is what the engine says after it was asked for a token.
    """

    at_s: float
    start: str = ""
    status: str = ""
    docker_restarts: int = 0
    why_ended: str = ""
    by_hand: bool = False
    unit: Optional[str] = None
    health: int = 0
    activity: Activity = UNKNOWN
    token: str = NOT_ASKED
    later: Activity = UNKNOWN


class Memory(NamedTuple):
    """What one look leaves for the next.

    ``restarts`` are moments of the last hour at which the stack was started again, by docker or by
    us; ``in_vain`` counts those since it last served. ``restarting``: we are at it, and the stop
    that docker tells of is ours; it holds until a new start is seen, because the pass that stopped
    the container may have been killed, or failed, before it started it again.
    """

    start: str = ""
    first_seen_s: float = 0.0
    was_ready: bool = False
    progress: Optional[float] = None
    token_at_s: Optional[float] = None
    strikes: int = 0
    docker_restarts: int = 0
    restarts: Tuple[float, ...] = ()
    in_vain: int = 0
    by_hand: bool = False
    restarting: bool = False


class Judged(NamedTuple):
    """What is so, what is done about it, why, and what to remember."""

    state: str
    action: str
    reason: str
    memory: Memory


def judge(memory: Memory, seen: Seen, rules: Rules) -> Judged:
    """The whole decision."""
    memory = _remember(memory, seen)
    left = _left_alone(memory, seen)
    if left is not None:
        return Judged(LEFT, NOTHING, left, memory._replace(strikes=0))
    if seen.status != "running":
        return _not_running(memory, seen, rules)
    if seen.health != 200:
        return _not_ready(memory, seen, rules)
    if seen.token == TOKEN or advanced(memory, seen.activity) or _generated(seen):
        state = SERVING if seen.token == TOKEN or not seen.activity.requests else BUSY
        token_at_s = seen.at_s if seen.token == TOKEN else memory.token_at_s
        known = _alive(memory, seen)._replace(token_at_s=token_at_s, in_vain=0)
        return Judged(state, NOTHING, "", known)
    if seen.token in (NOT_ASKED, REFUSED):
        said = "it answers, but refuses our request" if seen.token == REFUSED else ""
        return Judged(SERVING, NOTHING, said, _alive(memory, seen))
    return _no_token(memory, seen, rules)


def needs_token(memory: Memory, seen: Seen, rules: Rules) -> bool:
    """Whether this look has to ask for a token: not of an engine that is seen to work, and of an
    idle one only now and then."""
    if seen.status != "running" or seen.health != 200 or _left_alone(memory, seen):
        return False
    if memory.start != seen.start or memory.strikes or memory.token_at_s is None:
        return True
    if seen.activity.requests is None or seen.activity.progress is None:
        return True
    if seen.activity.requests > 0:
        return not advanced(memory, seen.activity)
    return seen.at_s - memory.token_at_s >= rules.idle_token_every_s


def advanced(memory: Memory, activity: Activity) -> bool:
    """Whether the engine has done something since the last look at this start of it."""
    if memory.progress is None or activity.progress is None:
        return False
    return activity.progress > memory.progress


def _generated(seen: Seen) -> bool:
    """Whether somebody else's tokens came while ours did not. What our own request may have moved
    without a token (its prompt was read) is no sign of life."""
    before, after = seen.activity.generated, seen.later.generated
    return before is not None and after is not None and after > before


def _progress(seen: Seen) -> Optional[float]:
    """Where the next look counts from: what our own request did is in it."""
    return seen.activity.progress if seen.later.progress is None else seen.later.progress


def _alive(memory: Memory, seen: Seen) -> Memory:
    return memory._replace(was_ready=True, strikes=0, progress=_progress(seen), restarting=False)


def _remember(memory: Memory, seen: Seen) -> Memory:
    """Count docker's own restarts, forget old ones, and begin anew with a new start."""
    restarts = [at for at in memory.restarts if seen.at_s - at < HOUR_S]
    same_container = memory.start.split("@")[0] == seen.start.split("@")[0]
    by_docker = 0
    if same_container and memory.start:
        by_docker = max(0, seen.docker_restarts - memory.docker_restarts)
    fresh = Memory(start=seen.start, first_seen_s=seen.at_s)
    known = memory if memory.start == seen.start else fresh
    half_done = memory.restarting and (memory.start == seen.start or seen.status == "created")
    stopped = seen.status != "running" and not half_done
    return known._replace(
        docker_restarts=seen.docker_restarts,
        restarts=tuple(restarts) + (seen.at_s,) * by_docker,
        in_vain=memory.in_vain + by_docker,
        by_hand=stopped and (known.by_hand or seen.by_hand),
        restarting=half_done,
    )


def _left_alone(memory: Memory, seen: Seen) -> Optional[str]:
    """Why a stack is none of our business right now."""
    if seen.unit in ("activating", "deactivating", "reloading"):
        return f"systemd is at it ({seen.unit})"
    if seen.unit == "inactive":
        return "a person has stopped its unit"
    if memory.by_hand:
        return "a person has stopped its container"
    if seen.status == "paused":
        return "a person has paused its container"
    return None


def _not_running(memory: Memory, seen: Seen, rules: Rules) -> Judged:
    docker_is_at_it = seen.status in ("restarting", "created", "removing")
    if docker_is_at_it and not (memory.restarting and seen.status == "created"):
        return Judged(STARTING, NOTHING, f"docker is at it ({seen.status})", memory)
    why = seen.why_ended or (f"its container is {seen.status}" if seen.status else "no container")
    return _dead(memory, seen, rules, why)


def _not_ready(memory: Memory, seen: Seen, rules: Rules) -> Judged:
    age_s = seen.at_s - memory.first_seen_s
    if not memory.was_ready and age_s < rules.start_deadline_s:
        return Judged(STARTING, NOTHING, f"not ready yet (health {seen.health})", memory)
    said = f"status {seen.health}" if seen.health else "no answer"
    why = f"not healthy ({said})" if memory.was_ready else f"not ready after {age_s:.0f} s ({said})"
    return _strike(memory, seen, rules, why)


def _no_token(memory: Memory, seen: Seen, rules: Rules) -> Judged:
    requests = seen.activity.requests
    if requests:
        why = f"{requests:.0f} requests run, no counter advances, and one token does not come"
    else:
        why = "it is idle, and one token does not come"
    memory = memory._replace(was_ready=True, progress=_progress(seen))
    return _strike(memory, seen, rules, f"/health says 200, but {why}")


def _strike(memory: Memory, seen: Seen, rules: Rules, why: str) -> Judged:
    known = memory._replace(strikes=memory.strikes + 1)
    blind = seen.health == 200 and seen.activity.progress is None
    limit = rules.blind_strikes if blind else rules.strikes
    if known.strikes < limit:
        return Judged(SUSPECT, NOTHING, f"{why} ({known.strikes} of {limit} looks)", known)
    return _dead(known, seen, rules, f"{why}, in {known.strikes} looks")


def _dead(memory: Memory, seen: Seen, rules: Rules, why: str) -> Judged:
    if seen.unit == "failed":
        return Judged(DEAD, GIVE_UP, f"{why}; systemd has given up starting it", memory)
    if memory.in_vain >= rules.restarts:
        return Judged(DEAD, GIVE_UP, f"{why}; {memory.in_vain} restarts were in vain", memory)
    if len(memory.restarts) >= rules.restarts:
        within = f"{len(memory.restarts)} restarts within an hour"
        return Judged(DEAD, GIVE_UP, f"{why}; {within} did not help", memory)
    again = (*memory.restarts, seen.at_s)
    known = memory._replace(restarts=again, in_vain=memory.in_vain + 1, strikes=0)
    known = known._replace(restarting=True)
    return Judged(DEAD, RESTART, why, known)
