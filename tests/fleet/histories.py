"""Random rollouts and what must hold in every one: used by the tests and by the bench."""

import random

from speccompose.fleet.phases import ACTIVE, UNSTARTED
from speccompose.fleet.simulated_board import Trouble
from speccompose.fleet.simulator import SimulatedEngine
from speccompose.vocab.rollout_engine import Verdict
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import FleetPlan
from speccompose.vocab.rollout_policy import Deadlines, WaveRule
from tests.fleet.made import NEW, PLAIN, World, plan, policy, stack

MOST_STEPS = 20_000
COMMANDS = ("push", "stage", "apply", "confirm", "rollback")
VERDICTS: tuple[Verdict, ...] = (
    "accepted", "accepted", "accepted", "marginal", "rejected", "inconclusive", "invalid",
)  # fmt: skip


class KilledError(Exception):
    """The controller dies here."""


def random_world(seed: int) -> World:
    """A fleet of two to eight boards with whatever can be wrong with them."""
    dice = random.Random(seed)
    classes = "abc"[: dice.randint(1, 3)]
    canary = [f"{letter}0" for letter in classes]
    others = [f"{dice.choice(classes)}{number}" for number in range(1, dice.randint(2, 6))]
    cut = dice.randint(0, len(others))
    waves = [canary, *(wave for wave in (others[:cut], others[cut:]) if wave)]
    rules = policy(
        waves=(
            WaveRule(name="canary", per_class=1, bake_s=dice.choice((0, 600)), max_failures=0,
                     max_failures_pct=0, min_done_pct=100),
            WaveRule(name="rest", share_pct=100, bake_s=dice.choice((0, 300)),
                     max_failures=dice.randint(0, 2), min_executed=dice.randint(1, 3),
                     min_done_pct=dice.choice((0, 50, 80))),
        ),
        max_parallel=dice.choice((1, 2, 50)),
        max_pulls=dice.choice((1, 10)),
        rollback=dice.choice(("device", "wave", "wave", "all")),
        on_rejected=dice.choice(("without_speculation", "stop")),
        on_deadline=dice.choice(("abort", "pause")),
        strict=dice.random() < 0.2,
        deadlines=Deadlines(wave_s=dice.choice((2_000, 4_000)), reach_wait_s=600),
    )  # fmt: skip
    accept = dice.random() < 0.5
    made = plan(*waves, rules=rules, stacks={
        NEW: stack(accept=accept, fallback=PLAIN if dice.random() < 0.8 else None),
        PLAIN: stack(PLAIN, method="none", depth=0),
    })  # fmt: skip
    names = [name for wave in made.waves for name in wave.boards]
    verdicts = {letter: dice.choice(VERDICTS) for letter in classes}
    troubles = {name: _trouble(dice, verdicts[name[0]]) for name in names}
    return World(made, troubles, seed)


def _trouble(dice: random.Random, verdict: Verdict) -> Trouble:
    made = Trouble(verdicts={NEW: verdict})
    kind = dice.choice(
        (*("",) * 40, "bad", "away", "lost", "slow", "cut", "crash", "low", "flaky",
         "identity", "hold", "unfit", "stuck", "both")
    )  # fmt: skip
    moment = dice.randint(0, 300_000)
    if kind == "bad":
        made.bad = {NEW: "health"}
    elif kind == "both":
        made.bad = {NEW: "health", PLAIN: "image"}
    elif kind == "away":
        made.away = ((0, dice.choice((60_000, 500_000, 10**12))),)
    elif kind == "lost":
        made.away = ((moment, moment + dice.choice((10_000, 400_000, 10**12))),)
    elif kind == "slow":
        made.slow = dice.choice((3.0, 40.0))
    elif kind == "cut":
        made.dies_at = moment
    elif kind == "crash":
        made.restarts_at = moment * 2
    elif kind == "low":
        made.lengths = {NEW: 1.2}
    elif kind == "flaky":
        made.flaky = dice.choice((0.1, 0.6))
    elif kind == "identity":
        made.identity = True
    elif kind == "hold":
        made.hold_until = dice.choice((60_000, 10**12))
    elif kind == "unfit":
        made.unfit = "disk"
    elif kind == "stuck":
        made.stuck, made.bad = True, {NEW: "health"} if dice.random() < 0.5 else {}
    return made


def play(world: World, dice: random.Random, *, kills: bool = True) -> int:
    """One history: the rollout, with kills, pauses, aborts and skips, to an end that stays."""
    names = list(world.journal.state.boards)
    for _ in range(dice.choice((0, 0, 0, 1, 2))):
        world.inbox.append(_request(dice, names))
    status, begun = 0, False
    for attempt in range(14):
        dying = kills and attempt < 10  # the last ones see it through
        controller = world.controller(watcher=_killer(dice, dying))
        try:
            if begun:
                controller.resume()
            else:
                controller.open()
                begun = True
            status = int(controller.run())
        except KilledError:
            begun = bool(world.journal.entries)
            continue
        if status != 11:
            return status
        if dice.random() < 0.5:
            world.inbox.append((lambda world: True, Entry(event="aborting", reason="operator")))
    return status


def _killer(dice: random.Random, kills: bool):  # type: ignore[no-untyped-def]
    left = [dice.randint(1, 60) if kills and dice.random() < 0.5 else MOST_STEPS]

    def watcher(entry: Entry) -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise KilledError

    return watcher


def _request(dice: random.Random, names: list[str]):  # type: ignore[no-untyped-def]
    moment = dice.randint(0, 2_000_000)
    entry = dice.choice(
        (
            Entry(event="pausing", reason="operator"),
            Entry(event="aborting", reason="operator", scope=dice.choice(("wave", "all"))),
            Entry(event="board", board=dice.choice(names), phase="skipped", reason="operator"),
        )
    )
    return (lambda world: world.clock.t >= moment, entry)


def check(world: World, status: int) -> None:
    """The invariants of S3 to S7, S11, S16 to S19, read off the engine's log and the journal."""
    state, entries = world.journal.state, world.journal.entries
    assert status in (0, 10, 11, 13, 14)
    assert (state.mode == "finished") == (status != 11)
    assert world.starts() <= 1, "a board was started twice"
    _check_barrier(world.plan, world.engine, entries)
    if status == 11:
        return
    for number, wave in enumerate(world.plan.waves):
        phases = {state.boards[name].phase for name in wave.boards}
        if number <= state.wave:
            assert not phases & (set(ACTIVE) - {"waiting"}), phases
        else:
            assert phases <= {"waiting", "skipped"}, phases
    serving = world.serving()
    if state.wave == 0 and status in (10, 14):
        canary = set(world.plan.waves[0].boards)
        assert world.touched() <= canary, "a canary failure touched others"
    for name, board in state.boards.items():
        if board.phase in ("committed", "already"):
            assert serving[name] in (NEW, PLAIN), (name, board.phase, board.reason)
        elif board.phase in (*UNSTARTED, "untouched", "reverted", "ineligible"):
            assert serving[name] not in (NEW, PLAIN), (name, board.phase, board.reason)


def _check_barrier(made: FleetPlan, engine: SimulatedEngine, entries: list[Entry]) -> None:
    """No command but a probe for a wave before the wave before it was promoted (S3)."""
    wave_of = {name: number for number, wave in enumerate(made.waves) for name in wave.boards}
    promoted_at = {entry.wave: entry.t for entry in entries if entry.event == "promoted"}
    for call in engine.log:
        wave = wave_of[call.board]
        if wave and call.kind in COMMANDS:
            assert promoted_at.get(wave - 1, MOST_STEPS * 10**9) <= call.t, call
