"""A stack that can run with and without speculation becomes a verdict whether it pays.

Layer: device (standard library, Python 3.8). Read ``_Session.measure`` first; it is the job.

    accept(trial, arms, artifacts=..., say=...) -> Result

Order of a round: half of its repeats with speculation, all without, the other half with. The
planned arm runs when we come and has to run when we go, so the round costs two restarts, as few
as there can be, and the baseline lies in the middle: a board that warms up, slows both arms
alike. Within an arm every repeat is measured alone and under load, back to back. More rounds
follow until the numbers decide, or the allowed repeats are used up.

Whatever goes wrong, what was measured is kept, the planned arm is put back, and the outcome is
'invalid': an interrupted or broken measurement never is a pass.
"""

from __future__ import annotations

import math
from typing import Callable, Dict, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from speccompose.device.acceptance_file import Rules
from speccompose.device.artifacts import Artifacts
from speccompose.device.conditions import Conditions, changes, read_conditions
from speccompose.device.contents import compare_contents
from speccompose.device.errors import DeviceError
from speccompose.device.ports import Progress, Say, silent
from speccompose.device.runs import BASELINE, SPECULATIVE, Run
from speccompose.device.verdict import Verdict, decide, needs_more
from speccompose.device.window import Pace, Served, greedy_texts, measure


class Trial(NamedTuple):
    """What is judged and how.

    ``mark`` makes the prompts of this measurement unlike those of every other one: a server that
    has been accepted before must not find them in its cache. ``sequences``: how many the engine
    runs at once, where known.
    """

    rules: Rules
    pace: Pace
    mark: str
    synthetic: bool = False
    sequences: Optional[int] = None


class Arms(Protocol):
    """How the stack is run with and without speculation."""

    def start(self, arm: str) -> Served:
        """Let this arm serve and return when it is ready.

        Raises:
            DeviceError: it does not come up.
        """

    def restore(self) -> None:
        """Let the planned arm serve again, whatever runs now.

        Raises:
            DeviceError: status 14 when it does not come back.
        """


class Result(NamedTuple):
    """A verdict and the runs that it rests on."""

    verdict: Verdict
    runs: Tuple[Run, ...]

    def as_dict(self) -> Dict[str, object]:
        """The contract's form of `accept --json`."""
        return {
            "outcome": self.verdict.outcome,
            "synthetic": self.verdict.synthetic,
            "reasons": list(self.verdict.reasons),
            "runs": [run.as_dict() for run in self.runs],
        }


def accept(
    trial: Trial,
    arms: Arms,
    *,
    artifacts: Artifacts,
    say: Say = silent,
    conditions: Callable[[], Conditions] = read_conditions,
) -> Result:
    """Measure both arms and judge.

    Raises:
        DeviceError: status 14 when the planned arm could not be put back.
        KeyboardInterrupt: passed on, after everything is put back and kept.
    """
    session = _Session(trial, arms, artifacts, say, conditions)
    try:
        session.measure()
    except KeyboardInterrupt:
        session.faults.append("the measurement was interrupted")
        raise
    except DeviceError as error:
        session.faults.append("; ".join([error.brief, *error.details]))
    finally:
        try:
            arms.restore()
        finally:
            artifacts.finish(session.result().as_dict())
    return session.result()


