"""A server's endpoints over real HTTP, with the answers of both engines and of broken ones."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from speccompose.device.answers import Server, same_version
from speccompose.device.errors import DeviceError

COMPLETION = {"choices": [{"text": " eleven"}], "usage": {"completion_tokens": 3}}


class Scripted(ThreadingHTTPServer):
    """Answers from a table; keeps what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.table: dict[str, tuple[int, str]] = {}
        self.asked: list[tuple[str, str, dict]] = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: Scripted

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.answer({})

    def do_POST(self) -> None:
        self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, body: dict) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization", ""), body))
        status, text = self.server.table.get(self.path, (404, ""))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    server = Scripted()
    yield server
    server.shutdown()
    server.server_close()


def client(scripted: Scripted, engine: str = "llama.cpp", key: str | None = None) -> Server:
    return Server(engine, "127.0.0.1", scripted.server_address[1], key)


def test_health_and_metrics(scripted):
    server = client(scripted)
    scripted.table = {"/health": (503, "Loading model"), "/metrics": (200, "x 1\n")}
    assert server.health("/health") == (503, "Loading model")
    assert server.metrics() == "x 1\n"
    scripted.table = {"/metrics": (501, "not enabled")}
    assert server.metrics() is None


def test_nothing_that_answers_is_status_0():
    reply = Server("vllm", "127.0.0.1", 9).health("/health")
    assert reply.status == 0
    assert "refused" in reply.body


def test_each_engine_tells_its_version_its_own_way(scripted):
    scripted.table = {
        "/version": (200, '{"version": "0.27.1"}'),
        "/props": (200, '{"build_info": "b11669-Debian"}'),
    }
    assert client(scripted, "vllm").version() == "0.27.1"
    assert client(scripted).version() == "b11669-Debian"
    scripted.table = {"/version": (200, "[]"), "/props": (401, "{}")}
    assert client(scripted, "vllm").version() is None
    assert client(scripted).version() is None


def test_a_completion_and_what_it_was_asked_with(scripted):
    timings = {"timings": {"draft_n": 7}}
    scripted.table = {"/v1/completions": (200, json.dumps({**COMPLETION, **timings}))}
    found = client(scripted, key="sk-1").complete("org/model", 3, 5)
    assert (found.text, found.tokens, found.drafted) == (" eleven", 3, 7)
    _, authorization, body = scripted.asked[-1]
    assert authorization == "Bearer sk-1"
    assert (body["model"], body["max_tokens"], body["ignore_eos"]) == ("org/model", 3, True)
    assert "temperature" not in body


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (200, "not json"),
        (200, "{}"),
        (200, '{"choices": []}'),
        (200, '{"choices": [{"text": ""}], "usage": {"completion_tokens": 0}}'),
        (200, '{"choices": [{"text": "x"}]}'),
        (500, json.dumps(COMPLETION)),
        (401, '{"error": {"message": "Invalid API Key"}}'),
    ],
)
def test_no_token_is_a_failure(scripted, status, text):
    scripted.table = {"/v1/completions": (status, text)}
    with pytest.raises(DeviceError) as caught:
        client(scripted, key="sk-secret").complete("m", 1, 5)
    assert (caught.value.status, caught.value.code) == (9, "no_token")
    assert "sk-secret" not in caught.value.as_text()


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ("v0.27.1", "0.27.1", True),
        ("0.27.1", "0.27.1+cu130", True),
        ("0.27.1", "0.27.10", False),
        ("0.19.0", "0.19.1", False),
        ("b11669", "b11669-Debian", True),
        ("b1166", "b11669", False),
        ("b10524", "b10524-c0ffee1", True),
    ],
)
def test_versions_are_compared_whole(wanted, found, same):
    assert same_version(wanted, found) is same


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((200, json.dumps(COMPLETION)), 200),
        ((200, json.dumps({"choices": [{"text": ""}], "usage": {"completion_tokens": 0}})), 0),
        ((200, "no json"), 0),
        ((401, ""), 401),
        ((503, ""), 503),
    ],
)
def test_the_first_token_is_200_only_when_it_came(scripted, answer, status):
    scripted.table["/v1/completions"] = answer
    assert client(scripted).first_token("m", 5).status == status
    assert scripted.asked[-1][2]["max_tokens"] == 1


def test_a_first_token_that_does_not_come_in_time_is_0(scripted):
    scripted.socket.close()
    assert client(scripted).first_token("m", 0.2).status == 0
