"""Prompts that the context does not hold are told before anything runs."""

import pytest

from speccompose.device.answers import Server
from speccompose.device.dataset import Conversation, Dataset
from speccompose.device.errors import DeviceError
from speccompose.device.prompt_room import check_room
from speccompose.device.window import Served, quick_pace
from tests.device.endpoints import endpoint_of
from tests.stub_server import LLAMA_CPP, VLLM, Script, StubServer

PACE = quick_pace(24)


def check(context, *texts, engine=LLAMA_CPP, turns=1, **script):
    talks = tuple(Conversation(f"c{n}", None, (text,) * turns) for n, text in enumerate(texts))
    with StubServer(Script(engine=engine, **script)) as stub:
        endpoint = endpoint_of(stub.url, "stub-model")
        served = Served(endpoint, Server(engine, endpoint.host, endpoint.port))
        check_room(served, Dataset("mine.jsonl", "0", talks), PACE, context)
        return stub.state


@pytest.mark.parametrize("engine", [LLAMA_CPP, VLLM])
def test_a_prompt_beyond_the_context_is_refused(engine):
    with pytest.raises(DeviceError) as caught:
        check(512, "short", "word " * 2000, engine=engine)
    assert (caught.value.status, caught.value.code) == (2, "prompts_too_long")
    assert "1 of 2 conversations in mine.jsonl" in caught.value.brief
    assert caught.value.details == ("c1: 2500 tokens, and 24 for its answers",)
    assert "--context" in caught.value.hint


def test_answers_of_every_turn_need_room_too():
    check(512, "word " * 100, turns=2)
    with pytest.raises(DeviceError, match="do not fit"):
        check(512, "word " * 100, turns=6)


def test_many_are_told_in_few_lines():
    with pytest.raises(DeviceError) as caught:
        check(64, *[f"{n} " * 400 for n in range(9)])
    assert len(caught.value.details) == 6
    assert caught.value.details[-1] == "and 4 more"


def test_what_fits_for_certain_is_not_asked_about():
    assert check(4096, "short", "shorter").tokenized == 0
    assert check(None, "word " * 9000).tokenized == 0


def test_a_server_that_does_not_count_is_no_refusal():
    check(512, "word " * 2000, tokenizes=False)
