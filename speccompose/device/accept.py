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
import time
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple

from speccompose.device.acceptance_file import Rules
from speccompose.device.artifacts import Artifacts
from speccompose.device.conditions import Conditions, changes, read_conditions
from speccompose.device.contents import Contents, compare_contents
from speccompose.device.dataset import Dataset
from speccompose.device.errors import DeviceError
from speccompose.device.ports import Progress, Say, silent
from speccompose.device.result_document import (
    category_comparisons,
    comparison_document,
    conditions_document,
    verdict_document,
)
from speccompose.device.runner import NativeRunner, Runner
from speccompose.device.runs import BASELINE, SPECULATIVE, Run
from speccompose.device.verdict import Verdict, decide, needs_more
from speccompose.device.window import Order, Pace, Served, Window, greedy_texts


class Trial(NamedTuple):
    """What is judged and how.

    ``mark`` makes the prompts of this measurement unlike those of every other one: a server that
    has been accepted before must not find them in its cache. ``sequences``: how many the engine
    runs at once, where known. ``runner``: who puts on the load, our own client without one.
    ``told``: what the result says beside the measurement itself.
    """

    rules: Rules
    pace: Pace
    dataset: Dataset
    mark: str
    synthetic: bool = False
    sequences: Optional[int] = None
    runner: Optional[Runner] = None
    told: Mapping[str, object] = {}

    @property
    def measurer(self) -> Runner:
        """Who puts on the load."""
        return self.runner or NativeRunner(self.dataset, self.pace)


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
    """A verdict and the runs that it rests on; ``windows`` are the same runs with all that was
    seen, ``trial`` says how, ``readings`` how the board was.
    """

    verdict: Verdict
    runs: Tuple[Run, ...]
    windows: Tuple[Window, ...] = ()
    trial: Optional[Trial] = None
    readings: Tuple[Conditions, ...] = ()
    contents: Optional[Contents] = None
    started_at: Optional[str] = None
    finished_at: Optional[str] = None

    def as_dict(self) -> Dict[str, object]:
        """The form of `accept --json`: the contract's keys, then everything else."""
        told = verdict_document(self.verdict, self.runs, self.windows)
        if self.trial is None:
            return told
        trial, verdict = self.trial, self.verdict
        return {
            **told,
            "schema": 1,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "runner": trial.measurer.name,
            **trial.told,
            "rules": {**trial.rules._asdict(), "concurrency": list(trial.rules.concurrency)},
            "repeats": verdict.repeats,
            "comparisons": [comparison_document(c, trial.rules) for c in verdict.comparisons],
            "categories": category_comparisons(self.windows),
            "contents": None if self.contents is None else self.contents.as_dict(),
            "conditions": conditions_document(self.readings),
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
    measured = restored = False
    try:
        session.measure()
        measured = True
    except KeyboardInterrupt:
        session.faults.append("the measurement was interrupted")
        raise
    except DeviceError as error:
        session.faults.append("; ".join([error.brief, *error.details]))
    finally:
        if not (measured or session.faults):
            session.faults.append("the measurement broke off")
        try:
            arms.restore()
            restored = True
        finally:
            if not restored:
                session.faults.append("the planned stack could not be put back")
            result = session.result()
            artifacts.finish(result.as_dict())
    # What could not be kept is no result that anybody can look up: then it is invalid.
    return result if artifacts.fault is None else session.result()


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
        self._windows: List[Window] = []
        self._texts: Dict[str, Tuple[str, ...]] = {}
        self._contents: Optional[Contents] = None
        self._started_at = _now()

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
        contents = () if self._contents is None else (self._contents.sentence,)
        reasons = (*verdict.reasons, *contents, *self._queueing())
        return Result(
            verdict._replace(reasons=reasons),
            tuple(self._runs),
            tuple(self._windows),
            trial,
            tuple(self._readings),
            self._contents,
            self._started_at,
            _now(),
        )

    @property
    def _runs(self) -> List[Run]:
        return [window.run for window in self._windows]

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
        order = Order(arm, concurrency, repeat, self._trial.mark)
        window = self._trial.measurer.run(served, order)
        run = window.run
        self._windows.append(window)
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
            trial = self._trial
            texts, errors = greedy_texts(served, trial.pace, trial.dataset, at_once=at_once)
            self._texts[name] = texts
            self.faults += [f"content check, {arm}: {error}" for error in errors]

    def _compare_texts(self) -> None:
        have_both = {BASELINE, SPECULATIVE} <= set(self._texts)
        if self._contents is not None or self._spoilt() or not have_both:
            return
        self._contents = compare_contents(
            self._texts[BASELINE], self._texts["together"], self._texts[SPECULATIVE]
        )
        self.faults += self._contents.faults

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


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