class _Session:
    """One measurement under way."""

    def __init__(
        self,
        trial: Trial,
        arms: Arms,
        artifacts: Artifacts,
        say: Say,
        conditions: Callable[[], Conditions],
    ) -> None:
        self.faults: List[str] = []
        self._trial = trial
        self._arms = arms
        self._artifacts = artifacts
        self._say = say
        self._conditions = conditions
        self._readings: List[Conditions] = []
        self._runs: List[Run] = []
        self._texts: Dict[str, Tuple[str, ...]] = {}
        self._notes: List[str] = []

    def measure(self) -> None:
        """Rounds of repeats until the numbers decide."""
        self._read_conditions()
        done = 0
        target = needs_more(self._runs, self._trial.rules)
        while target > done:
            self._round(range(done + 1, target + 1))
            done, target = target, needs_more(self._runs, self._trial.rules, faults=self._faults())

    def result(self) -> Result:
        """The verdict on what there is."""
        trial = self._trial
        verdict = decide(self._runs, trial.rules, faults=self._faults(), synthetic=trial.synthetic)
        reasons = (*verdict.reasons, *self._notes, *self._queueing())
        return Result(verdict._replace(reasons=reasons), tuple(self._runs))

    def _round(self, repeats: Sequence[int]) -> None:
        half = math.ceil(len(repeats) / 2)
        self._block(SPECULATIVE, repeats[:half])
        self._block(BASELINE, repeats)
        self._compare_texts()
        self._block(SPECULATIVE, repeats[half:])

    def _block(self, arm: str, repeats: Sequence[int]) -> None:
        """Some repeats of one arm, with its content check before the first."""
        if self._spoilt() or not repeats:
            return
        self._tell(f"switching to the {arm} arm")
        served = self._arms.start(arm)
        if arm not in self._texts and not self._trial.synthetic:
            self._check_texts(arm, served)
        for repeat in repeats:
            for concurrency in (self._trial.rules.alone, self._trial.rules.loaded):
                if self._spoilt():
                    return
                self._run(served, arm, concurrency, repeat)

    def _run(self, served: Served, arm: str, concurrency: int, repeat: int) -> None:
        trial = self._trial
        window = measure(
            served, trial.pace, arm=arm, concurrency=concurrency, repeat=repeat, mark=trial.mark
        )
        run = window.run
        self._runs.append(run)
        self._artifacts.add_run(window, self._read_conditions())
        if run.errors:
            self._tell(f"{run.label}: {run.errors[0]}")
        else:
            self._tell(
                f"{run.label}: {run.output_tokens_s:.1f} tokens/s, "
                f"TPOT {run.tpot_ms_p50 or 0:.2f} ms, TTFT {run.ttft_ms_p50 or 0:.0f} ms"
            )

    def _check_texts(self, arm: str, served: Served) -> None:
        """Greedy answers, one by one; the baseline's a second time all at once."""
        self._tell(f"greedy answers of the {arm} arm")
        passes = {arm: 1}
        if arm == BASELINE:
            passes["together"] = self._trial.rules.loaded
        for name, at_once in passes.items():
            texts, errors = greedy_texts(served, self._trial.pace, at_once=at_once)
            self._texts[name] = texts
            self.faults += [f"content check, {arm}: {error}" for error in errors]

    def _compare_texts(self) -> None:
        if self._notes or self._spoilt() or not {BASELINE, SPECULATIVE} <= set(self._texts):
            return
        found = compare_contents(
            self._texts[BASELINE], self._texts["together"], self._texts[SPECULATIVE]
        )
        self._notes.append(found.sentence)
        self.faults += found.faults

    def _read_conditions(self) -> Conditions:
        self._readings.append(self._conditions())
        return self._readings[-1]

    def _faults(self) -> List[str]:
        kept = [] if self._artifacts.fault is None else [self._artifacts.fault]
        return [*self.faults, *changes(self._readings), *kept]

    def _spoilt(self) -> bool:
        """Whether going on is useless: the outcome is invalid already."""
        return bool(self._faults()) or any(run.errors for run in self._runs)

    def _queueing(self) -> Tuple[str, ...]:
        sequences, loaded = self._trial.sequences, self._trial.rules.loaded
        if sequences is None or sequences >= loaded:
            return ()
        return (
            f"the engine runs {sequences} sequences at once: of {loaded} clients "
            f"{loaded - sequences} wait, in both arms",
        )

    def _tell(self, message: str) -> None:
        self._say(Progress("accept", message))
