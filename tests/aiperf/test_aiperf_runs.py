"""Runs of the real AIPerf against the real llama-server, read back."""

import csv
import json
import os
import signal
import threading
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from speccompose.device.dataset import Conversation, Dataset, builtin, load_dataset
from speccompose.device.errors import DeviceError
from speccompose.device.runs import BASELINE, SPECULATIVE
from speccompose.device.window import Order
from speccompose.measure.aiperf import Asked, aiperf_runner
from speccompose.measure.aiperf_report import throughput_reports
from tests.aiperf.conftest import llama_server

pytestmark = pytest.mark.aiperf

TOKENS = 16


def runner(program, dataset, root, **asked):
    return aiperf_runner(program, dataset, root, asked=Asked(output_tokens=TOKENS, **asked))


def order(arm=SPECULATIVE, concurrency=1, repeat=1):
    return Order(arm, concurrency, repeat, "mark")


def test_the_program_says_the_version_that_is_installed(program):
    assert f"{program.version[0]}.{program.version[1]}." in version("aiperf")


@pytest.mark.parametrize("concurrency", [1, 8])
def test_one_category_with_its_eighty(program, drafting, speed_bench, tmp_path, concurrency):
    dataset = load_dataset(speed_bench, category="coding", requests=None)
    made = runner(program, dataset, tmp_path, category="coding")
    window = made.run(drafting, order(concurrency=concurrency))
    run = window.run
    assert run.errors == ()
    assert len(window.load.good) == dataset.turns == 112
    assert window.load.generated == 112 * TOKENS
    assert run.output_tokens_s > 0
    assert run.tpot_ms_p50 > 0
    assert run.ttft_ms_p50 > 0
    assert run.mean_accepted_length == pytest.approx(2.5, abs=0.25)
    assert {sample.category for sample in window.load.samples} == {"coding"}
    told = json.loads((made.root / folder(concurrency) / "profile_export_aiperf.json").read_text())
    assert run.output_tokens_s == pytest.approx(told["output_token_throughput"]["avg"])
    assert told["input_config"]["datasets"][0]["format"] == "speed_bench_coding"


def folder(concurrency=1, arm=SPECULATIVE):
    return f"mark/aiperf/{arm}/c{concurrency}-r1"


def test_the_counters_are_the_same_by_both_readers(program, drafting, tmp_path):
    """AIPerf's reading of the counters and our own, around the same requests."""
    before = drafting.server.metrics()
    window = runner(program, builtin(), tmp_path, requests=6).run(drafting, order())
    own = counters(drafting).since(counters_in(before))
    assert window.run.errors == ()
    warm_up = own.drafts - window.counted.drafts
    assert 0 < warm_up < 8
    assert window.counted.drafts > 20


def counters(served):
    return counters_in(served.server.metrics())


def counters_in(text):
    from speccompose.device.counters import read_counters

    return read_counters(text, "llama.cpp")


def test_all_of_it_is_played_once(program, drafting, speed_bench, tmp_path):
    """Shorter answers of this random model may hold no whole character, an error to AIPerf."""
    dataset = load_dataset(speed_bench, category=None, requests=None)
    made = runner(program, dataset, tmp_path)
    window = made.run(drafting, order(concurrency=8))
    assert window.run.errors == ()
    assert len(window.load.good) == 880 + 2 * 11 * 16
    assert len({sample.category for sample in window.load.samples}) == 11


@pytest.mark.parametrize(("requests", "concurrency"), [(5, 1), (3, 8), (13, 8)])
def test_exactly_so_many_requests(program, drafting, speed_bench, tmp_path, requests, concurrency):
    dataset = load_dataset(speed_bench, category=None, requests=None)
    made = runner(program, dataset, tmp_path, requests=requests)
    window = made.run(drafting, order(concurrency=concurrency))
    assert window.run.errors == ()
    assert len(window.load.good) == max(requests, concurrency)


def test_the_baseline_drafts_nothing(program, plain, tmp_path):
    window = runner(program, builtin(), tmp_path, requests=4).run(plain, order(BASELINE))
    assert window.run.errors == ()
    assert window.run.mean_accepted_length is None
    assert window.counted.drafts == 0


