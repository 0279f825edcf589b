"""One prompt becomes one timed answer, token by token, as a client sees it.

Layer: device (standard library, Python 3.8). A streaming request to an OpenAI-compatible server
over a kept connection. No sampling fields are sent unless the content check asks for a greedy
answer: the server's own defaults are what users get.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
from typing import Dict, NamedTuple, Optional, Tuple

from speccompose.device.answer_reader import AnswerReader, Ask, Sample
from speccompose.device.redact import redact

CHAT = "/v1/chat/completions"
DRAFT_TOKENS = "speculative.n_max"
"""How some builds of llama.cpp take the depth per request; others ignore it (request_depth.py)."""

_PIECE = 65536
_ERROR_CHARACTERS = 200


Message = Dict[str, str]
Messages = Tuple[Message, ...]


def question(text: str) -> Messages:
    """One user's message, with nothing before it."""
    return ({"role": "user", "content": text},)


class Endpoint(NamedTuple):
    """Where to ask, for which model. The key is sent and never shown."""

    host: str
    port: int
    model: str
    key: Optional[str] = None
    route: str = CHAT


class Client:
    """One client with its connection. Not for two threads at once, except ``abort``."""

    def __init__(self, endpoint: Endpoint, ask: Ask) -> None:
        self._endpoint = endpoint
        self._ask = ask
        self._headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if endpoint.key is not None:
            self._headers["Authorization"] = "Bearer " + endpoint.key
        self._connection = http.client.HTTPConnection(
            endpoint.host, endpoint.port, timeout=ask.stall_s
        )
        self._reusable = False

    def send(self, messages: Messages) -> Sample:
        """Ask once and read the answer to its end; what goes wrong stands in the sample."""
        body = json.dumps(request_body(self._endpoint, self._ask, messages)).encode("utf-8")
        answer = AnswerReader(time.perf_counter())
        try:
            response = self._open(body)
            if response.status != 200:
                said = response.read(2000).decode("utf-8", "replace")
                answer.error = f"status {response.status}: {' '.join(said.split())}"
            else:
                while True:
                    piece = response.read1(_PIECE)
                    answer.feed(piece, time.perf_counter())
                    if not piece:
                        break
                answer.end()
            self._reusable = response.isclosed() and not response.will_close
        except socket.timeout:
            answer.error = f"stalled: nothing came for {self._ask.stall_s:g} s"
        except (OSError, http.client.HTTPException, ValueError) as error:
            answer.error = f"connection lost: {error or type(error).__name__}"
        if answer.error is not None or not self._reusable:
            self._reusable = False
            self._connection.close()
        return self._finish(answer)

    def abort(self) -> None:
        """Break the connection, so that a waiting ``send`` ends. For another thread."""
        sock = self._connection.sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:  # already gone
                pass

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()

    def _open(self, body: bytes) -> http.client.HTTPResponse:
        """Send the request; a kept connection that the server has closed meanwhile is renewed."""
        try:
            self._connection.request("POST", self._endpoint.route, body, self._headers)
            return self._connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            if not self._reusable:
                raise
            self._reusable = False
            self._connection.close()
            self._connection.request("POST", self._endpoint.route, body, self._headers)
            return self._connection.getresponse()

    def _finish(self, answer: AnswerReader) -> Sample:
        sample = answer.sample(self._ask, time.perf_counter())
        if sample.error is None:
            return sample
        keys = () if self._endpoint.key is None else (self._endpoint.key,)
        return sample._replace(error=redact(sample.error, keys)[:_ERROR_CHARACTERS])


def request_body(endpoint: Endpoint, ask: Ask, messages: Messages) -> Dict[str, object]:
    """The request as JSON carries it. The plain route knows no messages: it gets their texts."""
    body: Dict[str, object] = {
        "model": endpoint.model,
        "max_tokens": ask.output_tokens,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }
    if endpoint.route == CHAT:
        body["messages"] = list(messages)
    else:
        body["prompt"] = "\n".join(message["content"] for message in messages)
    if ask.fixed_length:
        body["ignore_eos"] = True
    if ask.greedy:
        body["temperature"] = 0
    if ask.draft_tokens is not None:
        body[DRAFT_TOKENS] = ask.draft_tokens
    return body
