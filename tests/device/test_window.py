"""One run: warm-up first, then what the client saw and what the engine counted."""

import threading

import pytest

from speccompose.device.answers import Server
from speccompose.device.dataset import builtin
from speccompose.device.runs import BASELINE, SPECULATIVE
from speccompose.device.window import (
    Order,
    Pace,
    Served,
    full_pace,
    greedy_texts,
    measure,
    quick_pace,
)
from tests.device.endpoints import endpoint_of
from tests.stub_server import LLAMA_CPP, VLLM, Script, StubServer

PACE = Pace(
    prompts=3, prompts_per_client=2, output_tokens=24, check_prompts=4, check_tokens=8, stall_s=2
)
FAST = {1: 2000.0, 8: 6000.0}


def served(stub):
    endpoint = endpoint_of(stub.url, stub.state.script.model)
    return Served(endpoint, Server(stub.state.script.engine, endpoint.host, endpoint.port))


def window(script, *, arm=SPECULATIVE, concurrency=1, before=None):
    with StubServer(script) as stub:
        if before is not None:
            before(stub)
        order = Order(arm, concurrency, 1, "test")
        return measure(served(stub), PACE, builtin(), order), stub.state


@pytest.mark.parametrize("engine", [VLLM, LLAMA_CPP])
def test_accepted_length_is_the_engines_delta(engine):
    script = Script(engine=engine, rates=FAST, depth=4, accepted_length=3.0)
    done, state = window(script)
    assert done.run.errors == ()
    counted = done.counted
    assert done.run.mean_accepted_length == pytest.approx(1 + counted.accepted / counted.drafts)
    assert 1.5 < done.run.mean_accepted_length < 4.5
    assert counted.drafts < state.totals["drafts"], "the warm-up must not be counted"
    assert len(counted.per_position) == 4


def test_warm_up_is_asked_but_not_measured():
    done, state = window(Script(rates=FAST), arm=BASELINE, concurrency=2)
    assert len(done.load.samples) == PACE.requests(2) == 4
    assert len(state.bodies) == 4 + 2
    assert {body["max_tokens"] for body in state.bodies[:2]} == {6}
    texts = [body["messages"][0]["content"] for body in state.bodies]
    assert len(set(texts)) == len(texts)


def test_both_arms_are_asked_the_same():
    asked = []
    for arm, depth in ((BASELINE, 0), (SPECULATIVE, 2)):
        _, state = window(Script(rates=FAST, depth=depth, accepted_length=1.5), arm=arm)
        asked.append([(body["messages"], body["max_tokens"]) for body in state.bodies])
    assert asked[0] == asked[1]


def test_no_drafts_at_all_is_a_length_of_one():
    done, _ = window(Script(rates=FAST, engine=LLAMA_CPP))
    assert done.run.mean_accepted_length == 1.0


def test_without_counters_the_answers_own_counts_serve():
    script = Script(rates=FAST, engine=LLAMA_CPP, counters=False, depth=4, accepted_length=3.0)
    done, _ = window(script)
    assert done.counted is None
    assert done.run.mean_accepted_length == pytest.approx(3.0, abs=0.8)


def test_an_engine_that_tells_nothing_leaves_it_open():
    done, _ = window(Script(rates=FAST, engine=VLLM, depth=4, accepted_length=3.0, counters=False))
    assert done.run.mean_accepted_length is None


def test_a_baseline_that_speculates_is_an_error():
    done, _ = window(Script(rates=FAST, depth=2, accepted_length=2.0), arm=BASELINE)
    assert done.run.errors == ("the baseline speculates: its engine counts drafts",)


@pytest.mark.parametrize("engine", [VLLM, LLAMA_CPP])
def test_counters_that_go_backwards_are_an_error(engine):
    script = Script(
        engine=engine, rates=FAST, depth=2, accepted_length=2.0, reset_counters_at=6 + 70
    )
    done, _ = window(script)
    assert done.run.errors == ("the engine's counters went backwards: it was restarted",)


def test_preemptions_are_the_runs_own():
    """vLLM counts requests that it had to set aside; llama.cpp has no such thing."""
    script = Script(engine=VLLM, rates=FAST, preempts_from=4)
    done, state = window(script, arm=BASELINE, concurrency=8)
    assert 0 < done.preemptions < state.totals["preemptions"]
    calm, _ = window(script, arm=BASELINE)
    assert calm.preemptions == 0
    assert window(Script(rates=FAST), arm=BASELINE)[0].preemptions is None


def test_a_restart_whose_counters_have_caught_up_is_seen():
    """The baseline of vLLM counts no drafts: the generated tokens tell."""
    script = Script(engine=VLLM, rates=FAST, reset_counters_at=6 + 40)
    done, _ = window(script, arm=BASELINE)
    assert "it was restarted" in done.run.errors[0]


def test_somebody_else_who_is_served_meanwhile_spoils_the_run():
    """Load of another client is in neither arm's plan."""

    def intrude(stub):
        order = Order(BASELINE, 1, 9, "intruder")
        pace = PACE._replace(prompts=8)
        threading.Thread(
            target=measure, args=(served(stub), pace, builtin(), order), daemon=True
        ).start()

    done, _ = window(Script(rates={1: 300.0, 8: 900.0}), arm=BASELINE, before=intrude)
    assert "somebody else was served meanwhile" in done.run.errors[0]


def test_memory_is_watched_meanwhile():
    done, _ = window(Script(rates=FAST), arm=BASELINE)
    assert done.memory.board_mib > 0


def test_so_many_requests_as_asked_for():
    pace = PACE._replace(exactly=5)
    assert (pace.requests(1), pace.requests(8)) == (5, 8)


@pytest.mark.parametrize(
    ("script", "concurrency", "wanted"),
    [
        (Script(rates={1: 100.0, 8: 800.0}, fail_from=8), 8, "warm-up: "),
        (Script(rates=FAST, garbage=True), 1, "warm-up: "),
        (Script(rates=FAST, break_after=9, from_request=9), 8, "connection lost"),
        (Script(rates={1: 300.0, 8: 900.0}, die_at_request=12), 8, "connection lost"),
    ],
)
def test_faults_are_the_runs_errors(script, concurrency, wanted):
    done, _ = window(script, arm=BASELINE, concurrency=concurrency)
    assert any(wanted in error for error in done.run.errors)


def test_greedy_answers_stand_in_order_however_many_at_once():
    with StubServer(Script(rates=FAST)) as stub:
        alone, errors = greedy_texts(served(stub), PACE, builtin(), at_once=1)
        together, _ = greedy_texts(served(stub), PACE, builtin(), at_once=4)
        assert alone == together
        assert errors == ()
        assert len(set(alone)) == 4
        assert all(body["temperature"] == 0 for body in stub.state.bodies)


def test_paces():
    full, quick = full_pace(128), quick_pace(128)
    assert (full.output_tokens, quick.output_tokens) == (128, 24)
    assert (full.requests(1), full.requests(8)) == (11, 32)
    assert (quick.requests(1), quick.requests(8)) == (3, 8)
    assert quick_pace(16).output_tokens == 16
