"""The fleet's timings, printed and never asserted in a test: part of `make bench`.

Budgets of the project: 10,000 boards planned in at most 45 s and 1.5 GiB, 5,000 decisions a
second, a journal of 10,000 boards resumed in at most 2 s, 100,000 random histories without a
broken invariant, and a rollout over 10,000 boards with faults that ends.
"""

import random
import re
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from speccompose.catalog.load import load_catalog
from speccompose.fleet.chain import START, line_of
from speccompose.fleet.decide import decide
from speccompose.fleet.file import read_fleet
from speccompose.fleet.fleet_plan import plan_fleet
from speccompose.fleet.journal import FileJournal
from speccompose.fleet.known import KnownFleet
from speccompose.fleet.policy_file import read_policy
from speccompose.fleet.simulated_board import Trouble
from speccompose.fleet.waves import waves
from speccompose.vocab.rollout_plan import FleetPlan, PlannedBoard
from speccompose.vocab.rollout_policy import RolloutPolicy
from tests.fleet.fleets import PROFILES, ROOT, Pipeline
from tests.fleet.histories import check, play, random_world
from tests.fleet.made import NEW, World, plan

BOARDS = 10_000
CLASSES = ("agx-orin-64-r36.4.3", "agx-orin-64-r39.2.1", "dgx-spark", "agx-orin-32-r36.5.0", "d-05")


def say(what: str, figure: str, budget: str) -> None:
    """One row beside its budget."""
    sys.stdout.write(f"{what:<26} {figure:>22}   (budget {budget})\n")
    sys.stdout.flush()


def write_fleet(folder: Path, count: int) -> Path:
    """A fleet file and facts of boards that all had other memory free."""
    (folder / "facts").mkdir()
    texts = [(ROOT / f"tests/facts/{name}.yaml").read_text() for name in CLASSES]
    dice, rows = random.Random(1), []
    for number in range(count):
        free = dice.randint(4_000_000, 7_000_000)
        text = re.sub(r"MemAvailable: +\d+", f"MemAvailable: {free}", texts[number % len(texts)])
        (folder / f"facts/b{number:05d}.yaml").write_text(text)
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        rows.append(f"  - {{id: b{number:05d}, address: {address}, tags: [press], site: hall}}\n")
    path = folder / "fleet.yaml"
    path.write_text(
        "fleet: 1\nname: big\nsites: {hall: {}}\n"
        "stacks:\n  chat: {model: qwen3.5-9b}\n  small: {model: gemma-4-e2b}\n"
        "deploy: [{stack: small, families: [orin-nano]}, {stack: chat}]\n"
        "changes: {allow_floating: true}\nboards:\n" + "".join(rows)
    )
    return path


def bench_plan() -> None:
    """A fleet of 10,000 boards: read, plan, render, in one process."""
    with tempfile.TemporaryDirectory() as made:
        path = write_fleet(Path(made), BOARDS)
        started = time.perf_counter()
        catalog = load_catalog(ROOT, (), None)
        fleet = read_fleet(path, PROFILES, catalog.devices)
        planner = Pipeline(catalog)
        planned = plan_fleet(fleet, catalog, KnownFleet(), planner).plan
        seconds = time.perf_counter() - started
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    assert sum(len(wave.boards) for wave in planned.waves) == BOARDS
    say("plan 10,000 boards", f"{seconds:.1f} s, {mib} MiB", "45 s, 1,536 MiB")


def big_plan(count: int, policy: RolloutPolicy) -> FleetPlan:
    """10,000 boards of six classes at twenty sites."""
    boards = tuple(
        PlannedBoard(id=f"{'abcdef'[n % 6]}{n}", address="x", board_class="abcdef"[n % 6],
                     site=f"s{n % 20}", stack=NEW)
        for n in range(count)
    )  # fmt: skip
    made = plan("a1", rules=policy)
    return replace(made, boards=boards, waves=waves(boards, policy.waves, 0), policy=policy)


def drawn_troubles(names: list[str], seed: int) -> dict[str, Trouble]:
    """Faults of a large fleet: a few percent of everything, one class with a bad image."""
    dice, troubles = random.Random(seed), {}
    for name in names:
        draw, moment = dice.random(), dice.randint(0, 15_000_000)
        if draw < 0.02:
            troubles[name] = Trouble(away=((0, 10**12),))
        elif draw < 0.03:
            troubles[name] = Trouble(away=((moment, moment + dice.randint(10_000, 900_000)),))
        elif draw < 0.04:
            troubles[name] = Trouble(dies_at=moment)
        elif draw < 0.06:
            troubles[name] = Trouble(flaky=0.1)
        elif draw < 0.07:
            troubles[name] = Trouble(slow=dice.choice((2.0, 4.0)))
        elif draw < 0.072:
            troubles[name] = Trouble(bad={NEW: "health"})
        elif draw < 0.074:
            troubles[name] = Trouble(lengths={NEW: 1.5})
    return troubles


