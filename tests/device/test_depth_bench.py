"""Each depth in a folder of its own; who was killed goes on where it was."""

import json
import os
import signal
import threading

import pytest

from speccompose.device.answers import Server
from speccompose.device.conditions import Conditions
from speccompose.device.dataset import builtin
from speccompose.device.depth_bench import DepthBench, Sweep, session_folder
from speccompose.device.errors import DEPLOY, DeviceError
from speccompose.device.runner import NativeRunner
from speccompose.device.window import Pace, Served
from tests.device.endpoints import endpoint_of
from tests.stub_server import Script, StubServer

QUIET = Conditions("pmode:0000", (), (), (), None)
PACE = Pace(1, 1, 8, 1, 4, stall_s=2)
COMMANDS = {depth: ("serve", str(depth)) for depth in range(6)}
RATES = {1: 4000.0, 8: 9000.0}


class StubArms:
    """A scripted server per arm; ``scripts`` by name."""

    def __init__(self, scripts):
        self.scripts = scripts
        self.started = []
        self.stub = None

    def start(self, arm):
        self.started.append(arm)
        if arm not in self.scripts:
            raise DeviceError(DEPLOY, "the server ended while starting", ["out of memory"])
        self.stop()
        self.stub = StubServer(self.scripts[arm]).start()
        endpoint = endpoint_of(self.stub.url, "stub-model")
        return Served(endpoint, Server(self.stub.state.script.engine, endpoint.host, endpoint.port))

    def restore(self):
        self.stop()

    def stop(self):
        if self.stub is not None:
            self.stub.stop()
            self.stub = None


def speculating(depth, **more):
    return Script(
        **{"rates": RATES, "depth": depth, "positions": (0.8, 0.6, 0.4, 0.3, 0.2)[:depth], **more}
    )


def bench(tmp_path, scripts=None, *, levels=(1,), repeats=2, conditions=None, **more):
    arms = StubArms(scripts or {"d0": Script(rates=RATES), "d3": speculating(3)})
    sweep = Sweep(levels, repeats, "mark", NativeRunner(builtin(), PACE), COMMANDS)
    said = []
    made = DepthBench(
        arms,
        sweep,
        tmp_path,
        arm_of=more.get("arm_of", lambda depth: (f"d{depth}", False)),
        say=said.append,
        conditions=conditions or (lambda: QUIET),
    )
    made.arms = arms
    return made


def test_a_depth_is_measured_and_kept(tmp_path):
    made = bench(tmp_path, levels=(1, 4))
    found = made.measure(3)
    assert found.faults == ()
    assert [(run["concurrency"], run["repeat"]) for run in found.runs] == [
        (1, 1),
        (4, 1),
        (1, 2),
        (4, 2),
    ]
    assert {run["arm"] for run in found.runs} == {"speculative"}
    assert found.folder == str(tmp_path / "depth-3")
    lines = (tmp_path / "depth-3" / "runs.jsonl").read_text().splitlines()
    assert len(lines) == 4
    assert {run["arm"] for run in made.measure(0).runs} == {"baseline"}


def test_what_is_finished_is_taken_over(tmp_path):
    first = bench(tmp_path).measure(3)
    again = bench(tmp_path)
    taken = again.measure(3)
    assert taken.reused
    assert list(taken.runs) == list(first.runs)
    assert again.arms.started == []
    assert not again.touched


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: {**body, "finished": False},
        lambda body: {**body, "command": ["serve", "4"]},
        lambda body: {**body, "depth": 4},
        lambda body: {**body, "runs": []},
        lambda body: [],
    ],
)
def test_what_is_not_the_same_is_measured_again(tmp_path, spoil):
    bench(tmp_path).measure(3)
    file = tmp_path / "depth-3" / "depth.json"
    file.write_text(json.dumps(spoil(json.loads(file.read_text()))))
    again = bench(tmp_path).measure(3)
    assert not again.reused
    assert len((tmp_path / "depth-3" / "runs.jsonl").read_text().splitlines()) == len(again.runs)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_kept_file_that_cannot_be_read_is_measured_again(tmp_path, content):
    (tmp_path / "depth-3").mkdir()
    (tmp_path / "depth-3" / "depth.json").write_bytes(content)
    assert not bench(tmp_path).measure(3).reused


