"""One depth search on an open stack: arms, bench, curve, and the result that is kept.

Layer: pipeline, beside tuning.py. Whatever ends it (a fault, a full disk, Ctrl-C), the planned
stack serves again afterwards, what was measured is on the disk, and the outcome is never a choice.
"""

import time
from pathlib import Path

import msgspec

import speccompose
from speccompose.device.arms import StackArms
from speccompose.device.artifacts import unkept, write_whole
from speccompose.device.conditions import Conditions, read_conditions
from speccompose.device.dataset import Dataset
from speccompose.device.depth_bench import DepthBench, Sweep, session_folder
from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.measured_stack import OpenStack, Prompts
from speccompose.device.ports import Progress
from speccompose.device.prompt_room import check_room
from speccompose.device.request_depth import takes_depth
from speccompose.device.result_document import conditions_document
from speccompose.device.runner import NATIVE, NativeRunner, RunnerMaker
from speccompose.device.runs import BASELINE
from speccompose.measure.depth_choice import Choice, Thresholds
from speccompose.measure.depth_search import Space
from speccompose.measure.tune_loop import Curve, Search
from speccompose.serving import Here
from speccompose.tuning_plans import DepthPlans
from speccompose.vocab.acceptance_result import Conditions as ConditionsResult
from speccompose.vocab.acceptance_result import DatasetResult, Subject
from speccompose.vocab.base import Frozen
from speccompose.vocab.tuning_result import TuneLimits, TuningResult

QUICK_REPEATS = 2

_OPTIONS = (
    ("--max-tpot-ms", "tpot_ms"),
    ("--max-ttft-ms", "ttft_ms"),
    ("--max-e2e-ms", "e2e_ms"),
    ("--max-memory-mib", "memory_mib"),
)


class Wanted(Frozen, frozen=True, kw_only=True):
    """What the user wants of a search.

    No ``depths``: those around the start. No ``concurrency``: the one that the stack was planned
    for. ``fresh``: what an earlier search has measured is not taken over. ``other``: who measures,
    our own client without.
    """

    depths: tuple[int, ...] = ()
    concurrency: int | None = None
    limits: TuneLimits = TuneLimits()
    exhaustive: bool = False
    apply: bool = False
    fresh: bool = False
    quick: bool = False
    prompts: Prompts = Prompts()
    other: RunnerMaker | None = None

    def command(self, name: str) -> str:
        """What to type to measure it again."""
        words = [f"speccompose tune {name} --yes --fresh"]
        if self.other is not None:
            words.append(f"--runner {self.other.name}")
        if self.depths:
            words.append(f"--depths {','.join(map(str, self.depths))}")
        if self.concurrency is not None:
            words.append(f"--concurrency {self.concurrency}")
        for option, field in _OPTIONS:
            value = getattr(self.limits, field)
            if value is not None:
                words.append(f"{option} {value:g}")
        words += [flag for flag, on in (("--exhaustive", self.exhaustive),) if on]
        words += [flag for flag, on in (("--quick", self.quick),) if on]
        return " ".join(words) + self.prompts.words()


