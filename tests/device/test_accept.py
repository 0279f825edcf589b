"""Every outcome of rules section 6, end to end: two stub servers, real load, real verdict.

Nothing here fixes an answer: the stubs have speeds and faults, and what they amount to is judged.
"""

import json
import os
import signal
import threading
from typing import NamedTuple

import pytest

from speccompose.device.accept import Trial, accept
from speccompose.device.acceptance_file import Rules
from speccompose.device.answers import Server
from speccompose.device.artifacts import Artifacts
from speccompose.device.conditions import Conditions
from speccompose.device.dataset import builtin
from speccompose.device.errors import DEPLOY, ROLLBACK_INCOMPLETE, DeviceError
from speccompose.device.runner import NativeRunner
from speccompose.device.runs import BASELINE, SPECULATIVE
from speccompose.device.window import Pace, Served
from tests.device.endpoints import endpoint_of
from tests.stub_server import VLLM, Script, StubServer
from tests.virtual_load import play

RULES = Rules((1, 8), 3, 8, 16, 30.0, -20.0, 10.0, 0.97, 1.05)
PACE = Pace(
    prompts=2, prompts_per_client=1, output_tokens=16, check_prompts=4, check_tokens=12, stall_s=2
)
LONG = PACE._replace(prompts=6, prompts_per_client=2, output_tokens=96)
SHORT = PACE._replace(prompts=1, output_tokens=5)
BASE = Script(rates={1: 500.0, 8: 2000.0}, noise=0.01)
QUIET = Conditions("pmode:0000", (), (), (), None)


def speculating(alone, loaded, **more):
    """A script that is so many times as fast as the baseline alone and under load."""
    rates = {1: BASE.rates[1] * alone, 8: BASE.rates[8] * loaded}
    return Script(**{"rates": rates, "depth": 3, "accepted_length": 2.4, **more})


class StubArms:
    """Two scripted servers, of which one 'runs' at a time."""

    def __init__(self, baseline, speculative, *, fails_to_start=None, fails_to_restore=False):
        self.scripts = {BASELINE: baseline, SPECULATIVE: speculative}
        self.started = []
        self.stub = None
        self.restored = 0
        self.on_start = lambda arm: None
        self._fails_to_start = fails_to_start
        self._fails_to_restore = fails_to_restore

    def start(self, arm):
        self.started.append(arm)
        if arm == self._fails_to_start:
            raise DeviceError(DEPLOY, "the server ended while starting", ["out of memory"])
        self.on_start(arm)
        self.stop()
        self.stub = StubServer(self.scripts[arm]).start()
        endpoint = endpoint_of(self.stub.url, self.stub.state.script.model)
        server = Server(self.stub.state.script.engine, endpoint.host, endpoint.port)
        return Served(endpoint, server)

    def restore(self):
        self.restored += 1
        self.stop()
        if self._fails_to_restore:
            raise DeviceError(ROLLBACK_INCOMPLETE, "it does not serve again")

    def stop(self):
        if self.stub is not None:
            self.stub.stop()
            self.stub = None


def judge(baseline, speculative, *, tmp_path=None, arms=None, conditions=None, **trial):
    arms = arms or StubArms(baseline, speculative)
    done = accept(
        Trial(**{"rules": RULES, "pace": PACE, "dataset": builtin(), "mark": "test", **trial}),
        arms,
        artifacts=Artifacts(tmp_path),
        conditions=conditions or (lambda: QUIET),
    )
    assert arms.restored == 1
    return done


def decided(*args, **more):
    """Judge at exactly the scripted speeds, however busy the test machine is."""
    return judge(*args, runner=NativeRunner(builtin(), LONG, play=play), **more)


def test_accepted(tmp_path):
    done = decided(BASE, speculating(1.5, 1.1), tmp_path=tmp_path)
    report = done.as_dict()
    assert report["outcome"] == "accepted"
    assert report["synthetic"] is False
    assert {(run["arm"], run["concurrency"]) for run in report["runs"]} == {
        (arm, level) for arm in (BASELINE, SPECULATIVE) for level in (1, 8)
    }
    assert all(run["output_tokens_s"] > 0 and run["tpot_ms_p50"] > 0 for run in report["runs"])
    lengths = {run["mean_accepted_length"] for run in report["runs"] if run["arm"] == BASELINE}
    assert lengths == {None}
    kept = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert [line["output_tokens_s"] for line in kept] == [
        run["output_tokens_s"] for run in report["runs"]
    ]
    assert json.loads((tmp_path / "result.json").read_text()) == report
    assert any("0 differ with speculation" in reason for reason in report["reasons"])