def test_a_depth_that_does_not_start_is_refused_and_nothing_is_kept(tmp_path):
    found = bench(tmp_path).measure(5)
    assert found.refused == "the server ended while starting; out of memory"
    assert not (tmp_path / "depth-5").exists()


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        ({"die_at_request": 4}, "connection lost"),
        ({"fail_from": 1, "from_request": 1}, "status 500"),
        ({"garbage": True}, "without its end"),
        ({"reset_counters_at": 20}, "it was restarted"),
        ({"short_by": 1}, "instead of"),
    ],
)
def test_faults_end_the_depth_and_it_is_measured_again_next_time(tmp_path, fault, wanted):
    found = bench(tmp_path, {"d3": speculating(3, **fault)}, repeats=3).measure(3)
    assert any(wanted in each for each in found.faults), found.faults
    assert json.loads((tmp_path / "depth-3" / "depth.json").read_text())["finished"] is False
    assert bench(tmp_path).measure(3).faults == ()


def test_a_power_mode_that_changes_is_a_fault(tmp_path):
    readings = iter([QUIET, QUIET])
    other = QUIET._replace(power_mode="pmode:0002")
    found = bench(tmp_path, conditions=lambda: next(readings, other)).measure(3)
    assert any("power mode changed" in fault for fault in found.faults)


def test_a_power_mode_that_changes_between_depths_is_a_fault(tmp_path):
    now = [QUIET]
    made = bench(tmp_path, conditions=lambda: now[0])
    assert made.measure(0).faults == ()
    now[0] = QUIET._replace(clocks=(("policy0/scaling_max_freq", "1"),))
    assert any("clock limit" in fault for fault in made.measure(3).faults)


def test_a_full_disk_is_a_fault(tmp_path):
    (tmp_path / "depth-3").mkdir()
    (tmp_path / "depth-3" / "runs.jsonl").symlink_to("/dev/full")
    found = bench(tmp_path).measure(3)
    assert any("No space left" in fault for fault in found.faults)


def test_an_interrupt_keeps_the_runs_so_far(tmp_path):
    made = bench(tmp_path, {"d3": speculating(3, rates={1: 60.0})}, repeats=9)
    threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        made.measure(3)
    assert (tmp_path / "depth-3" / "runs.jsonl").read_text().splitlines()
    assert not (tmp_path / "depth-3" / "depth.json").exists()


def test_the_depth_goes_with_the_request_where_the_server_takes_it(tmp_path):
    deep = speculating(5, depth_rates=dict.fromkeys(range(1, 6), RATES))
    made = bench(tmp_path, {"deep": deep}, arm_of=lambda depth: ("deep", True))
    for depth in (2, 4):
        (run, _) = made.measure(depth).runs
        told = run["drafting"]
        assert told["draft_tokens"] == depth * told["drafts"]
    assert made.arms.started == ["deep", "deep"]


def test_prompts_are_the_same_for_every_depth_unless_one_server_has_them_all(tmp_path):
    """A server must not find in its cache what it was asked at another depth."""
    rates = dict.fromkeys(range(1, 6), RATES)
    for name, per_request in (("restart", False), ("request", True)):
        asked = []
        scripts = {"deep": speculating(5, depth_rates=rates), "d2": speculating(2)}
        for depth in (2, 4):
            scripts[f"d{depth}"] = speculating(depth)
            arm = "deep" if per_request else f"d{depth}"
            made = bench(
                tmp_path / name, scripts, arm_of=lambda _, a=arm, p=per_request: (a, p), repeats=1
            )
            made.measure(depth)
            asked.append({body["messages"][0]["content"] for body in made.arms.stub.state.bodies})
        assert (asked[0] == asked[1]) != per_request


def test_a_session_is_known_by_what_its_figures_hold_for(tmp_path):
    one = session_folder(tmp_path, {"image": "a", "repeats": 3}, fresh=False)
    assert session_folder(tmp_path, {"repeats": 3, "image": "a"}, fresh=False) == one
    assert session_folder(tmp_path, {"image": "a", "repeats": 2}, fresh=False) != one
    (one / "depth-3").mkdir()
    assert session_folder(tmp_path, {"image": "a", "repeats": 3}, fresh=True) == one
    assert not (one / "depth-3").exists()
    assert len(list((tmp_path / "tune").glob(f"{one.name}.*/depth-3"))) == 1
    assert json.loads((one / "session.json").read_text())["image"] == "a"


def test_a_session_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "tune").write_text("")
    with pytest.raises(OSError, match=r"."):
        session_folder(tmp_path, {"image": "a"}, fresh=False)
