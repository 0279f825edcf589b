"""AIPerf in the place of our own client: the same windows, the same verdict, and every way to fail.

A stand-in for the program (fake_aiperf.py) really asks the stub server; the real one is tested in
tests/aiperf.
"""

import json
import os
import signal
import stat
import threading
import time
from pathlib import Path

import pytest

from speccompose.device.accept import Trial, accept
from speccompose.device.acceptance_file import Rules
from speccompose.device.answers import Server
from speccompose.device.artifacts import Artifacts
from speccompose.device.conditions import Conditions
from speccompose.device.dataset import Conversation, Dataset, builtin, load_dataset
from speccompose.device.depth_bench import DepthBench, Sweep
from speccompose.device.errors import DeviceError
from speccompose.device.ports import silent
from speccompose.device.runs import BASELINE, SPECULATIVE
from speccompose.device.window import Order, Served, quick_pace
from speccompose.measure.aiperf import Asked, aiperf_runner
from speccompose.measure.aiperf_program import find_aiperf
from tests.device.endpoints import endpoint_of
from tests.device.speed_bench_file import write_speed_bench
from tests.measure.fake_aiperf import install
from tests.stub_server import VLLM, Script, StubServer

QUIET = Conditions(None, (), (), (), None)
ORDER = Order(SPECULATIVE, 2, 1, "mark")
DRAFTING = {"depth": 3, "accepted_length": 2.5}


def runner(tmp_path, dataset=None, *, version="0.13.0", requests=8, category=None, **wrong):
    program = find_aiperf(
        str(install(tmp_path / "bin", version=version, **wrong)), beside=Path("/nonexistent")
    )
    asked = Asked(category=category, requests=requests, output_tokens=16)
    return aiperf_runner(program, dataset or builtin(), tmp_path / "kept", asked=asked)


def served_by(stub, key=None):
    endpoint = endpoint_of(stub.url, stub.state.script.model, key)
    engine = stub.state.script.engine
    return Served(endpoint, Server(engine, endpoint.host, endpoint.port, key))


def run(tmp_path, script=None, *, order=ORDER, key=None, **choice):
    made = runner(tmp_path, **choice)
    with StubServer(script or Script(rates={1: 2000.0, 8: 8000.0}, **DRAFTING)) as stub:
        return made.run(served_by(stub, key), order)


def test_a_run_is_a_window_as_our_own_client_gives_it(tmp_path):
    window = run(tmp_path)
    assert window.run.errors == ()
    assert (window.run.arm, window.run.concurrency, window.run.repeat) == (SPECULATIVE, 2, 1)
    assert window.run.output_tokens_s == window.load.output_tokens_s > 0
    assert window.run.tpot_ms_p50 > 0
    assert window.run.ttft_ms_p50 > 0
    assert window.run.mean_accepted_length == pytest.approx(2.5, abs=0.4)
    assert window.counted.drafts > 0
    assert len(window.load.good) == 8
    assert {sample.category for sample in window.load.samples} <= {
        each.category for each in builtin().conversations
    }


def test_the_baseline_has_no_accepted_length(tmp_path):
    order = Order(BASELINE, 1, 1, "mark")
    window = run(tmp_path, Script(rates={1: 2000.0}), order=order)
    assert (window.run.errors, window.run.mean_accepted_length) == ((), None)


def test_vllm_is_read_by_its_own_counters(tmp_path):
    window = run(tmp_path, Script(engine=VLLM, rates={1: 2000.0, 8: 8000.0}, **DRAFTING))
    assert window.run.errors == ()
    assert window.run.mean_accepted_length == pytest.approx(2.5, abs=0.4)


def test_speed_bench_goes_in_as_such(tmp_path):
    dataset = load_dataset(write_speed_bench(tmp_path), category="coding", requests=None)
    made = runner(tmp_path, dataset, category="coding", requests=None)
    with StubServer(Script(rates={1: 40_000.0, 8: 90_000.0}, **DRAFTING)) as stub:
        window = made.run(served_by(stub), ORDER)
    given = json.loads((made.folder(ORDER).parent / "c2-r1" / "seen.json").read_text())["given"]
    assert window.run.errors == ()
    assert (given["kind"], given["sessions"]) == ("speed_bench_coding", "80")
    assert len(window.load.samples) == dataset.turns == 112


def test_every_run_has_a_folder_of_its_own(tmp_path):
    made = runner(tmp_path)
    again = Order(SPECULATIVE, 8, 2, "mark")
    searched = Order(SPECULATIVE, 1, 10, "mark", None, "depth-3")
    assert made.folder(again) == tmp_path / "kept/mark/aiperf/speculative/c8-r2"
    assert made.folder(searched) == tmp_path / "kept/depth-3/aiperf/c1-r10"
    for taken in ("c1-r1", "c1-r1-again-1", "c1-r10"):
        (tmp_path / "kept/depth-3/aiperf" / taken).mkdir(parents=True)
    first = searched._replace(repeat=1)
    assert made.folder(first).name == "c1-r1-again-2"
    assert made.folder(searched).name == "c1-r10-again-1"