def test_accepted_on_vllm_with_bursts():
    base = Script(engine=VLLM, rates=BASE.rates, usage="continuous")
    spec = speculating(3.0, 2.0, engine=VLLM, usage="continuous", one_chunk_per_step=True)
    assert decided(base, spec).verdict.outcome == "accepted"


def test_marginal():
    assert decided(BASE, speculating(1.2, 1.1)).verdict.outcome == "marginal"


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (speculating(1.05, 1.5), "gains less than 10 %"),
        (speculating(1.5, 0.9), "loses at concurrency 8"),
        (speculating(2.0, 1.5, accepted_length=1.0), "mean accepted length 1.00"),
    ],
)
def test_rejected(spec, wanted):
    verdict = decided(BASE, spec).verdict
    assert verdict.outcome == "rejected"
    assert any(wanted in reason for reason in verdict.reasons)


def test_inconclusive():
    """A board whose speed wanders by half: no number of allowed repeats settles it."""
    wandering = {"noise": 0.5, "wave": 4, "seed": 5}
    base = Script(rates=BASE.rates, **wandering)
    spec = speculating(1.25, 1.0, **{**wandering, "seed": 9})
    done = decided(base, spec, rules=RULES._replace(max_repeats=5))
    assert done.verdict.outcome == "inconclusive"
    assert done.verdict.repeats == 5
    assert done.verdict.reasons[0].startswith("still open: ")


def test_the_planned_arm_runs_first_and_last_and_the_baseline_between():
    arms = StubArms(BASE, speculating(1, 1))
    done = judge(None, None, arms=arms, pace=SHORT, rules=RULES._replace(max_repeats=3))
    assert arms.started == [SPECULATIVE, BASELINE, SPECULATIVE]
    order = [(run.arm, run.repeat, run.concurrency) for run in done.runs]
    assert order == [
        *((SPECULATIVE, n, c) for n in (1, 2) for c in (1, 8)),
        *((BASELINE, n, c) for n in (1, 2, 3) for c in (1, 8)),
        *((SPECULATIVE, 3, c) for c in (1, 8)),
    ]


@pytest.mark.parametrize(
    ("base", "spec", "wanted"),
    [
        (BASE, speculating(2, 2, fail_from=8), "status 500"),
        (BASE, speculating(2, 2, break_after=9, from_request=9), "connection lost"),
        (BASE, speculating(2, 2, die_at_request=9), "connection lost"),
        (BASE, speculating(2, 2, garbage=True), "without its end"),
        (BASE, speculating(2, 2, short_by=2), "2 tokens instead of 4"),
        (BASE, speculating(2, 2, context_tokens=60), "exceeds the available context"),
        (BASE, speculating(2, 2, reset_counters_at=70), "went backwards"),
        (BASE, speculating(2, 2, engine=VLLM, counters=False), "does not tell"),
        (BASE, speculating(2, 2, differing=1.0), "speculation changes what is said"),
        (BASE, speculating(2, 2, repeats_one_token=True), "one token again and again"),
        (speculating(1, 1), speculating(2, 2), "the baseline speculates"),
        (Script(rates=BASE.rates, fail_from=8), speculating(2, 2), "status 500"),
    ],
)
def test_invalid(base, spec, wanted):
    done = judge(base, spec)
    assert done.verdict.outcome == "invalid"
    assert any(wanted in reason for reason in done.verdict.reasons), done.verdict.reasons


def test_a_silent_server_is_invalid():
    spec = speculating(2, 2, break_after=5, stall=True, from_request=7)
    done = judge(BASE, spec, pace=PACE._replace(stall_s=0.3))
    assert done.verdict.outcome == "invalid"
    assert any("stalled" in reason for reason in done.verdict.reasons)


def test_speculation_that_differs_no_more_than_the_baseline_itself_is_fine():
    """The second baseline pass already differs, as on an engine that rounds by batch shape."""
    arms = StubArms(BASE, speculating(2.0, 1.5, differing=1.0))
    unstable = Script(rates=BASE.rates, unsteady=1.0)
    arms.scripts[BASELINE] = unstable
    done = judge(None, None, arms=arms, pace=SHORT, rules=RULES._replace(max_repeats=3))
    assert done.verdict.outcome != "invalid", done.verdict.reasons
    assert any("4 differ between two runs without" in reason for reason in done.verdict.reasons)


