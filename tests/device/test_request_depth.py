"""Some builds take the depth per request, others ignore it: their counters say which."""

import pytest

from speccompose.device.answers import Server
from speccompose.device.request_depth import takes_depth
from speccompose.device.window import Served
from tests.device.endpoints import endpoint_of
from tests.stub_server import LLAMA_CPP, VLLM, Script, StubServer

RATES = {1: 4000.0}
TAKES = dict.fromkeys(range(1, 5), RATES)


def asked(**script):
    with StubServer(Script(**{"rates": RATES, "accepted_length": 2.0, **script})) as stub:
        endpoint = endpoint_of(stub.url, "stub-model")
        engine = stub.state.script.engine
        return takes_depth(Served(endpoint, Server(engine, endpoint.host, endpoint.port))), stub


@pytest.mark.parametrize(
    ("script", "takes"),
    [
        ({"depth": 4, "depth_rates": TAKES}, True),
        ({"depth": 4}, False),
        ({"depth": 2}, False),
        ({"depth": 4, "depth_rates": TAKES, "counters": False}, False),
        ({"depth": 4, "depth_rates": TAKES, "garbage": True}, False),
        ({"depth": 0}, False),
    ],
)
def test_what_the_counters_say(script, takes):
    found, stub = asked(engine=LLAMA_CPP, **script)
    assert found == takes
    assert stub.state.bodies[0]["speculative.n_max"] == 1


def test_vllm_is_not_asked():
    found, stub = asked(engine=VLLM, depth=4)
    assert not found
    assert stub.state.bodies == []