def bench_simulation(policy: RolloutPolicy) -> World:
    """The whole rollout on a virtual clock that jumps."""
    made = big_plan(BOARDS, policy)
    world = World(made, drawn_troubles([board.id for board in made.boards], 1))
    world.clock.jump(-86_400)
    started = time.perf_counter()
    status = world.run()
    seconds = time.perf_counter() - started
    days, lines = world.clock.t / 86_400_000, len(world.journal.entries)
    ended = f"{seconds:.1f} s, status {int(status)}"
    say("simulate 10,000 boards", ended, f"it ends; {days:.1f} days, {lines} lines")
    assert world.starts() == 1
    bad = World(made, {b.id: Trouble(bad={NEW: "image"}) for b in made.boards if b.id[0] == "c"})
    assert bad.run() == 10
    say("a bad image on a class", f"{len(bad.touched())} boards touched", "6: the canary")
    return world


def bench_resume(world: World) -> None:
    """The journal of that rollout, read from disk, checked and folded."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "journal.jsonl"
        head = START
        with path.open("wb") as file:
            for entry in world.journal.entries:
                line, head = line_of(entry, head)
                file.write(line)
        size = path.stat().st_size >> 20
        started = time.perf_counter()
        journal = FileJournal(path, world.plan, "bench")
        seconds = time.perf_counter() - started
        assert journal.state.mode == "finished"
        journal.close()
    say("resume 10,000 boards", f"{seconds:.2f} s, {size} MiB", "2 s")


def bench_decisions(policy: RolloutPolicy) -> None:
    """decide alone: every state of many small rollouts, and of a wave of thousands."""
    calls, spent = 0, 0.0
    for seed in range(60):
        world = random_world(seed)
        controller = world.controller()
        controller.open()
        for _ in range(60):
            now = controller._time.now()
            started = time.perf_counter()
            steps = decide(world.journal.state, world.plan.policy, now)
            spent += time.perf_counter() - started
            calls += 1
            if type(steps[0]).__name__ == "Done":
                break
            for step in steps:
                controller._carry_out(step)
    say("decide", f"{calls / spent:,.0f} a second", "5,000 a second")
    world = World(big_plan(BOARDS, policy))
    calls, steps_made, spent = 0, 0, 0.0
    controller = world.controller()
    controller.open()
    while world.journal.state.wave < 3:
        now = controller._time.now()
        started = time.perf_counter()
        steps = decide(world.journal.state, policy, now)
        spent += time.perf_counter() - started
        calls += 1
        steps_made += sum(len(getattr(step, "boards", ())) or 1 for step in steps)
        for step in steps:
            controller._carry_out(step)
    figure = f"{steps_made / spent:,.0f} a second"
    say("decide, 2,500 in a wave", figure, f"5,000 a second; {1e3 * spent / calls:.1f} ms a call")


def some_histories(block: int) -> tuple[int, float]:
    """A thousand random histories, checked."""
    started = time.perf_counter()
    for seed in range(block * 1000, block * 1000 + 1000):
        world = random_world(seed)
        try:
            check(world, play(world, random.Random(seed + 1)))
        except AssertionError as error:
            raise AssertionError(f"history {seed}: {error}") from error
    return 1000, time.perf_counter() - started


def bench_histories(thousands: int = 100) -> None:
    """The invariants on 100,000 random histories, on two cores."""
    started = time.perf_counter()
    with ProcessPoolExecutor(2) as pool:
        total = sum(count for count, _ in pool.map(some_histories, range(thousands)))
    seconds = time.perf_counter() - started
    say("random histories", f"{total:,} in {seconds:.0f} s", "100,000, none broken")


def main() -> None:
    """Every figure of the fleet."""
    policy = read_policy("default", PROFILES)
    bench_plan()
    bench_decisions(policy)
    bench_resume(bench_simulation(policy))
    bench_histories(int(sys.argv[1]) if len(sys.argv) > 1 else 100)


if __name__ == "__main__":
    main()
