"""The closed loop: how many at once, what is counted, what ends it."""

import os
import signal
import threading
import time

import pytest

from speccompose.device.answer_reader import Ask, Sample
from speccompose.device.dataset_rows import Conversation
from speccompose.device.load import Load, run_load
from tests.device.endpoints import endpoint_of
from tests.stub_server import Script, StubServer


def is_near(measured, rate):
    """Nothing makes it faster than scripted; how much slower, a busy machine decides."""
    return 0.1 * rate < measured < 1.03 * rate


def questions(texts):
    return [Conversation(text, None, (text,)) for text in texts]


def load(script, *, concurrency, count, tokens=16, stall_s=5.0):
    prompts = questions(f"prompt {number}" for number in range(count))
    with StubServer(script) as stub:
        endpoint = endpoint_of(stub.url, script.model)
        done = run_load(
            endpoint, prompts, concurrency=concurrency, ask=Ask(tokens, stall_s=stall_s)
        )
        return done, stub.state


def test_one_client_measures_the_scripted_speed():
    done, _ = load(Script(rates={1: 400.0}), concurrency=1, count=4, tokens=32)
    assert done.errors == ()
    assert is_near(done.output_tokens_s, 400.0)
    assert 2.7 / 2 < done.tpot_ms(0.5) < 2.7 * 9
    assert done.tokens == 128


def test_eight_clients_are_eight_streams_at_once():
    done, state = load(Script(rates={1: 200.0, 8: 800.0}), concurrency=8, count=24)
    assert done.errors == ()
    assert is_near(done.output_tokens_s, 800.0)
    assert 10.8 / 2 < done.tpot_ms(0.5) < 10.8 * 9
    assert len(done.samples) == 24
    assert state.active == 0


def test_every_prompt_is_sent_once_and_samples_stand_in_their_order():
    done, state = load(Script(rates={1: 4000.0, 8: 9000.0}), concurrency=4, count=10)
    sent = [body["messages"][0]["content"] for body in state.bodies]
    assert sorted(sent) == sorted(f"prompt {number}" for number in range(10))
    again, _ = load(Script(rates={1: 4000.0}), concurrency=1, count=10)
    assert [s.text for s in done.samples] == [s.text for s in again.samples]


def test_bursts_change_neither_speed_nor_time_per_token():
    script = Script(rates={1: 400.0}, depth=3, accepted_length=2.5, one_chunk_per_step=True)
    done, _ = load(script, concurrency=1, count=4, tokens=40)
    assert is_near(done.output_tokens_s, 400.0)
    assert 2.7 / 2 < done.tpot_ms(0.5) < 2.7 * 9
    assert len(done.gaps_ms) < 0.8 * done.generated


def test_the_window_ends_when_the_first_client_is_idle():
    """The slow client's tail is no time in which the fast one could have worked."""
    fast = Sample(0.0, ((1.0, 10.0), (2.0, 10.0)), 2.0, 20)
    slow = Sample(0.0, ((1.0, 5.0), (9.0, 15.0)), 9.0, 20)
    done = Load(2, 2.0, 25.0, (fast, slow))
    assert done.output_tokens_s == 12.5
    real, _ = load(Script(rates={1: 100.0, 2: 200.0}), concurrency=2, count=3, tokens=20)
    total = sum(sample.tokens for sample in real.samples)
    assert real.tokens < total
    assert is_near(real.output_tokens_s, 200.0)


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        (Script(fail_from=5), "status 500"),
        (Script(rates={8: 2000.0}, break_after=6, from_request=9), "connection lost"),
        (Script(rates={8: 2000.0}, break_after=6, from_request=9, stall=True), "stalled"),
        (Script(rates={8: 2000.0}, die_at_request=12), "connection lost"),
    ],
)
def test_errors_are_counted_and_end_the_run(script, wanted):
    done, _ = load(script, concurrency=8, count=400, stall_s=0.3)
    assert any(wanted in error and "of" in error for error in done.errors)
    assert len(done.samples) < 60
    assert len(done.good) + sum(s.error is not None for s in done.samples) == len(done.samples)


def test_no_prompts_no_result():
    done, _ = load(Script(), concurrency=4, count=0)
    assert (done.output_tokens_s, done.errors, done.tpot_ms(0.5)) == (0.0, (), None)


def test_an_interrupt_ends_at_once():
    """Ctrl-C while every client waits for a server that says nothing."""
    script = Script(rates={1: 50.0}, break_after=2, stall=True)
    with StubServer(script) as stub:
        timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run_load(
                endpoint_of(stub.url, script.model),
                questions(["a"] * 9),
                concurrency=4,
                ask=Ask(16, stall_s=30),
            )
        assert time.monotonic() - began < 5


def conversations(*lengths, system=None):
    return [
        Conversation(
            f"c{n}",
            "kind" if n % 2 else None,
            tuple(f"c{n} turn {t}" for t in range(turns)),
            system,
        )
        for n, turns in enumerate(lengths)
    ]


def test_a_conversation_is_one_clients_requests_with_what_was_said_before():
    """Each turn carries the earlier turns and the server's own answers to them."""
    with StubServer(Script(rates={1: 4000.0, 8: 9000.0})) as stub:
        endpoint = endpoint_of(stub.url, stub.state.script.model)
        done = run_load(endpoint, conversations(3, 1, system="be brief"), concurrency=1, ask=Ask(6))
        bodies = [body["messages"] for body in stub.state.bodies]
    assert done.errors == ()
    roles = [[message["role"] for message in body] for body in bodies]
    assert roles == [
        ["system", "user"],
        ["system", "user", "assistant", "user"],
        ["system", "user", "assistant", "user", "assistant", "user"],
        ["system", "user"],
    ]
    answers = [sample.text.strip() for sample in done.samples]
    assert bodies[2][2]["content"].strip() == answers[0]
    assert bodies[2][4]["content"].strip() == answers[1]
    assert bodies[2][5]["content"] == "c0 turn 2"
    assert [sample.category for sample in done.samples] == [None, None, None, "kind"]


def test_turns_of_several_conversations_stand_in_order():
    with StubServer(Script(rates={1: 4000.0, 8: 9000.0})) as stub:
        endpoint = endpoint_of(stub.url, stub.state.script.model)
        together = run_load(endpoint, conversations(2, 3, 1, 2), concurrency=3, ask=Ask(6))
        alone = run_load(endpoint, conversations(2, 3, 1, 2), concurrency=1, ask=Ask(6))
    assert together.errors == ()
    assert len(together.samples) == 8
    assert [s.text for s in together.samples] == [s.text for s in alone.samples]
    assert together.generated == 48


def test_a_turn_that_fails_ends_its_conversation():
    script = Script(rates={1: 4000.0}, break_after=2, from_request=2)
    with StubServer(script) as stub:
        endpoint = endpoint_of(stub.url, script.model)
        done = run_load(endpoint, conversations(3, 2), concurrency=1, ask=Ask(6, stall_s=2))
    assert len(done.samples) == 2
    assert "connection lost" in done.errors[0]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_client_of_ours_that_dies_ends_the_run():
    class Texts(tuple):
        def __iter__(self):
            raise MemoryError

    asked = [*questions(["a", "b"]), Conversation("c", None, Texts(("x",)))]
    with StubServer(Script(rates={1: 4000.0})) as stub:
        done = run_load(endpoint_of(stub.url, "stub-model"), asked, concurrency=1, ask=Ask(4))
    assert any("broke off" in error for error in done.errors)
