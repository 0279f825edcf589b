"""Busy is not dead, deadlocked is; restarts end; a person's stop is a person's stop."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.device.watch_decision import (
    BUSY,
    DEAD,
    GIVE_UP,
    HOUR_S,
    LEFT,
    NO_TOKEN,
    NOT_ASKED,
    NOTHING,
    REFUSED,
    RESTART,
    SERVING,
    STARTING,
    SUSPECT,
    TOKEN,
    Memory,
    Rules,
    Seen,
    judge,
    needs_token,
)
from speccompose.device.watch_metrics import UNKNOWN, Activity

RULES = Rules(start_deadline_s=600.0)
NEW = Memory()
IDLE = Activity(0.0, 100.0, 50.0)
UP = Seen(at_s=1000.0, start="c@1", status="running", health=200, activity=IDLE, token=TOKEN)
GONE = Seen(at_s=1000.0, start="c@1", status="exited", why_ended="it ended (exit status 1)")


def busy(progress: float, token: str = NO_TOKEN, at_s: float = 1000.0) -> Seen:
    return UP._replace(at_s=at_s, activity=Activity(3.0, progress, progress), token=token)


def after(*looks: Seen, memory: Memory = NEW, rules: Rules = RULES):
    """The judgement of the last of several looks."""
    for seen in looks:
        judged = judge(memory, seen, rules)
        memory = judged.memory
    return judged


def minutes(seen: Seen, count: int) -> list[Seen]:
    return [seen._replace(at_s=seen.at_s + 60.0 * number) for number in range(count)]


def test_a_token_is_life():
    judged = after(UP)
    assert (judged.state, judged.action) == (SERVING, NOTHING)
    assert judged.memory.token_at_s == 1000.0


def test_busy_is_not_dead_however_long_no_token_comes():
    looks = [busy(100.0 + number, at_s=1000.0 + 60 * number) for number in range(200)]
    judged = after(*looks)
    assert (judged.state, judged.action) == (BUSY, NOTHING)


def test_deadlocked_with_health_200_is_dead_after_three_looks():
    """H-03: requests run, counters are frozen, /health says 200, one token does not come."""
    states = [after(UP, *minutes(busy(100.0), n)).state for n in (1, 2, 3)]
    assert states == [SUSPECT, SUSPECT, DEAD]
    judged = after(UP, *minutes(busy(100.0), 3))
    assert judged.action == RESTART
    assert "3 requests run, no counter advances" in judged.reason


def test_one_advance_is_enough_to_begin_counting_anew():
    looks = [busy(100.0), busy(100.0), busy(101.0), busy(101.0), busy(101.0)]
    assert after(UP, *looks).state == SUSPECT


def test_tokens_of_others_that_come_meanwhile_are_life():
    moved = busy(100.0)._replace(later=Activity(3.0, 140.0, 140.0))
    judged = after(UP, *minutes(moved, 5))
    assert (judged.state, judged.memory.progress) == (BUSY, 140.0)


def test_what_our_own_request_moves_is_no_life():
    """Prompts are read, nothing is ever generated: our own prompt is the only progress there is."""
    looks, read = [], 100.0
    for number in range(3):
        before, later = Activity(2.0, read, 50.0), Activity(3.0, read + 40, 50.0)
        looks.append(UP._replace(at_s=1060.0 + 60 * number, activity=before, later=later,
                                 token=NO_TOKEN))  # fmt: skip
        read += 40
    assert after(UP, *looks).action == RESTART


def test_an_idle_engine_that_gives_no_token_is_dead_too():
    silent = UP._replace(token=NO_TOKEN)
    assert after(UP, *minutes(silent, 3)).action == RESTART


def test_without_counters_a_queue_could_look_the_same_so_it_takes_longer():
    blind = UP._replace(activity=UNKNOWN, token=NO_TOKEN)
    assert after(UP, *minutes(blind, 4)).action == NOTHING
    assert after(UP, *minutes(blind, 5)).action == RESTART


def test_a_refused_request_is_an_answer():
    judged = after(UP, *minutes(UP._replace(token=REFUSED), 9))
    assert (judged.state, judged.action) == (SERVING, NOTHING)
    assert "refuses" in judged.reason


@pytest.mark.parametrize("health", [0, 500, 503])
def test_unhealthy_after_it_was_ready_is_dead_after_three_looks(health):
    sick = UP._replace(health=health, token=NOT_ASKED)
    assert after(UP, *minutes(sick, 2)).state == SUSPECT
    assert after(UP, *minutes(sick, 3)).action == RESTART


def test_a_start_has_its_whole_deadline():
    loading = UP._replace(health=503, token=NOT_ASKED)
    assert after(*minutes(loading, 10)).state == STARTING
    judged = after(*minutes(loading, 13))
    assert (judged.state, judged.action) == (DEAD, RESTART)


@pytest.mark.parametrize("status", ["restarting", "created", "removing"])
def test_docker_at_work_is_left_to_it(status):
    assert after(GONE._replace(status=status)).state == STARTING


def test_a_dead_process_is_restarted_at_once_and_a_missing_container_too():
    assert after(UP, GONE).action == RESTART
    assert after(UP, Seen(at_s=1060.0)).action == RESTART


def test_dockers_own_restarts_count():
    """on-failure:3 has been used up: three more would be six."""
    crashed = [UP._replace(start=f"c@{n}", docker_restarts=n, token=NOT_ASKED, health=503)
               for n in range(4)]  # fmt: skip
    judged = after(*crashed, GONE._replace(start="c@4", docker_restarts=3))
    assert judged.action == GIVE_UP
    assert "3 restarts" in judged.reason


def test_b_04_what_crashes_four_times_an_hour_stays_down_though_it_served_in_between():
    """Each start may cost a board memory that does not come back until it is cold."""
    memory, actions = Memory(), []
    for number in range(4):
        alive = UP._replace(at_s=1000.0 + 600 * number, start=f"c{number}@1")
        dead = GONE._replace(at_s=alive.at_s + 300, start=alive.start)
        judged = after(alive, dead, memory=memory)
        memory = judged.memory
        actions.append(judged.action)
    assert actions == [RESTART, RESTART, RESTART, GIVE_UP]
    assert "within an hour" in judged.reason


def test_a_crash_now_and_then_is_restarted_for_ever():
    memory, restarts = Memory(), 0
    for hour in range(30):
        alive = UP._replace(at_s=hour * HOUR_S, start=f"c{hour}@1")
        dead = GONE._replace(at_s=hour * HOUR_S + 1800, start=f"c{hour}@1")
        judged = after(alive, dead, memory=memory)
        memory, restarts = judged.memory, restarts + (judged.action == RESTART)
    assert restarts == 30


@pytest.mark.parametrize("deadline_s", [60.0, 600.0, 1800.0, 7200.0])
def test_starts_that_never_succeed_end_however_long_each_takes(deadline_s):
    """Three starts of half an hour are never three in an hour; they end all the same."""
    rules, memory, actions = Rules(deadline_s), Memory(), []
    at_s, start = 0.0, 0
    for _ in range(10000):
        seen = Seen(at_s=at_s, start=f"c{start}@1", status="running", health=503)
        judged = judge(memory, seen, rules)
        memory, at_s = judged.memory, at_s + 60.0
        if judged.action == RESTART:
            start += 1
        if judged.action != NOTHING:
            actions.append(judged.action)
        if judged.action == GIVE_UP:
            break
    assert actions == [RESTART, RESTART, RESTART, GIVE_UP]


@pytest.mark.parametrize(
    "person",
    [
        {"unit": "inactive"},
        {"by_hand": True},
        {"status": "paused"},
        {"unit": "activating"},
        {"unit": "deactivating"},
    ],
)
def test_what_a_person_or_systemd_does_is_left_alone(person):
    judged = after(UP, *minutes(GONE._replace(**person), 20))
    assert (judged.state, judged.action) == (LEFT, NOTHING)


def test_dockers_events_are_forgotten_but_a_persons_stop_is_not():
    forgotten = GONE._replace(by_hand=False)
    judged = after(UP, GONE._replace(by_hand=True), *minutes(forgotten, 5))
    assert judged.state == LEFT
    again = after(UP._replace(start="c@2"), forgotten._replace(start="c@2"), memory=judged.memory)
    assert again.action == RESTART


def test_when_systemd_has_given_up_so_do_we_unless_it_serves():
    assert after(UP, GONE._replace(unit="failed")).action == GIVE_UP
    assert after(UP._replace(unit="failed")).state == SERVING


def test_who_is_asked_for_a_token():
    known = after(UP).memory
    later = UP._replace(at_s=1060.0, token=NOT_ASKED)
    assert not needs_token(known, later, RULES)
    assert needs_token(known, later._replace(at_s=1300.0), RULES)
    assert needs_token(Memory(), later, RULES)
    assert needs_token(known, later._replace(start="c@2"), RULES)
    assert not needs_token(known, later._replace(activity=Activity(3.0, 101.0, 1.0)), RULES)
    assert needs_token(known, later._replace(activity=Activity(3.0, 100.0, 1.0)), RULES)
    assert needs_token(known, later._replace(activity=UNKNOWN), RULES)
    assert needs_token(known._replace(strikes=1), later, RULES)
    for other in ({"health": 503}, {"status": "exited"}, {"unit": "inactive"}):
        assert not needs_token(Memory(), later._replace(**other), RULES)


LOOKS = st.builds(
    Seen,
    at_s=st.just(0.0),
    start=st.sampled_from(["", "a@1", "a@2", "b@1"]),
    status=st.sampled_from(["", "running", "exited", "restarting", "paused", "dead"]),
    docker_restarts=st.integers(0, 4),
    by_hand=st.booleans(),
    unit=st.sampled_from([None, "active", "inactive", "failed", "activating"]),
    health=st.sampled_from([0, 200, 503]),
    activity=st.builds(
        Activity,
        requests=st.sampled_from([None, 0.0, 2.0]),
        progress=st.sampled_from([None, 1.0, 2.0, 3.0]),
        generated=st.none(),
    ),
    token=st.sampled_from([TOKEN, NO_TOKEN, REFUSED, NOT_ASKED]),
    later=st.builds(
        Activity, st.none(), st.sampled_from([None, 3.0, 4.0]), st.sampled_from([None, 1.0, 2.0])
    ),
)
HISTORIES = st.lists(st.tuples(LOOKS, st.floats(1.0, 4000.0)), min_size=1, max_size=30)


@settings(max_examples=100, deadline=None)
@given(HISTORIES)
def test_no_history_restarts_more_than_three_times_an_hour_or_against_a_person(history):
    memory, at_s, restarts = Memory(), 0.0, []
    for seen, gap_s in history:
        at_s += gap_s
        seen = seen._replace(at_s=at_s)
        judged = judge(memory, seen, RULES)
        if judged.action == RESTART:
            restarts.append(at_s)
            assert seen.unit not in ("inactive", "activating", "failed")
            # The stop that docker tells of may be our own, of a restart that came to nothing.
            assert memory.restarting or not (seen.by_hand and seen.status != "running")
            assert seen.status != "paused"
            assert seen.token != TOKEN or seen.status != "running" or seen.health != 200
        assert len([moment for moment in restarts if at_s - moment < HOUR_S]) <= RULES.restarts
        assert len(judged.memory.restarts) <= RULES.restarts + 4 * len(history)
        memory = judged.memory


@settings(max_examples=60, deadline=None)
@given(HISTORIES)
def test_whatever_was_before_a_token_makes_it_serve(history):
    memory, at_s = Memory(), 0.0
    for seen, gap_s in history:
        at_s += gap_s
        memory = judge(memory, seen._replace(at_s=at_s), RULES).memory
    judged = judge(memory, UP._replace(at_s=at_s + 1), RULES)
    assert (judged.state, judged.action, judged.memory.strikes) == (SERVING, NOTHING, 0)


@settings(max_examples=60, deadline=None)
@given(HISTORIES)
def test_whatever_was_before_a_dead_stack_is_given_up_in_the_end(history):
    memory, at_s = Memory(), 0.0
    for seen, gap_s in history:
        at_s += gap_s
        memory = judge(memory, seen._replace(at_s=at_s), RULES).memory
    for number in range(20):
        at_s += 60.0
        seen = Seen(at_s=at_s, start=f"z{number}@1", status="exited", unit="active")
        judged = judge(memory, seen, RULES)
        memory = judged.memory
        if judged.action == GIVE_UP:
            return
    raise AssertionError(f"still restarting: {memory}")