def test_a_baseline_that_drafts_is_told(program, drafting, tmp_path):
    window = runner(program, builtin(), tmp_path, requests=4).run(drafting, order(BASELINE))
    assert any("the baseline speculates" in error for error in window.run.errors)


def test_several_turns_carry_what_was_said(program, plain, tmp_path):
    """Prompts grow from turn to turn: the earlier ones and their answers stand before them."""
    turns = tuple(f"a question number {number}" for number in range(3))
    dataset = Dataset("mine", "0", (Conversation("a", None, turns),))
    window = runner(program, dataset, tmp_path).run(plain, order(BASELINE))
    assert window.run.errors == ()
    lines = (tmp_path / folder(arm=BASELINE) / "profile_export.jsonl").read_text().splitlines()
    lengths = [json.loads(line)["metrics"]["input_sequence_length"]["value"] for line in lines]
    assert len(lengths) == 3
    assert lengths[1] > lengths[0] + TOKENS // 2
    assert lengths[2] > lengths[1] + TOKENS // 2


def test_system_messages_are_sent_or_refused(program, plain, tmp_path):
    dataset = Dataset("mine", "0", (Conversation("a", None, ("one", "two"), "Be brief."),))
    if program.sends_system_messages_alone:
        with pytest.raises(DeviceError, match="system messages"):
            runner(program, dataset, tmp_path)
        return
    window = runner(program, dataset, tmp_path).run(plain, order(BASELINE))
    assert window.run.errors == ()
    assert len(window.load.good) == 2


def test_a_key_goes_in_unseen(program, models, tmp_path):
    key = 'secret-"key$1#'
    with llama_server(models, key=key) as served:
        window = runner(program, builtin(), tmp_path, requests=4).run(served, order(BASELINE))
    assert window.run.errors == ()
    assert len(window.load.good) == 4
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [path.name for path in files if key in path.read_text(errors="replace")] == []


def test_its_own_report_of_categories(program, drafting, speed_bench, tmp_path):
    for category in ("math", "writing"):
        dataset = load_dataset(speed_bench, category=category, requests=None)
        made = runner(program, dataset, tmp_path / "depth-4", category=category, requests=4)
        made.run(drafting, order(repeat=1 + (category == "writing")))
    (report,) = throughput_reports(program, tmp_path)
    assert report.fault is None
    (row,) = csv.DictReader(report.path.read_text().splitlines())
    assert row["Model"] == "tests/tiny-target"
    assert float(row["math"]) > 0
    assert float(row["writing"]) > 0


def test_an_interrupt_leaves_nobody_behind(program, drafting, tmp_path, left_over):
    made = aiperf_runner(program, builtin(), tmp_path, asked=Asked(output_tokens=400))
    kept = tmp_path / folder()
    act_when(kept / "profile_export.jsonl", lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        made.run(drafting, order())
    assert until_gone(left_over) == []
    assert (kept / "conversations.jsonl").exists()


def test_a_crash_is_told_at_once_and_leaves_nobody_behind(program, drafting, tmp_path, left_over):
    """Its first process dies; the others would go on asking."""
    made = aiperf_runner(program, builtin(), tmp_path, asked=Asked(output_tokens=400))
    act_when(tmp_path / folder() / "profile_export.jsonl", kill_the_first)
    began = time.monotonic()
    window = made.run(drafting, order())
    assert time.monotonic() - began < 90
    assert "AIPerf ended with signal 9" in window.run.errors[0]
    assert until_gone(left_over) == []


def act_when(path: Path, act) -> None:
    """Once the file is there, and a little later: AIPerf is at work then."""

    def wait() -> None:
        while not path.exists():
            time.sleep(0.05)
        time.sleep(5)
        act()

    threading.Thread(target=wait, daemon=True).start()


def kill_the_first() -> None:
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cmdline").read_bytes().startswith(b"aiperf system_controller"):
                os.kill(int(path.name), signal.SIGKILL)
        except OSError:
            continue


def until_gone(look):
    """Processes that are still there after some seconds."""
    for _ in range(50):
        if not look():
            return []
        time.sleep(0.1)
    return look()
