"""Journal lines -> the state of a rollout: a fold without decisions.

Layer: fleet. The same code runs while a rollout goes on and when a journal is replayed, so a
resumed controller cannot believe anything else than the one that died. Boards are indexed by wave
and phase: a decision looks at the boards that are busy, not at all of them.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, get_args

from speccompose.fleet.board_state import BoardState
from speccompose.fleet.phases import ACTIVE, DONE, DOUBTFUL, FAILED, UNSTARTED
from speccompose.vocab.rollout_journal import Entry, Event, Phase
from speccompose.vocab.rollout_plan import FleetPlan, PlannedBoard, PlannedStack
from speccompose.vocab.rollout_policy import RollbackScope, RolloutPolicy, WaveRule

Mode = Literal["new", "running", "pausing", "paused", "aborting", "finished"]

_RETRIED: Final[tuple[Phase, ...]] = (
    "pending",
    "inconclusive",
    "unreached",
    "deferred",
    "ineligible",
)
_SETTLED: Final[tuple[Phase, ...]] = (*FAILED, "reverted")
_ACTIVE: Final = frozenset(ACTIVE)
_NOT_BEGUN: Final[tuple[Phase, ...]] = ("waiting", "unreached", "deferred", "pending")


ByPhase = dict[Phase, dict[str, BoardState]]


class RolloutState:
    """Everything that decisions are made from. Changed by ``apply`` and by nothing else."""

    def __init__(self, plan: FleetPlan) -> None:
        self.plan = plan
        self.lines = 0
        self.run = 0
        self._handlers: dict[Event, Callable[[Entry], None]] = {
            "opened": self._opened,
            "resumed": self._resumed,
            "wave": self._wave,
            "board": self._board,
            "seen": self._seen,
            "missed": self._missed,
            "baking": self._baking,
            "promoted": self._promoted,
            "without_speculation": self._without_speculation,
            "pausing": self._pausing,
            "paused": self._paused,
            "continued": self._continued,
            "aborting": self._aborting,
            "finished": self._finished,
        }
        self._reset()

    def _reset(self) -> None:
        planned = {board.id: board for board in self.plan.boards}
        self.waves: list[ByPhase] = []
        self.boards: dict[str, BoardState] = {}
        for number, wave in enumerate(self.plan.waves):
            states = {name: self._fresh(planned[name], number) for name in wave.boards}
            self.boards.update(states)
            self.waves.append({phase: {} for phase in get_args(Phase)} | {"waiting": states})
        self.live = [len(wave.boards) for wave in self.plan.waves]
        self.bad: list[set[str]] = [set() for _ in self.plan.waves]
        self.mode: Mode = "new"
        self.wave = -1
        self.wave_since = 0
        self.promoted = True
        self.bake_since: int | None = None
        self.bake_until: int | None = None
        self.opened_at = 0
        self.allow_downgrade = False
        self.t = 0
        self.status: int | None = None
        self.reason: str | None = None
        self.scope: RollbackScope = self.plan.policy.rollback
        self.fallbacks: dict[tuple[str, str], str] = {}
        self.lengths: dict[tuple[str, str], float] = {}
        self.verdicts: dict[str, Entry] = {}
        self.stale: dict[str, BoardState] = {}
        self.faulty: dict[str, BoardState] = {}

    def _fresh(self, planned: PlannedBoard, wave: int) -> BoardState:
        return BoardState(planned, wave, self.plan.stacks[str(planned.stack)].digest)

    # What decisions ask.

    @property
    def policy(self) -> RolloutPolicy:
        """The plan's policy."""
        return self.plan.policy

    @property
    def rule(self) -> WaveRule:
        """The rule of the wave that is on."""
        return self.policy.waves[self.plan.waves[self.wave].rule]

    def within(self, phase: Phase, wave: int | None = None) -> dict[str, BoardState]:
        """Boards of a wave (default: the one that is on) in a phase, in their order there."""
        return self.waves[self.wave if wave is None else wave][phase]

    def every(self, phases: Iterable[Phase], wave: int | None = None) -> Iterator[BoardState]:
        """Boards of a wave in any of these phases."""
        table = self.waves[self.wave if wave is None else wave]
        for phase in phases:
            if table[phase]:
                yield from table[phase].values()

    def count(self, phases: Iterable[Phase], wave: int | None = None) -> int:
        """How many boards of a wave are in any of these phases."""
        table = self.waves[self.wave if wave is None else wave]
        return sum([len(table[phase]) for phase in phases])

    def active(self) -> int:
        """Boards of the wave that have not ended."""
        return self.live[self.wave]

    def done(self) -> int:
        """Boards of the wave that run the release."""
        table = self.waves[self.wave]
        return len(table["committed"]) + len(table["already"])

    def failures(self, wave: int | None = None) -> int:
        """Boards of the wave that failed, rolled back yet or not."""
        return len(self.bad[self.wave if wave is None else wave])

    def stack(self, board: BoardState) -> PlannedStack:
        """What the board is to get."""
        return self.plan.stacks[board.bundle]

    def plain(self, board: BoardState) -> PlannedStack | None:
        """The same without speculation; None where there is none."""
        fallback = self.stack(board).fallback
        return self.plan.stacks[fallback] if fallback is not None else None

    def transaction(self, board: BoardState) -> str:
        """How the board knows this rollout: another run of the same plan is another one."""
        return f"{self.plan.rollout}.{board.run}"

    # The fold.

    def apply(self, entry: Entry) -> None:
        """Take one line in."""
        self.lines += 1
        self.t = entry.t
        handler = self._handlers.get(entry.event)
        if handler is not None:
            handler(entry)

    def _opened(self, entry: Entry) -> None:
        self._reset()
        self.run += 1
        for board in self.boards.values():
            board.run = self.run
        self.mode = "running"
        self.allow_downgrade = entry.allow_downgrade
        self.t = self.opened_at = entry.t

    def _resumed(self, entry: Entry) -> None:
        for number in range(len(self.waves)):
            for board in self.every(DOUBTFUL, number):
                board.stale = True
                self.stale[board.id] = board

    def _wave(self, entry: Entry) -> None:
        self.wave = entry.wave or 0
        self.wave_since = entry.t
        self.promoted = False
        self.bake_since = self.bake_until = None

    def _board(self, entry: Entry) -> None:
        board = self.boards[str(entry.board)]
        phase = entry.phase or board.phase
        if phase != board.phase:
            del self.waves[board.wave][board.phase][board.id]
            self.waves[board.wave][phase][board.id] = board
            self.live[board.wave] += (phase in _ACTIVE) - (board.phase in _ACTIVE)
            self._entered(board, phase, entry)
        if phase in ("reverted", "failed") and entry.evidence is not None:
            board.committed = False  # the board said so; one that is only lost may still run it
        same = entry.reason == board.reason  # its way back says no more why it began
        board.message = entry.message or (board.message if same else None)
        board.reason = entry.reason
        board.until = entry.until
        if entry.verdict is not None:
            self.verdicts[board.bundle] = entry
        if entry.digest is not None and entry.digest != board.digest:
            self._goes_plain(board)
        board.fault = entry.fault and phase not in _SETTLED
        if board.fault:
            self.faulty[board.id] = board
        else:
            self.faulty.pop(board.id, None)
        if board.fault or phase in FAILED:
            self.bad[board.wave].add(board.id)
        else:
            self.bad[board.wave].discard(board.id)
        if entry.restarts is not None:
            board.restarts = entry.restarts
        if entry.accepted_length is not None:
            board.accepted_length = entry.accepted_length
        self._touched(board, entry.t, answered=entry.evidence is not None)

    def _entered(self, board: BoardState, phase: Phase, entry: Entry) -> None:
        """What a new phase means beyond its name."""
        if board.phase == "applying" and phase in ("ready", "staged"):
            board.tries += 1
        board.probes = 0
        board.phase = phase
        board.since = entry.t
        if phase == "committed":
            board.committed = True
            length = entry.accepted_length or board.accepted_length
            if length is not None:
                self.lengths.setdefault((board.board_class, board.digest), length)

    def _touched(self, board: BoardState, t: int, *, answered: bool) -> None:
        board.touched = t
        if answered:
            board.misses = 0
            board.probes += 1
        if board.stale:
            board.stale = False
            del self.stale[board.id]

    def _seen(self, entry: Entry) -> None:
        for name in entry.boards:
            self._touched(self.boards[name], entry.t, answered=True)

    def _missed(self, entry: Entry) -> None:
        for name in entry.boards:
            board = self.boards[name]
            board.misses += 1
            self._touched(board, entry.t, answered=False)

    def _baking(self, entry: Entry) -> None:
        self.bake_since, self.bake_until = entry.t, entry.until
        for board in self.every(DONE):
            board.probes = 0
            board.touched = entry.t

    def _promoted(self, entry: Entry) -> None:
        self.promoted = True

    def _without_speculation(self, entry: Entry) -> None:
        rejected = (str(entry.board_class), str(entry.digest))
        for board in self.boards.values():
            plain = self.plain(board)
            if plain is None or (board.board_class, board.digest) != rejected:
                continue
            self.fallbacks[rejected] = plain.digest
            if board.phase in _NOT_BEGUN:
                self._goes_plain(board)

    def _goes_plain(self, board: BoardState) -> None:
        plain = self.plain(board)
        if plain is not None:
            board.bundle, board.digest = plain.bundle, plain.digest

    def _pausing(self, entry: Entry) -> None:
        self.mode, self.reason = "pausing", entry.reason

    def _paused(self, entry: Entry) -> None:
        self.mode, self.status = "paused", entry.status
        self.reason = entry.reason or self.reason

    def _continued(self, entry: Entry) -> None:
        self.mode, self.reason, self.status = "running", None, None
        self.run += 1
        self.wave_since = self.opened_at = entry.t
        for phase in _RETRIED:
            for board in list(self.within(phase).values()):
                board.run = self.run
                if (board.board_class, board.digest) in self.fallbacks:
                    self._goes_plain(board)
                draft = Entry(event="board", t=entry.t, board=board.id, phase="waiting")
                self._board(draft)

    def _aborting(self, entry: Entry) -> None:
        self.mode, self.reason = "aborting", entry.reason
        self.scope = entry.scope or self.policy.rollback
        self.status = None

    def _finished(self, entry: Entry) -> None:
        self.mode, self.status = "finished", entry.status
        self.reason = entry.reason or self.reason
        halted = self.reason if entry.status else None
        for board in list(self.every(UNSTARTED)):
            phase: Phase = "untouched" if halted else "pending"
            self._board(Entry(event="board", t=entry.t, board=board.id, phase=phase))
