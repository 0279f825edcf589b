"""The document that a board writes is the one that reports read: no key is lost on either side."""

import json

import msgspec
import pytest

from speccompose.device.accept import Result, Trial
from speccompose.device.acceptance_file import Rules
from speccompose.device.answer_reader import Sample
from speccompose.device.conditions import Conditions
from speccompose.device.contents import Contents
from speccompose.device.counters import Counters
from speccompose.device.dataset import builtin
from speccompose.device.load import Load
from speccompose.device.memory_watch import PeakMemory
from speccompose.device.result_document import categories_of, category_comparisons, run_document
from speccompose.device.runs import BASELINE, SPECULATIVE, Run
from speccompose.device.verdict import decide
from speccompose.device.window import Window, quick_pace
from speccompose.vocab.acceptance_result import AcceptanceResult, RunResult

RULES = Rules((1, 8), 2, 8, 16, 30.0, -20.0, 10.0, 0.97, 1.05)
COLD = Conditions("pmode:0000", (("policy0/scaling_max_freq", "9"),), (("x", 1),), (), 40.0)


def sample(started, seconds, category="coding", accepted=None):
    times = [(started + 0.1, 1.0), (started + seconds, 9.0)]
    return Sample(
        started, tuple(times), started + seconds, 10, "t", 12, accepted, None, "t", category
    )


def window(arm, concurrency, repeat, speed):
    samples = (sample(0, 10 / speed, "coding", 5), sample(1, 20 / speed, "qa", 0))
    run = Run(
        arm, concurrency, repeat, speed, 1000 / speed, 100.0, None if arm == BASELINE else 2.0
    )
    counted = None if arm == BASELINE else Counters(10, 30, 10, (6, 3, 1))
    memory = PeakMemory(9000, 512, "sampled")
    return Window(
        run, Load(concurrency, 2.0, 20.0, samples), counted, 0.0, memory, "2026-11-30T07:00:00Z"
    )


def result():
    windows = tuple(
        window(arm, level, repeat, 20.0 * (1.5 if arm == SPECULATIVE else 1.0) + 0.01 * repeat)
        for arm in (BASELINE, SPECULATIVE)
        for level in (1, 8)
        for repeat in (1, 2)
    )
    runs = tuple(each.run for each in windows)
    told = {
        "quick": True,
        "subject": {
            **dict.fromkeys(("device", "family", "engine_version", "image_digest", "draft")),
            "stack": "mine",
            "plan": "sha256:1",
            "engine": "vllm",
            "image": "i",
            "target": "a/b",
            "method": "mtp",
            "depth": 3,
            "context_tokens": 4096,
            "sequences": 8,
        },
        "dataset": {"name": "builtin", "sha256": "1", "conversations": 88},
        "commands": {"measure": "speccompose accept mine"},
        "artifacts": "/state/accept/1",
    }
    dataset = builtin()
    trial = Trial(RULES, quick_pace(16), dataset, "1", told=told)
    verdict = decide(runs, RULES)
    return Result(
        verdict, runs, windows, trial, (COLD, COLD), Contents(4, 1, 0, ()), "2026", "2027"
    )


def test_every_key_is_known_to_the_reader_and_kept_by_it():
    written = json.loads(json.dumps(result().as_dict()))
    read = msgspec.convert(written, AcceptanceResult)
    again = json.loads(msgspec.json.encode(read))
    optional = {"speccompose", "strict"}
    assert set(again) - set(written) <= optional
    assert {key: value for key, value in again.items() if key in written and key != "dataset"} == {
        key: value for key, value in written.items() if key != "dataset"
    }


def test_what_is_judged_stands_there_with_its_boundaries():
    read = msgspec.convert(result().as_dict(), AcceptanceResult)
    gain, tpot, load = read.comparisons
    assert (gain.accept_ratio, gain.reject_ratio) == (1.3, pytest.approx(1.1))
    assert (tpot.measure, tpot.accept_ratio, tpot.reject_ratio) == ("tpot_ms_p50", 0.8, None)
    assert (load.concurrency, load.accept_ratio, load.reject_ratio) == (8, 0.97, 1.0)
    assert gain.low <= gain.ratio <= gain.high
    assert gain.ratio == pytest.approx(1.5, rel=0.01)


def test_a_run_carries_its_distributions_and_counts():
    run = msgspec.convert(run_document(window(SPECULATIVE, 1, 1, 20.0)), RunResult)
    assert run.latency.ttft_ms.quantiles == (100.0,) * 21
    assert run.latency.e2e_ms.quantiles[0] == 500.0
    assert run.latency.e2e_ms.quantiles[-1] == 1000.0
    assert run.drafting.acceptance_by_position == (0.6, 0.3, 0.1)
    assert (run.memory.board_mib, run.preemptions, run.requests) == (9000, 0.0, 2)


def test_categories_are_told_apart():
    coding, qa = categories_of(window(SPECULATIVE, 1, 1, 20.0).load)
    assert (coding["category"], coding["request_tokens_s"]) == ("coding", 20.0)
    assert coding["mean_accepted_length"] == 2.0
    assert (qa["request_tokens_s"], qa["mean_accepted_length"]) == (10.0, 1.0)


def test_categories_are_compared_only_where_both_arms_have_them():
    both = [window(BASELINE, 1, 1, 20.0), window(SPECULATIVE, 1, 1, 30.0)]
    found = category_comparisons(both)
    assert [(each["category"], each["ratio"]) for each in found] == [("coding", 1.5), ("qa", 1.5)]
    assert category_comparisons(both[:1]) == []


def test_a_dataset_without_categories_has_none():
    plain = Load(1, 1.0, 10.0, (sample(0, 1, None),))
    assert categories_of(plain) == []


def test_without_windows_the_contract_is_kept():
    run = Run(BASELINE, 1, 1, 20.0, errors=("it fell over",))
    told = Result(decide([run], RULES), (run,)).as_dict()
    assert told["outcome"] == "invalid"
    assert told["runs"][0]["errors"] == ["it fell over"]
    assert msgspec.convert(told, AcceptanceResult).runs[0].latency is None
