"""Small fleets for tests: plans without a catalog, boards without hardware."""

import datetime
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from speccompose.errors import ExitStatus
from speccompose.fleet.controller import Controller
from speccompose.fleet.journal import MemoryJournal
from speccompose.fleet.simulated_board import SimulatedBoard, Trouble
from speccompose.fleet.simulator import SimulatedEngine, VirtualClock
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import FleetPlan, PlannedBoard, PlannedStack, PlannedWave
from speccompose.vocab.rollout_policy import Deadlines, RolloutPolicy, WaveRule

NEW, PLAIN, OLD = "sha256:new", "sha256:plain", "sha256:old"


def policy(**changes: Any) -> RolloutPolicy:
    made = RolloutPolicy(
        id="test",
        source="a test",
        checked=datetime.date(2026, 11, 30),
        waves=(
            WaveRule(
                name="canary", per_class=1, bake_s=1800, max_failures=0, max_failures_pct=0,
                min_done_pct=100,
            ),
            WaveRule(name="rest", share_pct=100),
        ),
        deadlines=Deadlines(wave_s=40_000),
    )  # fmt: skip
    return replace(made, **changes)


def stack(digest: str = NEW, **changes: Any) -> PlannedStack:
    made = PlannedStack(
        digest=digest, entry="chat", name="chat", bundle=digest, image="i", engine="vllm",
        model="m", method="mtp", depth=3, start_deadline_s=600, available_mib=1000,
        fallback=PLAIN if digest == NEW else None,
    )  # fmt: skip
    return replace(made, **changes)


def plan(*waves: Iterable[str], rules: RolloutPolicy | None = None, **changes: Any) -> FleetPlan:
    """Boards named 'a1' are of class 'a'; every wave is a list of such names or one text."""
    named = [wave.split() if isinstance(wave, str) else list(wave) for wave in waves]
    rules = rules or policy()
    made = FleetPlan(
        rollout="r-test",
        fleet="test",
        counter=1,
        inventory="sha256:i",
        boards=tuple(
            PlannedBoard(id=name, address=name, board_class=name[0], stack=NEW)
            for wave in named
            for name in wave
        ),
        stacks={NEW: stack(), PLAIN: stack(PLAIN, method="none", depth=0)},
        waves=tuple(
            PlannedWave(name=rules.waves[min(number, len(rules.waves) - 1)].name,
                        rule=min(number, len(rules.waves) - 1), boards=tuple(wave))
            for number, wave in enumerate(named)
        ),
        policy=rules,
        speccompose="test",
    )  # fmt: skip
    return replace(made, **changes)


class World:
    """A plan, its simulated boards, a clock and an engine; controllers come and go."""

    def __init__(self, made: FleetPlan, troubles: dict[str, Trouble] | None = None, seed: int = 0):
        self.plan = made
        self.clock = VirtualClock()
        troubles = troubles or {}
        boards = [
            SimulatedBoard(name, OLD, troubles.get(name)) for w in made.waves for name in w.boards
        ]
        self.engine = SimulatedEngine(boards, self.clock, seed=seed)
        self.journal = MemoryJournal(made)
        self.inbox: list[tuple[Callable[[World], bool], Entry]] = []

    def controller(self, **ports: Any) -> Controller:
        return Controller(
            self.journal, self.engine, self.clock, inbox=self._due, nap_s=60.0, **ports
        )

    def _due(self) -> list[Entry]:
        due = [entry for when, entry in self.inbox if when(self)]
        self.inbox = [(when, entry) for when, entry in self.inbox if not when(self)]
        return due

    def run(self, **ports: Any) -> ExitStatus:
        controller = self.controller(**ports)
        controller.open()
        return controller.run()

    def resume(self, **ports: Any) -> ExitStatus:
        controller = self.controller(**ports)
        controller.resume()
        return controller.run()

    @property
    def phases(self) -> dict[str, str]:
        return {name: board.phase for name, board in self.journal.state.boards.items()}

    @property
    def reasons(self) -> dict[str, str | None]:
        return {name: board.reason for name, board in self.journal.state.boards.items()}

    def touched(self) -> set[str]:
        """Boards that were told anything but probe and poll."""
        return {call.board for call in self.engine.log if call.kind not in ("probe", "poll")}

    def serving(self) -> dict[str, str | None]:
        for board in self.engine.boards.values():
            board.advance(self.clock.t)
        return {name: board.digest for name, board in self.engine.boards.items()}

    def starts(self) -> int:
        """The most often that one board accepted one start."""
        counts = [max(b.applied.values(), default=0) for b in self.engine.boards.values()]
        return max(counts, default=0)