class Session:
    """One search under way."""

    def __init__(self, stack: OpenStack, plans: DepthPlans, here: Here, wanted: Wanted) -> None:
        self._stack = stack
        self._plans = plans
        self._here = here
        self._wanted = wanted
        rules = stack.acceptance.rules
        self._concurrency = wanted.concurrency or plans.request.concurrency
        self._loaded = rules.loaded
        self._repeats = QUICK_REPEATS if wanted.quick else rules.min_repeats
        self._pace = wanted.prompts.pace(rules.output_tokens, wanted.quick)
        self._dataset: Dataset = wanted.prompts.read()
        self._per_request = False
        self._curve = Curve(self._search())
        self._folder: Path | None = None
        self._started_at = _now()

    def search(self) -> TuningResult:
        """Measure until the best depth is known; the planned stack serves when this returns.

        Raises:
            DeviceError: 2 for prompts that the context does not hold, 9 when the stack does not
                run, 14 when it cannot be put back, 15 when nothing can be written.
            KeyboardInterrupt: passed on, after everything is put back and kept.
        """
        arms = self._arms()
        arms.must_run()
        served = arms.serving()
        check_room(served, self._dataset, self._pace, self._stack.context_tokens)
        depth = self._stack.subject.body["depth"]
        self._per_request = isinstance(depth, int) and depth > 1 and takes_depth(served)
        self._curve = Curve(self._search())
        self._folder = self._session_folder()
        bench = DepthBench(
            arms, self._sweep(self._folder), self._folder, arm_of=self._arm_of, say=self._here.say
        )
        try:
            self._curve.fill(bench.measure)
        except KeyboardInterrupt:
            self._curve.faults = ("the search was interrupted",)
            raise
        except DeviceError as error:
            self._curve.faults = ("; ".join([error.brief, *error.details]),)
        finally:
            try:
                if bench.touched:
                    arms.restore()
            finally:
                result = self._kept(self._result(bench.readings))
        return result

    def _search(self) -> Search:
        """What is searched. Where the depth goes with the request, the baseline comes first: the
        server that takes all depths is started once, after it.
        """
        plans, wanted = self._plans, self._wanted
        rules = self._stack.acceptance.rules
        depth = self._stack.subject.body["depth"]
        return Search(
            space=Space(
                depths=tuple(sorted(plans.commands)), start=plans.start, parallel=plans.parallel
            ),
            thresholds=Thresholds(
                concurrency=self._concurrency,
                loaded=self._loaded,
                gain_reject_pct=rules.gain_reject_pct,
                no_regression_ratio=rules.no_regression_ratio,
            ),
            limits=wanted.limits,
            refused=plans.refused,
            running=depth if isinstance(depth, int) and not self._per_request else None,
            exhaustive=wanted.exhaustive,
        )

    def _arms(self) -> StackArms:
        stack = self._stack
        commands = {BASELINE: stack.acceptance.baseline_command}
        commands.update({f"depth {d}": words for d, words in self._plans.commands.items()})
        return StackArms(stack.paths, stack.folder, commands, self._here.ports, self._here.say)

    def _arm_of(self, depth: int) -> tuple[str, bool]:
        """Where the server takes the depth per request, the deepest one's serves them all."""
        if depth == 0:
            return BASELINE, False
        if self._per_request:
            return f"depth {max(self._plans.commands)}", True
        return f"depth {depth}", False

    def _sweep(self, folder: Path) -> Sweep:
        levels = tuple(sorted({self._concurrency, self._loaded}))
        commands = {0: self._stack.acceptance.baseline_command, **self._plans.commands}
        other = self._wanted.other
        native = NativeRunner(self._dataset, self._pace)
        runner = native if other is None else other.make(self._dataset, folder)
        return Sweep(levels, self._repeats, _mark(), runner, commands)

    def _session_folder(self) -> Path:
        body = self._stack.subject.body
        now: Conditions = read_conditions()
        identity = {
            **{key: value for key, value in body.items() if key not in ("plan", "depth")},
            "entrypoint": self._stack.plan.entrypoint,
            "weights": [(w.repo, w.file, w.revision) for w in self._stack.plan.downloads],
            "dataset": self._dataset.sha256,
            "pace": self._pace._asdict(),
            "levels": sorted({self._concurrency, self._loaded}),
            "repeats": self._repeats,
            "power_mode": now.power_mode,
            "clocks": now.clocks,
            "per_request": self._per_request,
            "runner": NATIVE if self._wanted.other is None else self._wanted.other.name,
        }
        home = self._stack.paths.home
        try:
            return session_folder(home, identity, fresh=self._wanted.fresh)
        except OSError as error:
            raise DeviceError(
                PREFLIGHT, unkept(home / "tune", error), code="state_unwritable"
            ) from None

    def _result(self, readings: list[Conditions]) -> TuningResult:
        choice, wanted = self._curve.choice(), self._wanted
        stack = self._stack
        subject = stack.subject
        return TuningResult(
            outcome=choice.outcome,
            synthetic=stack.acceptance.synthetic,
            depth=choice.depth,
            reasons=(*choice.reasons, *self._notes(choice)),
            curve=choice.curve,
            concurrency=self._concurrency,
            method=stack.plan.method,
            order=tuple(self._curve.order),
            exhaustive=wanted.exhaustive,
            switching="request" if self._per_request else "restart",
            started_at=self._started_at,
            finished_at=_now(),
            quick=wanted.quick,
            speccompose=speccompose.__version__,
            subject=msgspec.convert(subject.as_dict(), Subject),
            dataset=msgspec.convert(wanted.prompts.as_dict(self._dataset), DatasetResult),
            limits=wanted.limits,
            conditions=msgspec.convert(conditions_document(readings), ConditionsResult),
            commands=subject.commands(wanted.command(stack.plan.name)),
            artifacts=str(self._folder),
        )

    def _notes(self, choice: Choice) -> tuple[str, ...]:
        measured = [point for point in choice.curve if point.measured]
        reused = sum(point.reused for point in measured)
        told = [
            f"{len(measured)} of {len(choice.curve)} depths measured, each {self._repeats} times "
            f"at {' and '.join(map(str, sorted({self._concurrency, self._loaded})))}"
            + (f"; {reused} taken over from an earlier search" if reused else "")
        ]
        if self._per_request:
            told.append("the server takes the depth per request: it was not restarted for each")
        return tuple(told)

    def _kept(self, result: TuningResult) -> TuningResult:
        """The result on the disk too; one that cannot be kept does not count."""
        if self._folder is None:
            return result
        self._here.say(Progress("tune", f"kept in {self._folder}"))
        text = msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"
        fault = write_whole(self._folder / "result.json", text)
        if fault is None:
            return result
        return msgspec.structs.replace(
            result, outcome="invalid", depth=None, reasons=(fault, *result.reasons)
        )


def _mark() -> str:
    """What makes the prompts of this search unlike those of every other one."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
