"""Load in virtual time is the load over a socket, without the machine's own speed in it."""

import pytest

from speccompose.device.answer_reader import Ask
from speccompose.device.dataset import builtin
from speccompose.device.dealing import deal
from speccompose.device.load import run_load
from tests.device.endpoints import endpoint_of
from tests.stub_server import Script, StubServer
from tests.virtual_load import play

SCRIPT = Script(rates={1: 3000.0, 4: 9000.0}, depth=3, positions=(0.9, 0.6, 0.3))
ASKED = deal(builtin(), 12, clients=4, mark="virtual")


def played(how, script=SCRIPT, *, asked=ASKED, clients=4):
    with StubServer(script) as stub:
        endpoint = endpoint_of(stub.url, stub.state.script.model)
        load = how(endpoint, asked, concurrency=clients, ask=Ask(48, stall_s=2))
        return load, stub.state


def test_the_same_is_asked_said_and_counted_as_over_the_socket():
    (virtual, ours), (real, theirs) = played(play), played(run_load)
    assert [s.text.split() for s in virtual.samples] == [s.text.split() for s in real.samples]
    assert [s.category for s in virtual.samples] == [s.category for s in real.samples]
    assert ours.totals["tokens"] == theirs.totals["tokens"] == virtual.generated
    assert ours.totals["drafts"] == pytest.approx(theirs.totals["drafts"], rel=0.05)
    asked = [sorted(str(body["messages"]) for body in state.bodies) for state in (ours, theirs)]
    assert asked[0] == asked[1]
    assert (ours.active, theirs.active) == (0, 0)


@pytest.mark.parametrize(("clients", "rate"), [(1, 3000.0), (2, 5000.0), (4, 9000.0)])
def test_it_is_exactly_as_fast_as_scripted(clients, rate):
    load, _ = played(play, clients=clients)
    assert load.output_tokens_s == pytest.approx(rate, rel=0.05)
    plain, _ = played(play, Script(rates=SCRIPT.rates), clients=clients)
    assert plain.output_tokens_s == pytest.approx(rate, rel=1e-6)
    assert plain.tpot_ms(0.5) == pytest.approx(1000 * clients / rate)


def test_a_second_play_gives_the_same():
    assert played(play)[0] == played(play)[0]