def test_a_depth_per_request_reaches_the_server(tmp_path):
    made = runner(tmp_path)
    with StubServer(Script(rates={1: 2000.0}, **DRAFTING)) as stub:
        made.run(served_by(stub), ORDER._replace(draft_tokens=2))
    words = json.loads((tmp_path / "kept/mark/aiperf/speculative/c2-r1/seen.json").read_text())
    assert json.loads(words["argv"][words["argv"].index("--extra-inputs") + 1]) == {
        "speculative.n_max": 2
    }


KEY = 'secret-"key$1'


def test_a_key_reaches_the_server_and_nothing_else(tmp_path):
    script = Script(rates={1: 2000.0, 8: 8000.0}, api_key=KEY, **DRAFTING)
    window = run(tmp_path, script, key=KEY)
    assert window.run.errors == ()
    assert window.run.mean_accepted_length == pytest.approx(2.5, abs=0.4)  # our own readings
    folder = tmp_path / "kept/mark/aiperf/speculative/c2-r1"
    assert not (folder / "server_metrics_export.json").exists()
    seen = json.loads((folder / "seen.json").read_text())
    assert KEY not in " ".join(seen["argv"])
    (folder / "seen.json").unlink()
    for path in folder.rglob("*"):
        assert path.is_dir() or KEY not in path.read_text()


def test_a_wrong_key_fails_without_showing_it(tmp_path):
    window = run(tmp_path, Script(api_key="right-key"), key="wrong-key-1234")
    assert "status 401" in window.run.errors[0]
    assert "wrong-key-1234" not in str(window)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"crash_after": 3}, "AIPerf ended with status 1: 10:00:00 ERROR everything fell over"),
        ({"die_after": 3}, "AIPerf ended with signal 9"),
        ({"keep": 5}, "tells of 8 requests, profile_export.jsonl of 5"),
        ({"cut": ["profile_export_aiperf.json", 100]}, "is cut off or no JSON"),
        ({"cut": ["profile_export.jsonl", 900]}, "is no record of a request"),
        ({"cut": ["server_metrics_export.json", 10]}, "server_metrics_export.json is cut off"),
        ({"without": "profile_export_aiperf.json"}, "AIPerf left no profile_export_aiperf.json"),
        ({"cancelled": True}, "AIPerf was cancelled"),
        ({"incomplete": True}, "not complete"),
    ],
)
def test_however_aiperf_fails_it_is_told_and_what_was_measured_is_kept(tmp_path, wrong, said):
    window = run(tmp_path, **wrong)
    assert any(said in error for error in window.run.errors), window.run.errors
    assert not any("somebody else" in error for error in window.run.errors)
    assert (tmp_path / "kept/mark/aiperf/speculative/c2-r1/profile_export.jsonl").exists()
    if "crash_after" in wrong:
        assert len(window.load.samples) == 3


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (Script(fail_from=2), "500"),
        (Script(rates={1: 2000.0}, die_at_request=7), "requests failed"),
        (Script(usage="none"), "no usage"),
    ],
)
def test_requests_that_fail_are_told_as_our_own_client_tells_them(tmp_path, script, said):
    errors = run(tmp_path, script).run.errors
    assert any(said in error for error in errors), errors


def test_a_server_whose_counters_went_backwards_is_told(tmp_path):
    script = Script(rates={1: 2000.0, 8: 8000.0}, reset_counters_at=90, **DRAFTING)
    errors = run(tmp_path, script).run.errors
    assert any("restarted" in error for error in errors), errors


def test_a_server_that_is_not_there_ends_before_aiperf_runs(tmp_path):
    with StubServer(Script()) as stub:
        served = served_by(stub)
    window = runner(tmp_path).run(served, ORDER)
    assert "warm-up" in window.run.errors[0]
    assert not (tmp_path / "kept").exists()


def test_files_that_cannot_be_written_are_told(tmp_path):
    (tmp_path / "kept").write_text("a file in the way")
    assert "cannot be written" in run(tmp_path).run.errors[0]


def test_aiperf_that_says_nothing_is_stopped(tmp_path):
    """The real limit is hours; a program that hangs is ended by the same call."""
    program = find_aiperf(str(install(tmp_path, hang=True)), beside=Path("/nonexistent"))
    words = ["profile", "--output-artifact-dir", str(tmp_path)]
    done = program.call(words, timeout_s=1.0, secrets={})
    assert done.returncode == 124


