"""Field cases A-* and H-* on the board: what people measured and waited for, and what must come.

A-*: the reported speeds, through two scripted servers, the real client and the real verdict. H-*:
a server that does what was reported, and what is made of it.
"""

import json

import pytest

from speccompose.device.answers import Server
from speccompose.device.compose_cli import Compose
from speccompose.device.errors import DeviceError
from speccompose.device.health import Waiter
from speccompose.device.machine import Machine
from speccompose.device.runs import BASELINE, SPECULATIVE
from tests.device.endpoints import endpoint_of
from tests.device.test_accept import QUIET, RULES, decided, judge
from tests.device.test_health import start, state
from tests.stub_server import LLAMA_CPP, VLLM, Script, StubServer

FASTER = 20.0
"""Reported speeds are multiplied by this: the warm-up takes real time."""


def reported(alone, loaded, **more):
    """Both arms at the reported tokens a second, (without, with) at 1 and at 8 streams."""
    scripts = [
        Script(
            rates={1: FASTER * alone[arm], 8: FASTER * loaded[arm]},
            depth=7 if arm else 0,
            accepted_length=3.0 if arm else 1.0,
            engine=VLLM,
            usage="continuous",
            **more,
        )
        for arm in (0, 1)
    ]
    return decided(*scripts)


def test_a_01_twice_as_fast_alone_and_slower_at_eight_is_switched_off():
    """vllm#50851: DSpark at 7, 52 -> 108 alone, 51.4 -> 39.6 per request at eight."""
    done = reported((52.0, 108.0), (8 * 51.4, 8 * 39.6))
    assert done.verdict.outcome == "rejected"
    assert done.verdict.reasons[0] == "it loses at concurrency 8"
    told = "\n".join(done.verdict.reasons)
    assert "concurrency 1: " in told
    assert "concurrency 8: " in told, "both rows are reported"


def test_a_02_another_power_state_makes_it_invalid_and_is_on_record(tmp_path):
    """TensorRT-Edge-LLM#95: 55 tokens/s where 90 were published; the clocks were not locked."""
    readings = iter([QUIET] * 4)
    other = QUIET._replace(power_mode="pmode:0000 fmode:fanNull", hottest_c=71.0)
    spec = Script(rates={1: 1500.0, 8: 4000.0}, depth=3, accepted_length=2.4)
    done = judge(
        Script(rates={1: 500.0, 8: 2000.0}),
        spec,
        tmp_path=tmp_path,
        conditions=lambda: next(readings, other),
    )
    assert done.verdict.outcome == "invalid"
    kept = json.loads((tmp_path / "result.json").read_text())
    assert kept["conditions"]["before"]["power_mode"] == "pmode:0000"
    assert kept["conditions"]["after"]["power_mode"] == "pmode:0000 fmode:fanNull"
    assert kept["conditions"]["changes"] == [
        "power mode changed: pmode:0000 -> pmode:0000 fmode:fanNull"
    ]
    assert kept["outcome"] == "invalid", "no pass, however fast the numbers look"


@pytest.mark.parametrize(
    ("without", "with_drafts"), [(67.73, 52.13), (132.32, 123.25), (22.16, 19.67)]
)
def test_a_03_a_slower_with_drafts_is_switched_off(without, with_drafts):
    """llama.cpp#10664: a draft too large or too poor."""
    scale = 100.0 / without
    speeds = (without * scale, with_drafts * scale)
    done = reported(speeds, (4 * speeds[0], 4 * speeds[1]))
    assert done.verdict.outcome == "rejected"


def test_a_03_b_a_better_tpot_does_not_save_a_loss_under_load():
    """llm-d#2074: EAGLE-3, TPOT p50 13.2 -> 9.7 ms alone, throughput -13 % from four to eight."""
    done = reported((1000 / 13.2, 1000 / 9.7), (400.0, 348.0))
    assert done.verdict.outcome == "rejected"
    tpot = done.verdict.comparisons[1].ratio
    assert tpot.high <= 0.8, "the TPOT criterion is met, and it is rejected all the same"
    assert {run.arm for run in done.runs} == {BASELINE, SPECULATIVE}
    assert RULES.loaded == 8


def test_h_01_unhealthy_while_loading_is_waited_for(board):
    """tolokaforge#659: start_period 5 s with a load of 45 s; marked unhealthy in mid-load."""
    waiter = start(board)
    state(board)["Health"]["Status"] = "unhealthy"
    board.machine.on_sleep = lambda: (
        state(board)["Health"].update(Status="healthy") if board.machine.clock_s > 20 else None
    )
    assert waiter.wait().health == "healthy"


def test_h_03_a_deadlocked_engine_answers_health_and_generates_nothing():
    """spark-vllm-docker#260: /health and /version 200, requests run, no token for 85 minutes."""
    with StubServer(Script(engine=VLLM, rates={1: 0.01})) as stub:
        endpoint = endpoint_of(stub.url, "stub-model")
        server = Server(VLLM, endpoint.host, endpoint.port)
        assert server.health("/health").status == 200
        assert server.version() is not None
        with pytest.raises(DeviceError) as caught:
            server.complete("stub-model", 1, 0.4)
    assert (caught.value.status, caught.value.code) == (9, "no_token")


def test_h_04_a_list_of_models_is_no_readiness(board):
    """llama-swap#146: /v1/models answers while /health still says 503, loading."""
    with StubServer(Script(engine=LLAMA_CPP, loading_s=0.5)) as stub:
        endpoint = endpoint_of(stub.url, "stub-model")
        server = Server(LLAMA_CPP, endpoint.host, endpoint.port)
        assert server._ask("GET", "/v1/models", None, 2.0).status == 200
        assert server.health("/health").status == 503
        folder, plan = board.write(), board.plan()
        Compose(board.ports.docker, plan.project, folder).up()
        ports = board.ports._replace(machine=Machine())
        Waiter(ports, plan, server, (), board.said.append).wait()
        assert server.health("/health").status == 200, "it was not taken for ready before"
        assert server.complete("stub-model", 1, 2.0).tokens == 1
