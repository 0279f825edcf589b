"""S2 to S7, S11, S15 to S18, S22, S23, S27: what a rollout does, played on simulated boards."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from speccompose.errors import ExitStatus
from speccompose.fleet.phases import ACTIVE
from speccompose.fleet.simulated_board import SimulatedBoard, Trouble
from speccompose.fleet.waves import kind_of_board, waves
from speccompose.vocab.fleet import WindowEntry
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import PlannedBoard
from speccompose.vocab.rollout_policy import Deadlines, WaveRule
from tests.fleet.histories import COMMANDS, check, play, random_world
from tests.fleet.made import NEW, OLD, PLAIN, World, plan, policy, stack

BAD = Trouble(bad={NEW: "health"})
GONE = Trouble(away=((0, 10**12),))
names = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 10_000)), min_size=1, max_size=80, unique=True
)
RULES = policy().waves
DEFAULT = (
    WaveRule(name="canary", per_class=1),
    WaveRule(name="5", share_pct=5),
    WaveRule(name="25", share_pct=25),
    WaveRule(name="all", share_pct=100),
)


def boards(drawn):
    return [
        PlannedBoard(id=f"{kind}{n}", address="x", board_class=kind, stack=NEW, tags=(kind,))
        for kind, n in drawn
    ]


@given(names, st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_s02_waves_are_a_partition_that_starts_with_every_class(drawn, seed):
    fleet = boards(drawn)
    made = waves(fleet, DEFAULT, seed)
    placed = [name for wave in made for name in wave.boards]
    assert sorted(placed) == sorted(board.id for board in fleet)
    assert all(wave.boards for wave in made)
    by_name = {board.id: board for board in fleet}
    canary = {kind_of_board(by_name[name]) for name in made[0].boards}
    assert canary == {kind_of_board(board) for board in fleet}
    assert len(made[0].boards) == len(canary)
    shuffled = fleet[:]
    random.Random(seed).shuffle(shuffled)
    assert waves(shuffled, DEFAULT, seed) == made
    sizes = {wave.name: len(wave.boards) for wave in made}
    left = len(fleet) - sizes["canary"]
    assert sizes.get("5", 0) == min(left, -(-len(fleet) // 20))


@given(names, st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_s02_a_board_that_joins_moves_nobody_else(drawn, seed):
    fleet = boards(drawn)
    before = [name for wave in waves(fleet, DEFAULT[-1:], seed) for name in wave.boards]
    later = [*fleet, PlannedBoard(id="z", address="x", board_class="a", stack=NEW)]
    after = [name for wave in waves(later, DEFAULT[-1:], seed) for name in wave.boards]
    order = [name for name in after if name != "z"]
    first_of_classes = 0  # a one-wave plan keeps the order of the seed alone
    assert order[first_of_classes:] == before


def test_s02_named_canaries_are_joined_by_the_classes_they_leave_out():
    fleet = boards([("a", 1), ("a", 2), ("b", 1), ("c", 1)])
    rules = (WaveRule(name="canary", boards=("a2",)), *DEFAULT[1:])
    canary = set(waves(fleet, rules, 0)[0].boards)
    assert "a2" in canary
    assert {name[0] for name in canary} == {"a", "b", "c"}
    assert len(canary) == 3


def test_s02_tags_and_counts_choose_and_the_last_wave_takes_what_is_left():
    fleet = boards([("a", n) for n in range(5)] + [("b", n) for n in range(5)])
    rules = (
        WaveRule(name="canary", per_class=2),
        WaveRule(name="bs", tags=("b",)),
        WaveRule(name="two", count=2),
        WaveRule(name="all", share_pct=100),
    )
    assert [len(wave.boards) for wave in waves(fleet, rules, 0)] == [4, 3, 2, 1]


def test_s02_boards_that_were_refused_are_in_no_wave():
    fleet = [*boards([("a", 1)]), PlannedBoard(id="x", address="x", board_class="b")]
    assert [wave.boards for wave in waves(fleet, DEFAULT, 0)] == [("a1",)]


def test_s03_no_board_of_a_later_wave_gets_a_command_before_promotion():
    world = World(plan("a1 b1", "a2 b2", "a3 a4"))
    assert world.run() == ExitStatus.DONE
    promoted = {e.wave: e.t for e in world.journal.entries if e.event == "promoted"}
    wave_of = {name: n for n, wave in enumerate(world.plan.waves) for name in wave.boards}
    seen = set()
    for call in world.engine.log:
        wave = wave_of[call.board]
        if call.kind in COMMANDS:
            seen.add(wave)
            assert wave == 0 or promoted[wave - 1] <= call.t
    assert seen == {0, 1, 2}


def test_s03_a_canary_failure_touches_exactly_the_canary():
    world = World(plan("a1 b1", "a2 b2 b3"), {"b1": BAD})
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert world.touched() == {"a1", "b1"}
    assert set(world.serving().values()) == {OLD}


def test_s04_a_failure_cuts_nobody_of_its_wave_off():
    wave = "a1 a2 a3 a4 a5"
    world = World(plan("b1", wave), {"a3": BAD, "a5": Trouble(slow=2.0)})
    rules = replace(world.plan.policy, rollback="device")
    world = World(
        replace(world.plan, policy=rules), {"a2": BAD, "a3": BAD, "a5": Trouble(slow=2.0)}
    )
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert not {world.phases[name] for name in wave.split()} & set(ACTIVE)
    assert world.phases["a5"] == "committed"
    assert world.serving()["a5"] == NEW


GATES = [
    ({}, "done", 0),
    ({"a1": BAD}, "failed", 10),
    ({"a1": GONE}, "unreachable", 11),
    ({"a1": Trouble(verdicts={NEW: "inconclusive"})}, "inconclusive", 11),
    ({"a1": Trouble(verdicts={NEW: "invalid"})}, "invalid", 11),
    ({"a1": Trouble(unfit="disk")}, "ineligible", 11),
    ({"a1": Trouble(identity=True)}, "identity", 10),
]


@pytest.mark.parametrize(("troubles", "what", "status"), GATES, ids=[g[1] for g in GATES])
def test_s05_the_gate_has_three_verdicts(troubles, what, status):
    stacks = {NEW: stack(accept=True), PLAIN: stack(PLAIN, method="none")}
    world = World(plan("a1", "a2", stacks=stacks), troubles)
    assert world.run() == status
    if status:
        assert "a2" not in world.touched()


def test_s05_min_done_is_a_count_and_a_share():
    gone = {f"a{n}": GONE for n in (2, 3)}
    world = World(plan("b1", "a1 a2 a3"), gone)
    assert world.run() == ExitStatus.PAUSED
    assert world.journal.state.reason == "1 of 3 done"
    rule = replace(world.plan.policy.waves[1], min_done_pct=30)
    rules = replace(world.plan.policy, waves=(world.plan.policy.waves[0], rule))
    world = World(replace(world.plan, policy=rules), gone)
    assert world.run() == ExitStatus.PENDING


@pytest.mark.parametrize(("count", "status"), [(1, 13), (2, 11)])
def test_s05_min_done_alone_holds_a_wave(count, status):
    rule = replace(RULES[1], min_done=count, min_done_pct=0)
    world = World(plan("b1", "a1 a2", rules=policy(waves=(RULES[0], rule))), {"a2": GONE})
    assert world.run() == status


def test_s05_a_rejected_class_goes_on_without_speculation():
    stacks = {NEW: stack(accept=True), PLAIN: stack(PLAIN, method="none")}
    troubles = {"a1": Trouble(verdicts={NEW: "rejected"})}
    world = World(plan("a1 b1", "a2 b2", stacks=stacks), troubles)
    assert world.run() == ExitStatus.DONE
    assert world.serving() == {"a1": PLAIN, "b1": NEW, "a2": PLAIN, "b2": NEW}
    measured = list(world.engine.boards["a2"].applied)
    assert measured == [("r-test.1", PLAIN)]


@pytest.mark.parametrize(
    ("on_rejected", "fallback"), [("stop", PLAIN), ("without_speculation", None)]
)
def test_s05_a_rejection_stops_the_rollout_by_policy_or_where_nothing_else_plans(
    on_rejected, fallback
):
    stacks = {NEW: stack(accept=True, fallback=fallback), PLAIN: stack(PLAIN)}
    world = World(
        plan("a1", "a2", stacks=stacks, rules=policy(on_rejected=on_rejected)),
        {"a1": Trouble(verdicts={NEW: "rejected"})},
    )
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert world.serving() == {"a1": OLD, "a2": OLD}


def test_s05_marginal_passes_unless_strict():
    stacks = {NEW: stack(accept=True), PLAIN: stack(PLAIN, method="none")}
    troubles = {"a1": Trouble(verdicts={NEW: "marginal"})}
    assert World(plan("a1", stacks=stacks), troubles).run() == ExitStatus.DONE
    strict = World(plan("a1", stacks=stacks, rules=policy(strict=True)), troubles)
    assert strict.run() == ExitStatus.DONE
    assert strict.serving() == {"a1": PLAIN}


def test_s05_only_canaries_measure_and_only_without_a_stored_result():
    for accept in (True, False):
        stacks = {NEW: stack(accept=accept), PLAIN: stack(PLAIN)}
        world = World(plan("a1", "a2", stacks=stacks))
        assert world.run() == ExitStatus.DONE
        verdicts = {name: board.verdict for name, board in world.engine.boards.items()}
        assert verdicts == {"a1": "accepted" if accept else None, "a2": None}


@pytest.mark.parametrize(("length", "phase"), [(2.3, "failed"), (2.5, "committed")])
def test_s05_a_board_accepts_at_least_four_fifths_of_its_canary(length, phase):
    rules = policy(rollback="device")
    world = World(plan("a1", "a2 a3", rules=rules), {"a2": Trouble(lengths={NEW: length})})
    world.run()
    assert world.phases["a2"] == phase
    assert world.phases["a3"] == "committed"


def test_s06_the_count_aborts_at_three_of_a_hundred_and_not_at_two():
    wave = [f"a{n}" for n in range(100)]
    for failing, status in ((2, 13), (3, 10)):
        rule = replace(RULES[1], max_failures=1, max_failures_pct=2)
        rules = policy(waves=(RULES[0], rule), max_parallel=100, max_pulls=100)
        world = World(plan("b1", wave, rules=rules), {f"a{n}": BAD for n in range(failing)})
        assert world.run() == status


def test_s06_a_share_needs_a_minimum_of_finished_boards():
    rule = replace(RULES[1], max_failures=5, failure_share_pct=20, min_done_pct=0, bake_s=0)
    small = World(plan("b1", "a1 a2", rules=policy(waves=(RULES[0], rule))), {"a1": BAD})
    assert small.run() == ExitStatus.PENDING  # 1 of 2 is half, and nothing of meaning
    wave = [f"a{n}" for n in range(10)]
    rules = policy(waves=(RULES[0], rule))
    large = World(plan("b1", wave, rules=rules), {f"a{n}": BAD for n in range(3)})
    assert large.run() == ExitStatus.ROLLOUT_HALTED
    assert "%" in str(large.journal.state.reason)


def test_s06_an_abort_takes_effect_at_the_next_start():
    rules = policy(max_parallel=1, waves=(RULES[0], replace(RULES[1], max_failures=0)))
    world = World(plan("b1", "a1 a2 a3", rules=rules), {"a1": BAD})
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    started = {call.board for call in world.engine.log if call.kind == "apply"}
    assert started == {"b1", "a1"}


def bake_troubles(moment):
    return {
        "restart": Trouble(restarts_at=moment),
        "lost": Trouble(away=((moment, 10**12),)),
        "power cut": Trouble(dies_at=moment, boot_ms=10**12),
    }


@pytest.mark.parametrize("kind", ["restart", "lost", "power cut"])
def test_s07_any_trouble_in_the_bake_is_a_failure(kind):
    world = World(plan("a1", "a2"), {"a1": bake_troubles(700_000)[kind]})
    assert world.run() in (ExitStatus.ROLLOUT_HALTED, ExitStatus.ROLLBACK_INCOMPLETE)
    baking = next(e.t for e in world.journal.entries if e.event == "baking")
    assert baking < 700_000
    assert "a2" not in world.touched()


def test_s07_one_lost_answer_in_the_bake_is_no_failure():
    world = World(plan("a1", "a2"), {"a1": Trouble(away=((715_000, 725_000),))})
    assert world.run() == ExitStatus.DONE
    assert any("a1" in e.boards for e in world.journal.entries if e.event == "missed")


def test_s07_every_board_is_probed_three_times_before_promotion():
    world = World(plan("a1 b1", "a2"))
    world.run()
    begin = next(e.t for e in world.journal.entries if e.event == "baking")
    end = next(e.t for e in world.journal.entries if e.event == "promoted")
    assert end - begin >= 1_800_000
    probes = [c for c in world.engine.log if c.kind == "probe" and begin < c.t <= end]
    for name in ("a1", "b1"):
        assert sum(call.board == name for call in probes) >= 3


def test_s07_the_bake_goes_on_where_a_dead_controller_left_it_whatever_the_clock_says():
    world = World(plan("a1", "a2"))
    controller = world.controller()
    controller.open()
    while not any(entry.event == "baking" for entry in world.journal.entries):
        _one_round(controller)
    begun = world.journal.state.t
    for _ in range(2):
        _one_round(controller)
    left = world.journal.state.bake_until - world.journal.state.t
    world.clock.jump(-(10**7))
    world.clock.sleep(10**6)  # nobody watched meanwhile: it does not count
    assert world.resume() == ExitStatus.DONE
    promoted = next(e.t for e in world.journal.entries if e.event == "promoted")
    assert promoted - begun >= 1_800_000
    assert left > 0


def _one_round(controller):
    from speccompose.fleet.decide import decide

    now = controller._time.now()
    for step in decide(controller.state, controller.state.policy, now):
        controller._carry_out(step)


def scope_world(scope):
    rules = policy(rollback=scope, waves=(RULES[0], replace(RULES[1], max_failures=0)))
    slow = Trouble(slow=3.0, bad={NEW: "health"})
    return World(plan("a1", "a2 a3", rules=rules), {"a3": slow})


@pytest.mark.parametrize(
    ("scope", "serving"),
    [
        ("device", {"a1": NEW, "a2": NEW, "a3": OLD}),
        ("wave", {"a1": NEW, "a2": OLD, "a3": OLD}),
        ("all", {"a1": OLD, "a2": OLD, "a3": OLD}),
    ],
)
def test_s11_an_abort_takes_back_what_the_policy_says(scope, serving):
    world = scope_world(scope)
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert world.serving() == serving


def test_s11_rollbacks_honour_the_cap_of_the_mirror():
    rules = policy(
        max_pulls=2, rollback="wave", waves=(RULES[0], replace(RULES[1], max_failures=0))
    )
    wave = [f"a{n}" for n in range(8)]
    late = Trouble(slow=20.0, bad={NEW: "health"})
    world = World(plan("b1", wave, rules=rules), {"a7": late})
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert high_water(world, "reverting") == 2
    assert set(world.serving().values()) == {OLD, NEW}
    assert world.serving()["a0"] == OLD


def high_water(world, phase):
    inside, most = set(), 0
    for entry in world.journal.entries:
        if entry.event == "board":
            (inside.add if entry.phase == phase else inside.discard)(entry.board)
            most = max(most, len(inside))
    return most


@pytest.mark.parametrize(("parallel", "pulls"), [(1, 1), (3, 2), (2, 5)])
def test_s15_never_more_than_the_limits_at_once(parallel, pulls):
    rules = policy(max_parallel=parallel, max_pulls=pulls)
    wave = [f"a{n}" for n in range(9)]
    world = World(plan("b1", wave, rules=rules))
    assert world.run() == ExitStatus.DONE
    assert high_water(world, "applying") == min(parallel, 9)
    assert high_water(world, "staging") == min(pulls, 9)


def test_s15_pulls_are_counted_per_mirror():
    made = plan("b1", [f"a{n}" for n in range(8)], rules=policy(max_pulls=2))
    sited = tuple(
        replace(board, site=("north", "south")[int(board.id[1]) % 2]) for board in made.boards
    )
    world = World(replace(made, boards=sited))
    assert world.run() == ExitStatus.DONE
    assert high_water(world, "staging") == 4


def test_s16_a_board_that_is_off_is_pending_and_no_failure():
    world = World(plan("b1", "a1 a2 a3 a4 a5"), {"a3": GONE})
    assert world.run() == ExitStatus.PENDING
    assert world.phases["a3"] == "pending"
    assert world.journal.state.failures(1) == 0
    assert "a3" not in world.touched()


def test_s16_a_board_that_comes_within_the_wait_is_no_late_joiner():
    world = World(plan("a1 b1"), {"a1": Trouble(away=((0, 400_000),))})
    assert world.run() == ExitStatus.DONE
    assert world.phases["a1"] == "committed"


def test_s16_half_the_fleet_offline_pauses():
    gone = {f"a{n}": GONE for n in range(0, 10, 2)}
    world = World(plan("b1", [f"a{n}" for n in range(10)]), gone)
    assert world.run() == ExitStatus.PAUSED
    assert world.journal.state.reason == "5 of 10 done"


def test_s17_a_board_lost_after_its_start_has_failed():
    away = Trouble(away=((60_000, 10**12),))
    world = World(plan("a1", "a2"), {"a1": away})
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert (world.phases["a1"], world.reasons["a1"]) == ("failed", "gone")
    lost = [e for e in world.journal.entries if e.board == "a1" and e.reason == "lost"]
    assert lost
    assert world.serving()["a1"] == OLD  # its own timer took it back


def test_s17_what_really_became_of_it_is_written_down_when_it_is_back():
    gone = World(plan("a1", "a2"), {"a1": Trouble(away=((60_000, 10**12),))})
    gone.run()
    lost = next(e.t for e in gone.journal.entries if e.reason == "lost")
    world = World(plan("a1", "a2"), {"a1": Trouble(away=((60_000, lost + 500),))})
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    story = [(e.phase, e.reason) for e in world.journal.entries if e.board == "a1"]
    assert story[-2:] == [("failed", "lost"), ("failed", "confirm_timeout")]


def test_s22_a_pause_lets_what_runs_end_and_starts_nothing_new():
    rules = policy(max_parallel=1)
    world = World(plan("a1", "a2 a3 a4", rules=rules))
    world.inbox.append(
        (lambda w: w.journal.state.wave == 1 and bool(w.journal.state.within("applying")),
         Entry(event="pausing", reason="operator"))
    )  # fmt: skip
    assert world.run() == ExitStatus.PAUSED
    phases = [world.phases[name] for name in ("a2", "a3", "a4")]
    assert phases.count("committed") == 1
    assert "applying" not in phases
    begun = len(world.engine.log)
    assert world.resume() == ExitStatus.DONE
    assert world.starts() == 1
    assert len(world.engine.log) > begun


def test_s22_an_abort_by_hand_takes_the_wave_back():
    world = World(plan("a1", "a2 a3"))
    world.inbox.append(
        (lambda w: w.phases["a2"] == "committed", Entry(event="aborting", reason="operator"))
    )
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert world.serving() == {"a1": NEW, "a2": OLD, "a3": OLD}


def test_s22_a_skipped_board_counts_neither_way():
    world = World(plan("a1 b1", "a2"), {"b1": GONE})
    world.inbox.append(
        (lambda w: w.phases["b1"] == "unreached",
         Entry(event="board", board="b1", phase="skipped", reason="operator"))
    )  # fmt: skip
    assert world.run() == ExitStatus.DONE
    assert world.phases["b1"] == "skipped"


def test_s22_a_board_that_runs_cannot_be_skipped():
    world = World(plan("a1", "a2"))
    world.inbox.append(
        (lambda w: w.phases["a1"] == "applying",
         Entry(event="board", board="a1", phase="skipped", reason="operator"))
    )  # fmt: skip
    assert world.run() == ExitStatus.DONE
    assert world.phases["a1"] == "committed"


def test_s22_a_signal_pauses():
    world = World(plan("a1", "a2"))
    controller = world.controller()
    controller.open()
    controller.request_pause()
    assert controller.run() == ExitStatus.PAUSED
    assert world.journal.state.reason == "interrupted"


NIGHT = WindowEntry(zone="Europe/Berlin", start="22:00", end="04:00")


def test_s23_outside_its_window_a_board_is_deferred_until_it_opens():
    made = plan("a1", "a2", rules=policy(deadlines=Deadlines(wave_s=86_400)))
    boards = tuple(replace(board, window="night") for board in made.boards)
    world = World(replace(made, boards=boards, windows={"night": NIGHT}))
    assert world.run() == ExitStatus.DONE
    opened = next(c.t for c in world.engine.log if c.kind == "push")
    assert opened >= 9 * 3_600_000  # noon UTC is 13:00 there
    assert any(e.reason == "window" and e.phase == "deferred" for e in world.journal.entries)


def test_s23_a_held_board_is_tried_until_the_deadline_of_the_wave():
    short = policy(deadlines=Deadlines(wave_s=3_000))
    freed = World(plan("a1", rules=short), {"a1": Trouble(hold_until=1_000_000)})
    assert freed.run() == ExitStatus.DONE
    held = World(plan("a1 b1", rules=short), {"a1": Trouble(hold_until=10**12)})
    assert held.run() == ExitStatus.PAUSED
    assert (held.phases["a1"], held.reasons["a1"]) == ("pending", "hold")


def test_s23_a_window_that_closes_before_the_switch_defers():
    soon = WindowEntry(zone="UTC", start="11:00", end="12:01")
    made = plan("a1", rules=policy(deadlines=Deadlines(wave_s=500, reach_wait_s=60)))
    boards = tuple(replace(board, window="w") for board in made.boards)
    slow = Trouble(slow=3.0)
    world = World(replace(made, boards=boards, windows={"w": soon}), {"a1": slow})
    assert world.run() == ExitStatus.PAUSED
    assert not world.engine.boards["a1"].applied


def test_s27_a_hanging_phase_ends_at_its_deadline():
    limits = Deadlines(stage_s=500, start_margin_s=0, acceptance_s=60, confirm_s=60, rollback_s=60)
    for slow, reason in ((50.0, "stage_timeout"), (12.0, "timeout")):
        hanging = Trouble(slow=slow)
        world = World(plan("a1", "a2", rules=policy(deadlines=limits)), {"a1": hanging})
        assert world.run() == ExitStatus.ROLLOUT_HALTED
        assert world.reasons["a1"] == reason
        assert "a2" not in world.touched()


def test_s27_a_rollout_that_makes_no_progress_stops_and_does_not_only_report():
    limits = Deadlines(wave_s=100, rollout_s=10**6)
    world = World(plan("a1", "a2", rules=policy(deadlines=limits)))
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert world.journal.state.reason == "wave_deadline"
    pausing = World(plan("a1", "a2", rules=policy(deadlines=limits, on_deadline="pause")))
    assert pausing.run() == ExitStatus.PAUSED
    total = World(plan("a1", "a2", rules=policy(deadlines=Deadlines(rollout_s=100))))
    assert total.run() == ExitStatus.ROLLOUT_HALTED
    assert total.journal.state.reason == "rollout_deadline"


@pytest.mark.parametrize("block", range(10))
def test_a_thousand_random_histories_keep_the_invariants(block):
    for seed in range(block * 100, block * 100 + 100):
        world = random_world(seed)
        check(world, play(world, random.Random(seed + 1)))


def test_s11_what_proves_itself_during_an_abort_is_not_confirmed_first():
    rules = policy(waves=(RULES[0], replace(RULES[1], max_failures=0)))
    bad = Trouble(bad={NEW: "health"}, slow=1.2)
    world = World(plan("b1", "a1 a2", rules=rules), {"a1": bad, "a2": Trouble(slow=1.8)})
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    halted = next(e.t for e in world.journal.entries if e.event == "aborting")
    assert not [c for c in world.engine.log if c.kind == "confirm" and c.t > halted]
    assert world.phases["a2"] == "reverted"


def test_s07_a_board_that_was_away_is_probed_often_enough_before_promotion():
    away = Trouble(away=((700_000, 722_000), (1_300_000, 1_322_000)))
    rules = policy(retry_s=300, lost_after_tries=2)
    world = World(plan("a1", "a2", rules=rules), {"a1": away})
    assert world.run() == ExitStatus.DONE
    begin = next(e.t for e in world.journal.entries if e.event == "baking")
    end = next(e.t for e in world.journal.entries if e.event == "promoted")
    answers = [c for c in world.engine.log if c.kind == "probe" and begin < c.t <= end]
    assert sum(call.board == "a1" for call in answers) >= 3


def test_s07_a_board_that_is_away_at_the_end_of_the_bake_holds_the_promotion():
    world = World(plan("a1", "a2"), {"a1": Trouble(away=((1_850_000, 10**12),))})
    assert world.run() in (ExitStatus.ROLLOUT_HALTED, ExitStatus.ROLLBACK_INCOMPLETE)
    assert "a2" not in world.touched()


def test_s07_a_board_that_fails_in_the_bake_is_taken_back_even_where_one_may_fail():
    crash = Trouble(restarts_at=2_100_000)
    rules = policy(waves=(RULES[0], replace(RULES[1], failure_share_pct=100, min_done_pct=50)))
    world = World(plan("b1", "a1 a2 a3", rules=rules), {"a1": crash})
    assert world.run() == ExitStatus.PENDING
    assert (world.phases["a1"], world.reasons["a1"]) == ("failed", "restarted")
    assert world.serving() == {"b1": NEW, "a1": OLD, "a2": NEW, "a3": NEW}
    asked = [c for c in world.engine.log if c.kind == "rollback" and c.board == "a1"]
    halted = World(plan("b1", "a1 a2 a3", rules=rules), {"a1": crash})
    halted.inbox.append(
        (lambda w: w.phases["a1"] == "failed", Entry(event="aborting", reason="operator"))
    )
    assert halted.run() == ExitStatus.ROLLOUT_HALTED
    again = [c for c in halted.engine.log if c.kind == "rollback" and c.board == "a1"]
    assert len(again) == len(asked)  # it is back already, and is not sent further back


def test_s23_a_board_outside_its_window_is_left_in_peace():
    made = plan("a1", rules=policy(deadlines=Deadlines(wave_s=86_400)))
    boards = tuple(replace(board, window="night") for board in made.boards)
    world = World(replace(made, boards=boards, windows={"night": NIGHT}))
    assert world.run() == ExitStatus.DONE
    pushed = next(c.t for c in world.engine.log if c.kind == "push")
    assert sum(call.kind == "probe" and call.t < pushed for call in world.engine.log) == 2


def test_s06_a_refused_start_is_judged_before_the_next_board_is_told_anything():
    class Refusing(SimulatedBoard):
        def apply(self, call, t):
            return "downgrade"

    rules = policy(max_pulls=1, waves=(RULES[0], replace(RULES[1], max_failures=0)))
    world = World(plan("b1", "a1 a2", rules=rules))
    world.engine.boards = {**world.engine.boards, "a1": Refusing("a1", OLD)}
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert (world.phases["a1"], world.reasons["a1"]) == ("failed", "downgrade")
    assert not [c for c in world.engine.log if c.kind == "stage" and c.board == "a2"]


@given(st.integers(1_000_000, 2**40))
@settings(max_examples=150, deadline=None)
def test_histories_that_nobody_has_seen_keep_them_too(seed):
    world = random_world(seed)
    check(world, play(world, random.Random(seed + 1)))
