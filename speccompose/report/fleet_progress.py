"""A rollout that runs -> the few lines that a terminal shows of it, and how long it may still take.

Layer: report. Pure. The lines that stay are for what somebody must know afterwards; counts move.
"""

from speccompose.fleet.phases import DONE, FAILED, LEFT_OUT
from speccompose.fleet.rollout_state import RolloutState
from speccompose.fleet.status import WaveRow, wave_rows
from speccompose.report.fleet_text import entry_line
from speccompose.report.table import columns
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import FleetPlan

WIDTH = 79
_MS = 1000


class Progress:
    """The state of a rollout, told line by line, and the pace of the waves that are over.

    ``since_s`` below is the time since the last line: the journal is silent while boards work.
    """

    def __init__(self, plan: FleetPlan) -> None:
        self.state = RolloutState(plan)
        self._round_s: float | None = None
        """What one round of ``max_parallel`` boards took in the last wave that came to its bake."""

    def take(self, entry: Entry) -> None:
        """The next line of the journal."""
        if entry.event == "baking" and self.state.wave >= 0:
            taken = (entry.t - self.state.wave_since) / _MS
            self._round_s = taken / self._rounds(self.state.wave)
        self.state.apply(entry)

    def lines(self, since_s: float) -> list[str]:
        """One row per wave, and one for the whole."""
        rows = [_row(wave, since_s) for wave in wave_rows(self.state)]
        gone = (self.state.t - self.state.opened_at) / _MS + since_s
        left = self.left_s(since_s)
        ending = f"{self.state.mode}, {clock(gone)} gone"
        if left is not None:
            ending += f", {'at least ' if self._round_s is None else 'about '}{clock(left)} left"
        return [line[:WIDTH] for line in (*columns(rows), f"  {ending}")]

    def left_s(self, since_s: float) -> float | None:
        """Bakes that are left, and for every wave to come the pace of the last one.

        None where nobody knows: it is being stopped, or has ended. Before the first bake the
        boards' own time is unknown and not in it.
        """
        state = self.state
        if state.mode not in ("running", "new"):
            return None
        left = sum(self._wave_s(number) for number in range(state.wave + 1, len(state.waves)))
        if state.wave < 0 or state.promoted:
            return left
        if state.bake_until is not None:
            return left + max(0.0, (state.bake_until - state.t) / _MS - since_s)
        gone = (state.t - state.wave_since) / _MS + since_s
        bake = self._bake_s(state.wave)
        return left + bake + max(0.0, self._wave_s(state.wave) - bake - gone)

    def _wave_s(self, number: int) -> float:
        return self._bake_s(number) + (self._round_s or 0.0) * self._rounds(number)

    def _bake_s(self, number: int) -> int:
        return self.state.policy.waves[self.state.plan.waves[number].rule].bake_s

    def _rounds(self, number: int) -> int:
        return -(-len(self.state.plan.waves[number].boards) // self.state.policy.max_parallel)


def lasting_line(entry: Entry, plan: FleetPlan) -> str | None:
    """What stays on the screen: waves, requests, the end, and boards that will not be done."""
    if entry.event == "board" and entry.phase not in (*FAILED, *LEFT_OUT):
        return None
    return entry_line(entry, plan)


def clock(seconds: float) -> str:
    """'0:04:09'; with days '2 d 0:04:09'."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days} d " * bool(days) + f"{hour}:{minute:02d}:{second:02d}"


def _row(wave: WaveRow, since_s: float) -> list[str]:
    stage: str = wave.stage
    if wave.left_s is not None:
        stage += f", {clock(max(0.0, wave.left_s - since_s))} left"
    others = [f"{count} {phase}" for phase, count in wave.phases.items()
              if phase not in (*DONE, "waiting")]  # fmt: skip
    return [wave.name, stage, ", ".join([f"{wave.done} of {wave.total} done", *others])]
