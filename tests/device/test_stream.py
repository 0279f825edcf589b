"""One request against a server that does what a script says."""

import socket

import pytest

from speccompose.device.answer_reader import Ask
from speccompose.device.stream import Client, Endpoint, question, request_body
from tests.device.endpoints import endpoint_of
from tests.stub_server import LLAMA_CPP, VLLM, Script, StubServer

FAST = {1: 4000.0, 8: 8000.0}


def send(script, ask=None, *, key=None, route="/v1/chat/completions", times=1):
    with StubServer(script) as stub:
        endpoint = endpoint_of(stub.url, script.model, key)._replace(route=route)
        client = Client(endpoint, ask or Ask(12, stall_s=5))
        samples = [client.send(question(f"prompt {number}")) for number in range(times)]
        client.close()
        return samples, stub.state.bodies


@pytest.mark.parametrize("engine", [VLLM, LLAMA_CPP])
@pytest.mark.parametrize("usage", ["final", "continuous"])
@pytest.mark.parametrize("burst", [True, False])
def test_tokens_are_counted_right(engine, usage, burst):
    script = Script(
        engine=engine,
        usage=usage,
        rates=FAST,
        depth=4,
        accepted_length=3.0,
        one_chunk_per_step=burst,
    )
    (sample,), _ = send(script, Ask(40))
    assert sample.error is None
    assert sample.tokens == 40
    assert sum(count for _, count in sample.arrivals) == pytest.approx(40)
    assert (len(sample.arrivals) < 40) == burst
    assert len(sample.text.split()) == 40


def test_times_are_those_of_the_script():
    script = Script(rates={1: 200.0}, first_token_s=0.1)
    (sample,), _ = send(script, Ask(21))
    # Nothing makes a server faster than scripted; how much slower, a busy machine decides.
    assert 0.1 <= sample.ttft_s < 1.0
    assert 0.2 <= sample.e2e_s < 2.0
    assert sample.tpot_s == pytest.approx((sample.e2e_s - sample.ttft_s) / 20)


def test_no_sampling_fields_are_sent():
    _, (body,) = send(Script(rates=FAST))
    assert set(body) == {
        "model",
        "max_tokens",
        "stream",
        "stream_options",
        "messages",
        "ignore_eos",
    }
    assert body["max_tokens"] == 12


def test_a_greedy_request_says_so_and_may_end_early():
    body = request_body(
        Endpoint("h", 1, "m"), Ask(8, fixed_length=False, greedy=True), question("hello")
    )
    assert body["temperature"] == 0
    assert "ignore_eos" not in body


def test_completions_route():
    (sample,), (body,) = send(Script(rates=FAST), route="/v1/completions")
    assert sample.error is None
    assert body["prompt"] == "prompt 0"


def test_the_connection_is_kept():
    samples, _ = send(Script(rates=FAST), times=3)
    assert [sample.error for sample in samples] == [None] * 3


def test_the_key_is_sent_and_never_shown():
    script = Script(rates=FAST, api_key="sk-very-secret")
    (good,), _ = send(script, key="sk-very-secret")
    assert good.error is None
    (bad,), _ = send(script, key="sk-wrong-secret")
    assert bad.error.startswith("status 401")
    assert "secret" not in bad.error


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        (Script(rates=FAST, fail_from=1), "status 500"),
        (Script(rates=FAST, break_after=5), "connection lost"),
        (Script(rates={1: 50.0}, break_after=3, stall=True), "stalled: nothing came for 0.3 s"),
        (Script(rates=FAST, garbage=True), "It works!"),
        (Script(rates=FAST, context_tokens=5), "exceeds the available context size"),
        (Script(rates=FAST, short_by=3), "9 tokens instead of 12"),
        (Script(rates=FAST, usage="none", engine=VLLM), "no usage"),
        (Script(rates=FAST, die_at_request=1), "connection lost"),
    ],
)
def test_faults_are_errors_of_the_sample(script, wanted):
    (sample,), _ = send(script, Ask(12, stall_s=0.3))
    assert wanted in sample.error


def test_a_port_where_nobody_listens():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    sample = Client(Endpoint("127.0.0.1", port, "m"), Ask(4)).send(question("hello"))
    assert "Connection refused" in sample.error


def test_a_request_after_a_failed_one_starts_anew():
    script = Script(rates=FAST, break_after=5)
    with StubServer(script) as stub:
        client = Client(endpoint_of(stub.url, script.model), Ask(12, stall_s=2))
        first = client.send(question("one"))
        second = client.send(question("two"))
    assert first.error
    assert second.error
    assert second.arrivals
