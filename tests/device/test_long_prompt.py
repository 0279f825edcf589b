"""One prompt as long as the context: answered, counted, and nothing died of it (M-09)."""

import json

import pytest

from speccompose.device.answers import Completion, Reply
from speccompose.device.errors import DeviceError
from speccompose.device.long_prompt import context_tokens, text_of, try_long_prompt
from speccompose.device.transaction import deploy
from tests.device.fakes import FakeDocker, FakeServer

CONTEXT = 512


class Reader(FakeServer):
    """Counts one and a half tokens a word, as an engine's usage does."""

    harm: str = ""
    blind = False

    def __init__(self, docker: FakeDocker, plan, version: str = "b11669-fake") -> None:
        super().__init__(docker, plan, version)
        self.asked: list[tuple[int, float]] = []

    def complete_prompt(self, model, prompt, max_tokens, timeout_s) -> Completion:
        tokens = len(prompt.split()) * 3 // 2
        assert tokens + max_tokens <= CONTEXT, "longer than the context"
        self.asked.append((tokens, timeout_s))
        if self.harm == "restart" and tokens > CONTEXT // 2:
            body: FakeDocker = self._docker
            body.containers[self._plan.project]["RestartCount"] = 1
        if self.harm == "deaf" and tokens > CONTEXT // 2:
            raise DeviceError(9, "the server is up but generates nothing", code="no_token")
        return Completion("text", max_tokens, None, 0.5, None if self.blind else tokens)

    def health(self, path: str) -> Reply:
        sick = self.harm == "sick" and len(self.asked) > 1
        return Reply(503, "broken") if sick else super().health(path)


def run(board, *, harm: str = "", blind: bool = False):
    deploy(board.write(), board.roots, ports=board.ports)
    made = []

    def connect(plan, key):
        server = Reader(board.docker, plan)
        server.harm, server.blind = harm, blind
        made.append(server)
        return server

    ports = board.ports._replace(connect=connect)
    try:
        return try_long_prompt("tiny", board.roots, ports=ports), made[0].asked
    except DeviceError as error:
        return error, made[0].asked


def test_m_09_the_prompt_fills_the_context_and_leaves_room_for_the_answer(board):
    done, asked = run(board)
    assert done.context_tokens == CONTEXT
    assert 0.9 * CONTEXT <= done.prompt_tokens <= CONTEXT - 8
    assert [tokens for tokens, _ in asked] == [96, done.prompt_tokens]


@pytest.mark.parametrize(
    ("harm", "code", "said"),
    [
        ("restart", "long_prompt", "restarted meanwhile"),
        ("sick", "long_prompt", "says 503"),
        ("deaf", "no_token", ""),
    ],
)
def test_m_09_what_a_long_prompt_breaks_is_status_9(board, harm, code, said):
    error, _ = run(board, harm=harm)
    assert (error.status, error.code) == (9, code)
    assert said in "".join(error.details)


def test_an_engine_that_counts_nothing_proves_nothing(board):
    error, _ = run(board, blind=True)
    assert (error.status, error.code) == (9, "long_prompt")
    assert "does not count" in error.details[0]


def test_an_unknown_stack_is_status_2(board):
    with pytest.raises(DeviceError) as caught:
        try_long_prompt("other", board.roots, ports=board.ports)
    assert caught.value.status == 2


@pytest.mark.parametrize("text", ["{", "[]", '{"memory": null}', '{"memory": {}}'])
def test_a_plan_that_names_no_context_is_status_3(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(DeviceError) as caught:
        context_tokens(tmp_path / "plan.json")
    assert caught.value.status == 3


def test_the_context_is_read_from_the_plan(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps({"memory": {"context_tokens": 8192}}))
    assert context_tokens(tmp_path / "plan.json") == 8192


def test_words_do_not_repeat_as_a_whole():
    words = text_of(2000).split()
    assert len(words) == 2000
    assert len(set(words)) == 1001