def test_an_interrupt_ends_aiperf_and_is_passed_on(tmp_path):
    made = runner(tmp_path, hang=True)
    folder = tmp_path / "kept/mark/aiperf/speculative/c2-r1"
    with StubServer(Script(rates={1: 2000.0}, **DRAFTING)) as stub:
        waiter = threading.Thread(target=interrupt_when, args=(folder / "seen.json",), daemon=True)
        waiter.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            made.run(served_by(stub), ORDER)
        assert time.monotonic() - began < 30
    assert (folder / "conversations.jsonl").exists()


def interrupt_when(path):
    while not path.exists():
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)


def test_system_messages_want_a_version_that_knows_them(tmp_path):
    dataset = Dataset("mine", "0", (Conversation("a", None, ("one",), "Be brief."),))
    with pytest.raises(DeviceError) as caught:
        runner(tmp_path, dataset, version="0.11.0")
    assert (caught.value.status, caught.value.code) == (2, "aiperf_system_message")
    assert runner(tmp_path, dataset, version="0.12.0").name == "aiperf"


def test_the_command_is_kept_to_be_repeated(tmp_path):
    run(tmp_path)
    folder = tmp_path / "kept/mark/aiperf/speculative/c2-r1"
    assert (folder / "command.txt").read_text().startswith(f"{tmp_path}/bin/aiperf profile --model")
    assert stat.S_ISREG((folder / "command.txt").stat().st_mode)


class TwoServers:
    """Arms that are two stub servers."""

    def __init__(self, baseline, speculative):
        self.servers = {BASELINE: StubServer(baseline), SPECULATIVE: StubServer(speculative)}
        self.restored = 0
        for server in self.servers.values():
            server.start()

    def start(self, arm):
        return served_by(self.servers[arm])

    def restore(self):
        self.restored += 1

    def stop(self):
        for server in self.servers.values():
            server.stop()


RULES = Rules((1, 8), 2, 2, 16, 30.0, -20.0, 10.0, 0.97, 1.05)


def judged(tmp_path, drafting, **wrong):
    """Both arms by an AIPerf that tells of given speeds, so that no machine's noise decides."""
    fast = {1: 20_000.0, 8: 60_000.0}
    arms = TwoServers(Script(rates=fast), Script(rates=fast, **DRAFTING))
    told = {"plain": {"1": 30.0, "8": 120.0}, "drafting": drafting}
    made = runner(tmp_path, requests=8, told=told, **wrong)
    trial = Trial(RULES, quick_pace(16), builtin(), "mark", synthetic=True, runner=made)
    try:
        result = accept(
            trial, arms, artifacts=Artifacts(tmp_path / "result"), conditions=lambda: QUIET
        )
    finally:
        arms.stop()
    assert arms.restored == 1
    return result


@pytest.mark.parametrize(
    ("drafting", "outcome"),
    [
        ({"1": 48.0, "8": 126.0}, "accepted"),
        ({"1": 36.0, "8": 126.0}, "marginal"),
        ({"1": 48.0, "8": 100.0}, "rejected"),
        ({"1": 31.0, "8": 126.0}, "rejected"),
    ],
)
def test_the_verdict_follows_the_same_rules(tmp_path, drafting, outcome):
    found = judged(tmp_path, drafting)
    assert found.verdict.outcome == outcome, found.verdict.reasons
    assert found.as_dict()["runner"] == "aiperf"
    kept = [json.loads(line) for line in (tmp_path / "result/runs.jsonl").read_text().splitlines()]
    assert {(run["arm"], run["concurrency"]) for run in kept} == {
        (arm, level) for arm in (BASELINE, SPECULATIVE) for level in (1, 8)
    }


def test_a_crash_is_invalid_and_never_a_pass(tmp_path):
    found = judged(tmp_path, {"1": 48.0, "8": 126.0}, crash_after=5)
    assert found.verdict.outcome == "invalid"
    assert "AIPerf ended with status 1" in found.verdict.reasons[0]
    assert json.loads((tmp_path / "result/result.json").read_text())["outcome"] == "invalid"


class OneServer:
    """Arms that are always the same server."""

    def __init__(self, stub):
        self.stub = stub

    def start(self, arm):
        return served_by(self.stub)

    def restore(self):
        """Nothing was changed."""


def test_a_depth_search_gives_each_depth_its_folder(tmp_path):
    made = runner(tmp_path, requests=4)
    sweep = Sweep((1, 2), 1, "mark", made, {3: ("serve",)})
    with StubServer(Script(rates={1: 20_000.0, 2: 40_000.0}, **DRAFTING)) as stub:
        bench = DepthBench(
            OneServer(stub),
            sweep,
            tmp_path / "kept",
            arm_of=lambda depth: (f"depth {depth}", False),
            say=silent,
            conditions=lambda: QUIET,
        )
        found = bench.measure(3)
    assert (found.refused, found.faults) == (None, ())
    assert [run["concurrency"] for run in found.runs] == [1, 2]
    kept = tmp_path / "kept/depth-3/aiperf"
    assert sorted(path.name for path in kept.iterdir()) == ["c1-r1", "c2-r1"]
