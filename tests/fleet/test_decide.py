"""decide is pure, never silent, and its figures are the policy's."""

import copy
import random

import pytest
from msgspec.structs import replace

from speccompose.fleet.actions import Command, Done, Now, Record, Wait
from speccompose.fleet.board_state import BoardState
from speccompose.fleet.decide import decide
from speccompose.fleet.decide_abort import abort_steps
from speccompose.fleet.decide_boards import BATCH, expired, new_steps, next_due
from speccompose.fleet.decide_wave import allowed_failures, too_many_failures
from speccompose.fleet.engine import Engine
from speccompose.fleet.phases import ACTIVE, DONE, FAILED, LEFT_OUT
from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.rollout_journal import Entry, Phase
from speccompose.vocab.rollout_policy import WaveRule
from tests.fleet.histories import random_world
from tests.fleet.made import World, plan, policy

WALL = 1_800_000_000.0


def begun(*waves, **changes) -> RolloutState:
    state = RolloutState(plan(*waves, **changes))
    state.apply(Entry(event="opened"))
    state.apply(Entry(event="wave", wave=0))
    return state


def moved(state: RolloutState, phase: Phase, *names: str, **fields) -> None:
    for name in names:
        state.apply(Entry(event="board", board=name, phase=phase, **fields))


def at(t=0) -> Now:
    return Now(t=t, wall=WALL)


def picture(state: RolloutState):
    boards = [
        tuple(copy.copy(getattr(board, name)) for name in BoardState.__slots__)
        for board in state.boards.values()
    ]
    return (
        boards,
        state.mode,
        state.wave,
        state.t,
        [{phase: list(inside) for phase, inside in wave.items()} for wave in state.waves],
    )


@pytest.mark.parametrize("seed", range(40))
def test_decide_changes_nothing_and_always_says_something(seed):
    world = random_world(seed)
    controller = world.controller()
    controller.open()
    dice = random.Random(seed)
    for _ in range(60):
        now = controller._time.now()
        before = picture(world.journal.state)
        steps = decide(world.journal.state, world.plan.policy, now)
        assert picture(world.journal.state) == before
        assert decide(world.journal.state, world.plan.policy, now) == steps
        assert steps
        if isinstance(steps[0], Done):
            break
        asked = [name for step in steps if isinstance(step, Command) for name in step.boards]
        assert len(asked) == len(set(asked)), "a board is in two calls of one round"
        assert all(step.until > now.t for step in steps if isinstance(step, Wait))
        for step in steps[: dice.randint(1, len(steps))]:
            controller._carry_out(step)


def test_every_phase_is_either_active_or_an_end():
    import typing

    ends = {*DONE, *FAILED, *LEFT_OUT, "reverted"}
    assert ends | set(ACTIVE) == set(typing.get_args(Phase))
    assert not ends & set(ACTIVE)


@pytest.mark.parametrize(
    ("rule", "size", "allowed"),
    [
        ({"max_failures": 0, "max_failures_pct": 0}, 3, 0),
        ({}, 2, 1),
        ({}, 100, 2),
        ({}, 149, 2),
        ({}, 150, 3),
        ({"max_failures": 5}, 100, 5),
        ({"max_failures_pct": 10}, 1000, 100),
    ],
)
def test_failures_are_allowed_by_count_or_share(rule, size, allowed):
    assert allowed_failures(WaveRule(name="w", count=1, **rule), size) == allowed


def test_a_fault_whose_rollback_is_to_come_counts_once():
    state = begun("a1 b1")
    moved(state, "committed", "a1", "b1")
    moved(state, "committed", "a1", fault=True, reason="restarted")
    assert state.failures() == 1
    assert too_many_failures(state) == "1 failed, 0 allowed"
    moved(state, "reverting", "a1", fault=True)
    assert state.failures() == 1
    moved(state, "failed", "a1", reason="restarted")
    assert state.failures() == 1


def test_large_waves_are_asked_in_batches():
    state = begun([f"a{n}" for n in range(1000)])
    (step,) = new_steps(state, state.policy, at())
    assert isinstance(step, Command)
    assert (step.kind, len(step.boards)) == ("probe", BATCH)


def test_deadlines_end_phases():
    state = begun("a1 a2 a3")
    moved(state, "applying", "a1", until=100)
    moved(state, "staging", "a2", until=100)
    moved(state, "reverting", "a3", until=100)
    assert expired(state, at(100)) == ()
    found = {step.entry.board: step.entry.phase for step in expired(state, at(101))}  # type: ignore[union-attr]
    assert found == {"a1": "failed", "a2": "failed", "a3": "unreverted"}


def test_an_abort_of_an_untouched_wave_is_over_at_once():
    state = begun("a1", "a2")
    state.apply(Entry(event="aborting", reason="operator"))
    (step,) = abort_steps(state, state.policy, at())
    assert isinstance(step, Record)
    assert (step.entry.event, step.entry.status) == ("finished", 10)
    state.apply(step.entry)
    assert {board.phase for board in state.boards.values()} == {"untouched", "waiting"}


@pytest.mark.parametrize("scope", ["device", "wave", "all"])
def test_an_abort_asks_a_faulty_board_back_once(scope):
    state = begun("a1 b1")
    moved(state, "committed", "a1", "b1")
    moved(state, "committed", "a1", fault=True, reason="restarted")
    state.apply(Entry(event="aborting", reason="x", scope=scope))
    steps = abort_steps(state, state.policy, at())
    asked = [name for step in steps if isinstance(step, Command) for name in step.boards]
    assert sorted(asked) == (["a1"] if scope == "device" else ["a1", "b1"])


def test_nothing_is_due_before_a_moment_in_the_future():
    state = begun("a1")
    moved(state, "unreached", "a1", t=0)
    assert next_due(state, state.policy, at(0)) > 0


def test_a_rollout_without_boards_left_ends():
    world = World(plan("a1", rules=replace(policy())))
    assert world.run() == 0


def test_the_simulator_is_an_engine():
    engine: Engine = World(plan("a1")).engine
    assert list(engine.probe([])) == []
