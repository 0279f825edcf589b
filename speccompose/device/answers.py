"""A running server's HTTP endpoints become typed answers.

Layer: device (standard library, Python 3.8). Both engines speak the same four: health, version,
metrics, completions; where they differ the engine's name decides. Proxies of the environment are
never used: the server is on this machine. The key is sent, never printed.
"""

from __future__ import annotations

import http.client
import json
import time
from typing import Dict, NamedTuple, Optional

from speccompose.device.errors import HEALTH, DeviceError

QUICK_S = 5.0

VLLM = "vllm"
LLAMA_CPP = "llama.cpp"

# Repeats itself, so that a lookup of earlier words has something to find as well.
DRAFTING_PROMPT = "one two three four five six seven eight nine ten " * 4
DRAFTING_TOKENS = 16


class Reply(NamedTuple):
    """One HTTP answer; status 0 when nothing answered, with the reason as body."""

    status: int
    body: str


class Completion(NamedTuple):
    """One generated text. ``drafted`` is the engine's own count, None when it gives none."""

    text: str
    tokens: int
    drafted: Optional[int]
    elapsed_s: float
    prompt_tokens: Optional[int] = None


class Server:
    """One server at one address."""

    def __init__(self, engine: str, host: str, port: int, key: Optional[str] = None) -> None:
        self.engine = engine
        self._host = host
        self._port = port
        self._key = key

    def health(self, path: str) -> Reply:
        """The health endpoint; 200 means that the engine says it is ready."""
        return self._ask("GET", path, None, QUICK_S)

    def version(self) -> Optional[str]:
        """The engine's own version: vLLM '0.27.1', llama.cpp 'b11669'; None when it says none."""
        path, field = ("/version", "version") if self.engine == VLLM else ("/props", "build_info")
        reply = self._ask("GET", path, None, QUICK_S)
        value = _fields(reply.body).get(field) if reply.status == 200 else None
        return value if isinstance(value, str) else None

    def metrics(self, timeout_s: float = QUICK_S) -> Optional[str]:
        """The Prometheus text, or None when the server gives none.

        llama.cpp answers between two batches: on a small board that may take a while.
        """
        reply = self._ask("GET", "/metrics", None, timeout_s)
        return reply.body if reply.status == 200 else None

    def complete(self, model: str, max_tokens: int, timeout_s: float) -> Completion:
        """Ask for some tokens of the fixed prompt; raises as ``complete_prompt``."""
        return self.complete_prompt(model, DRAFTING_PROMPT, max_tokens, timeout_s)

    def complete_prompt(
        self, model: str, prompt: str, max_tokens: int, timeout_s: float
    ) -> Completion:
        """Ask for some tokens of a prompt.

        Raises:
            DeviceError: status 9 when the answer is no completion with at least one token.
        """
        request = {
            "model": model,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "ignore_eos": True,
        }
        started = time.monotonic()
        reply = self._ask("POST", "/v1/completions", json.dumps(request), timeout_s)
        elapsed_s = time.monotonic() - started
        found = _completion(_fields(reply.body), elapsed_s) if reply.status == 200 else None
        if found is None or found.tokens < 1:
            raise DeviceError(
                HEALTH,
                "the server is up but generates nothing",
                [f"POST /v1/completions: status {reply.status}", reply.body[:300]],
                code="no_token",
            )
        return found

    def first_token(self, model: str, timeout_s: float) -> Reply:
        """Ask for one token; status 200 only when it came, 0 when nothing did in time."""
        request = {
            "model": model,
            "prompt": DRAFTING_PROMPT,
            "max_tokens": 1,
            "ignore_eos": True,
        }
        reply = self._ask("POST", "/v1/completions", json.dumps(request), timeout_s)
        if reply.status != 200:
            return reply
        found = _completion(_fields(reply.body), 0.0)
        came = found is not None and found.tokens > 0
        return reply if came else Reply(0, f"no token in the answer: {reply.body[:200]}")

    def count_tokens(self, text: str, model: str) -> Optional[int]:
        """How many tokens the server makes of a text; None when it does not say."""
        vllm = self.engine == VLLM
        request = {"model": model, "prompt": text} if vllm else {"content": text}
        reply = self._ask("POST", "/tokenize", json.dumps(request), QUICK_S)
        body = _fields(reply.body) if reply.status == 200 else {}
        tokens = body.get("tokens")
        return len(tokens) if isinstance(tokens, list) else None

    def _ask(self, method: str, path: str, body: Optional[str], timeout_s: float) -> Reply:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        headers: Dict[str, str] = {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._key is not None:
            headers["Authorization"] = "Bearer " + self._key
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return Reply(response.status, response.read().decode("utf-8", "replace"))
        except (OSError, http.client.HTTPException) as error:
            return Reply(0, str(error) or type(error).__name__)
        finally:
            connection.close()


def same_version(wanted: str, found: str) -> bool:
    """Whether an engine's own version is the planned one.

    'v0.27.1' is '0.27.1+cu130'; 'b11669' is 'b11669-Debian'; '0.27.1' is not '0.27.10'.
    """
    return _bare_version(wanted) == _bare_version(found)


def _bare_version(text: str) -> str:
    bare = text.strip().lstrip("v")
    for mark in ("+", "-"):
        bare = bare.split(mark)[0]
    return bare


def _completion(body: Dict[str, object], elapsed_s: float) -> Optional[Completion]:
    choices: object = body.get("choices")
    usage: object = body.get("usage")
    timings: object = body.get("timings")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    prompt_tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    drafted = timings.get("draft_n") if isinstance(timings, dict) else None
    return Completion(
        text=str(choices[0].get("text") or ""),
        tokens=tokens if isinstance(tokens, int) else 0,
        drafted=drafted if isinstance(drafted, int) else None,
        elapsed_s=elapsed_s,
        prompt_tokens=prompt_tokens if isinstance(prompt_tokens, int) else None,
    )


def _fields(text: str) -> Dict[str, object]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