def test_synthetic_stacks_skip_the_content_check_and_say_so():
    spec = speculating(2.0, 1.5, differing=1.0, repeats_one_token=True)
    short = RULES._replace(max_repeats=3)
    done = judge(BASE, spec, synthetic=True, pace=SHORT, rules=short)
    assert done.verdict.outcome != "invalid", done.verdict.reasons
    assert done.as_dict()["synthetic"] is True


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        (QUIET._replace(power_mode="pmode:0002"), "power mode changed"),
        (QUIET._replace(clocks=(("policy0/scaling_max_freq", "1"),)), "clock limit changed"),
        (QUIET._replace(cooling=("gpu-throttle-alert",)), "throttled"),
    ],
)
def test_changed_conditions_are_invalid(changed, wanted):
    readings = iter([QUIET] * 3)
    done = judge(BASE, speculating(2.0, 1.5), conditions=lambda: next(readings, changed))
    assert done.verdict.outcome == "invalid"
    assert any(wanted in reason for reason in done.verdict.reasons)
    assert len(done.runs) == 3, "going on would be a waste"


def test_an_arm_that_does_not_start_is_invalid():
    arms = StubArms(BASE, speculating(2.0, 1.5), fails_to_start=BASELINE)
    done = judge(None, None, arms=arms)
    assert done.verdict.outcome == "invalid"
    assert done.verdict.reasons[0] == "the server ended while starting; out of memory"
    assert len(done.runs) == 4


def test_a_planned_arm_that_does_not_come_back_is_an_error_and_the_numbers_are_kept(tmp_path):
    arms = StubArms(BASE, speculating(0.5, 0.5, fail_from=8), fails_to_restore=True)
    with pytest.raises(DeviceError) as caught:
        judge(None, None, arms=arms, tmp_path=tmp_path)
    assert caught.value.status == ROLLBACK_INCOMPLETE
    assert json.loads((tmp_path / "result.json").read_text())["outcome"] == "invalid"


def test_ctrl_c_keeps_what_was_measured_and_puts_back_the_planned_arm(tmp_path):
    arms = StubArms(BASE, speculating(2.0, 1.5))

    def interrupt_soon(arm):
        if arm == BASELINE:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    arms.on_start = interrupt_soon
    with pytest.raises(KeyboardInterrupt):
        judge(None, None, arms=arms, tmp_path=tmp_path)
    assert arms.restored == 1
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) >= 4
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["outcome"] == "invalid"
    assert result["reasons"][0] == "the measurement was interrupted"


def test_a_full_disk_is_invalid(tmp_path):
    (tmp_path / "runs.jsonl").symlink_to("/dev/full")
    done = judge(BASE, speculating(2.0, 1.5), tmp_path=tmp_path)
    assert done.verdict.outcome == "invalid"
    assert "No space left" in done.verdict.reasons[0]


def test_an_engine_with_fewer_sequences_is_named():
    done = judge(BASE, speculating(2, 2, garbage=True), sequences=2)
    assert any("runs 2 sequences at once" in reason for reason in done.verdict.reasons)


def test_what_cannot_be_kept_is_no_pass(tmp_path):
    (tmp_path / "result.json").mkdir()
    done = decided(BASE, speculating(1.5, 1.1), tmp_path=tmp_path)
    assert done.verdict.outcome == "invalid"


def test_a_pass_whose_stack_does_not_come_back_is_kept_as_none(tmp_path):
    arms = StubArms(BASE, speculating(1.5, 1.1), fails_to_restore=True)
    with pytest.raises(DeviceError):
        decided(None, None, arms=arms, tmp_path=tmp_path)
    kept = json.loads((tmp_path / "result.json").read_text())
    assert kept["outcome"] == "invalid"
    assert "could not be put back" in kept["reasons"][0]


def test_a_fault_of_our_own_leaves_no_pass_behind(tmp_path):
    class Breaks(NamedTuple):
        left: list
        name: str = "native"

        def run(self, served, order):
            if not self.left:
                raise ArithmeticError("a bug")
            self.left.pop()
            return NativeRunner(builtin(), LONG, play=play).run(served, order)

    with pytest.raises(ArithmeticError):
        judge(BASE, speculating(1.5, 1.1), tmp_path=tmp_path, runner=Breaks([1] * 3))
    kept = json.loads((tmp_path / "result.json").read_text())
    assert (kept["outcome"], kept["reasons"][0]) == ("invalid", "the measurement broke off")


def test_a_marginal_verdict_names_what_fell_short():
    slow_first = speculating(1.45, 1.1, first_token_s=0.0)
    rules = RULES._replace(tpot_accept_pct=-60.0)
    done = decided(BASE, slow_first, rules=rules)
    assert done.verdict.outcome == "marginal"
    assert "TPOT" in done.verdict.reasons[0]
