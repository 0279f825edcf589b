"""A scripted OpenAI-compatible server: tokens at given speeds, speculation counters, and faults.

It stands in for vLLM or llama.cpp where a test needs to know the answer beforehand. Everything it
does is in its Script; nothing is decided by the test's name. In a test:

    with StubServer(Script(rates={1: 500.0, 8: 2000.0})) as stub:
        ... stub.url ...

or as a process: python tests/stub_server.py --port 8080 --script '{"depth": 3}'
"""

import argparse
import dataclasses
import itertools
import json
import random
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOLDEN = 0.6180339887
LLAMA_CPP, VLLM = "llama.cpp", "vllm"
WORDS = """
river stone lantern maple cloud harbour engine copper velvet orchard signal winter
garden mirror falcon bridge timber ocean canvas ember
"""


@dataclasses.dataclass(frozen=True)
class Script:
    """What the server does.

    ``rates``: total tokens/s by number of streams at once, straight lines between.
    ``depth`` above 0 speculates: every step gives 1 to depth + 1 tokens, ``accepted_length`` in
    the mean, or as ``positions`` say: the share of drafts accepted up to and with each position.
    ``depth_rates``: the same as ``rates`` by depth, for a server that takes the depth per request.
    ``preempts_from``: so many streams at once preempt one request each time one comes.
    ``noise``: relative standard deviation of the speed, drawn anew every ``wave`` requests, so
    that a whole run is fast or slow. ``usage``: continuous, final or none.
    ``differing``: how many of the greedy answers, in turns, differ from what another server with
    the same script says; ``unsteady``: how many differ when they are asked again.

    Faults: ``fail_from``: the status 500 from so many streams at once; ``break_after``: tokens
    after which the connection ends (``stall``: falls silent) in every stream from request number
    ``from_request`` on; ``reset_counters_at``: tokens after which the counters begin anew;
    ``die_at_request``: the server goes away for good.
    """

    engine: str = LLAMA_CPP
    model: str = "stub-model"
    version: str = "b11669-stub"
    rates: dict[int, float] = dataclasses.field(default_factory=lambda: {1: 800.0, 8: 2400.0})
    noise: float = 0.0
    wave: int = 8
    seed: int = 1
    first_token_s: float = 0.0
    depth: int = 0
    accepted_length: float = 1.0
    positions: tuple[float, ...] = ()
    depth_rates: dict[int, dict[int, float]] = dataclasses.field(default_factory=dict)
    preempts_from: int = 0
    tokenizes: bool = True
    one_chunk_per_step: bool = False
    counters: bool = True
    usage: str = "final"
    context_tokens: int = 100_000
    slots: int = 64
    loading_s: float = 0.0
    api_key: str | None = None
    differing: float = 0.0
    unsteady: float = 0.0
    answer_salt: int = 0
    repeats_one_token: bool = False
    short_by: int = 0
    fail_from: int = 0
    break_after: int = 0
    stall: bool = False
    from_request: int = 0
    garbage: bool = False
    reset_counters_at: int = 0
    die_at_request: int = 0


class State:
    """Counters and streams of one running server."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.lock = threading.Lock()
        self.rng = random.Random(script.seed)
        self.ready_at = time.monotonic() + script.loading_s
        self.active = 0
        self.requests = 0
        self.tokenized = 0
        self.wave_speed = 1.0
        self.totals = dict.fromkeys(
            ("drafts", "draft_tokens", "accepted_tokens", "tokens", "preemptions"), 0
        )
        self.positions = [0] * script.depth
        self.drawn = 0.0
        self.stop = threading.Event()
        self.bodies: list[dict] = []

    def begin(self, body: dict) -> int:
        """A request comes in; returns how many are running with it."""
        with self.lock:
            self.bodies.append(body)
            if self.requests % self.script.wave == 0 and self.script.noise:
                self.wave_speed = max(0.2, self.rng.gauss(1.0, self.script.noise))
            self.requests += 1
            self.active += 1
            if self.script.preempts_from and self.active >= self.script.preempts_from:
                self.totals["preemptions"] += 1
            return self.active

    def end(self) -> None:
        with self.lock:
            self.active -= 1

    def is_repeated(self, prompt: str) -> bool:
        """Whether the prompt has come before."""
        with self.lock:
            return sum(prompt_of(body) == prompt for body in self.bodies) > 1

    def step(self, limit: int, depth: int) -> tuple[int, float]:
        """Tokens of the next step, and how many seconds it takes."""
        script = self.script
        with self.lock:
            accepted = 0
            if depth and limit > 1:
                accepted = self.draw(depth)
                self.totals["drafts"] += 1
                self.totals["draft_tokens"] += depth
                self.totals["accepted_tokens"] += accepted
                for position in range(accepted):
                    self.positions[position] += 1
            tokens = min(limit, 1 + accepted)
            self.totals["tokens"] += tokens
            if script.reset_counters_at and self.totals["tokens"] >= script.reset_counters_at:
                self.totals = dict.fromkeys(self.totals, 0)
            rates = script.depth_rates.get(depth, script.rates)
            rate = interpolate(rates, self.active) * self.wave_speed
            return tokens, tokens * self.active / rate

    def draw(self, depth: int) -> int:
        """How many drafted tokens are accepted; a later one only with all before it."""
        script = self.script
        if script.positions:
            # Evenly spread instead of random: few drafts show the shares already.
            self.drawn = (self.drawn + GOLDEN) % 1.0
            return sum(self.drawn < share for share in script.positions[:depth])
        share = (script.accepted_length - 1.0) / script.depth
        return sum(self.rng.random() < share for _ in range(depth))

    def depth_of(self, body: dict) -> int:
        """The depth of a request: its own where this server takes one."""
        asked = body.get("speculative.n_max")
        takes = bool(self.script.depth_rates) and isinstance(asked, int)
        return min(asked, self.script.depth) if takes else self.script.depth


def interpolate(rates: dict[int, float], streams: int) -> float:
    """Tokens/s of all streams together."""
    known = sorted((int(level), rate) for level, rate in rates.items())
    if streams <= known[0][0]:
        return known[0][1] * streams / known[0][0]
    for (low, low_rate), (high, high_rate) in itertools.pairwise(known):
        if streams <= high:
            return low_rate + (high_rate - low_rate) * (streams - low) / (high - low)
    return known[-1][1]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "Listener"

    @property
    def state(self) -> State:
        return self.server.state

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        script = self.state.script
        vllm = script.engine == VLLM
        if self.path in {"/health", "/v1/health"}:
            if time.monotonic() < self.state.ready_at:
                return self.give(503, {"error": {"message": "Loading model", "code": 503}})
            return self.give(200, b"" if vllm else {"status": "ok"})
        open_paths = {"/metrics", "/version"} if vllm else set()
        if self.path not in open_paths and not self.has_key():
            return self.give(401, {"error": {"message": "Invalid API Key", "code": 401}})
        answers = {
            "/v1/models": {"object": "list", "data": [{"id": script.model, "object": "model"}]},
            "/metrics": metrics_text(self.state).encode(),
        }
        if vllm:
            answers["/version"] = {"version": script.version}
        else:
            answers["/props"] = {"build_info": script.version, "total_slots": script.slots}
            answers["/slots"] = [{"id": n, "is_processing": False} for n in range(script.slots)]
        if self.path in answers:
            return self.give(200, answers[self.path])
        return self.give(404, {"error": {"message": "not found", "code": 404}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.path == "/tokenize" and self.state.script.tokenizes:
            self.state.tokenized += 1
            text = body["prompt"] if self.state.script.engine == VLLM else body["content"]
            return self.give(200, {"tokens": list(range(len(text) // 4))})
        if self.path not in {"/v1/chat/completions", "/v1/completions"}:
            return self.give(404, {"error": {"message": "not found"}})
        if not self.has_key():
            return self.give(401, {"error": {"message": "Invalid API Key"}})
        running = self.state.begin(body)
        try:
            self.complete(body, running)
        finally:
            self.state.end()

    def complete(self, body: dict, running: int) -> None:
        script, prompt = self.state.script, prompt_of(body)
        if script.die_at_request and self.state.requests >= script.die_at_request:
            self.server.die()
            self.close_connection = True
        elif script.garbage:
            self.give(200, b"<html>It works!</html>")
        elif script.fail_from and running >= script.fail_from:
            self.give(500, {"error": {"message": "out of slots", "code": 500}})
        elif len(prompt) // 4 + body["max_tokens"] > script.context_tokens:
            message = f"the request exceeds the available context size ({script.context_tokens})"
            self.give(400, {"error": {"message": message, "code": 400}})
        elif body.get("stream"):
            Answer(self, body, prompt).stream()
        else:
            Answer(self, body, prompt).whole()

    def has_key(self) -> bool:
        key = self.state.script.api_key
        return key is None or self.headers.get("Authorization") == f"Bearer {key}"

    def give(self, status: int, body: object) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def chunk(self, event: str) -> None:
        data = f"data: {event}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


class Answer:
    """One completion, streamed or whole."""

    def __init__(self, handler: Handler, body: dict, prompt: str) -> None:
        self.handler, self.body, self.prompt = handler, body, prompt
        self.state, self.script = handler.state, handler.state.script
        self.chat = "messages" in body
        self.wanted = max(1, body["max_tokens"] - self.script.short_by)
        self.number = self.state.requests
        self.depth = self.state.depth_of(body)
        self.drafts = self.accepted = 0

    def steps(self):
        """Yield (tokens so far, words) at the scripted speed."""
        words = answer_words(self.state, self.prompt, self.body, self.wanted)
        due = time.perf_counter() + self.script.first_token_s
        done = 0
        while done < self.wanted:
            tokens, seconds = self.state.step(self.wanted - done, self.depth)
            if done or self.script.first_token_s == 0.0:
                due += seconds
            wait = due - time.perf_counter()
            if wait > 0 and self.state.stop.wait(wait):
                return
            if self.depth:
                self.drafts += self.depth
                self.accepted += tokens - 1
            yield done + tokens, words[done : done + tokens]
            done += tokens

    def whole(self) -> None:
        words = [word for _, part in self.steps() for word in part]
        text = " ".join(words)
        part = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        choice = {"index": 0, "finish_reason": "length", **part}
        self.handler.give(
            200, {"choices": [choice], "usage": self.usage(len(words)), **self.last()}
        )

    def stream(self) -> None:
        handler = self.handler
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        faulty = self.script.break_after and self.number >= self.script.from_request
        try:
            if self.chat:
                handler.chunk(self.event({"role": "assistant", "content": None}, 0))
            for done, words in self.steps():
                self.send_step(done, words)
                if faulty and done >= self.script.break_after:
                    return self.fail()
            if self.state.stop.is_set():
                return self.fail()
            handler.chunk(self.event({}, self.wanted, finish="length"))
            if self.script.usage != "none":
                closing = {"choices": [], "usage": self.usage(self.wanted), **self.last()}
                handler.chunk(json.dumps(closing))
            handler.chunk("[DONE]")
            handler.wfile.write(b"0\r\n\r\n")
        except OSError:
            handler.close_connection = True

    def send_step(self, done: int, words: list[str]) -> None:
        groups = [words] if self.script.one_chunk_per_step else [[word] for word in words]
        sent = done - len(words)
        for group in groups:
            sent += len(group)
            text = "".join(" " + word for word in group)
            self.handler.chunk(self.event({"content": text}, sent))

    def fail(self) -> None:
        if self.script.stall:
            self.state.stop.wait(60)
        self.handler.close_connection = True

    def event(self, delta: dict, tokens: int, finish: str | None = None) -> str:
        part = {"delta": delta} if self.chat else {"text": delta.get("content") or ""}
        event = {
            "choices": [{"index": 0, "finish_reason": finish, **part}],
            "model": self.script.model,
        }
        if self.script.usage == "continuous":
            event["usage"] = self.usage(tokens)
        return json.dumps(event)

    def usage(self, tokens: int) -> dict[str, int]:
        prompt = len(self.prompt) // 4
        return {
            "prompt_tokens": prompt,
            "completion_tokens": tokens,
            "total_tokens": prompt + tokens,
        }

    def last(self) -> dict:
        """What llama.cpp adds to the closing event; draft counts only when there were any."""
        if self.script.engine == VLLM:
            return {}
        timings = {"predicted_n": self.wanted}
        if self.drafts:
            timings.update(draft_n=self.drafts, draft_n_accepted=self.accepted)
        return {"timings": timings}


def prompt_of(body: dict) -> str:
    if "messages" in body:
        return "".join(message["content"] for message in body["messages"])
    return body["prompt"]


def answer_words(state: State, prompt: str, body: dict, count: int) -> list[str]:
    """The same words for the same prompt, unless this server is scripted to differ."""
    script = state.script
    if script.repeats_one_token:
        return ["river"] * count
    key = zlib.crc32(prompt.encode())
    turn = (key % 1000) / 1000
    if body.get("temperature") == 0 and turn < script.differing:
        key += 1 + script.answer_salt
    if body.get("temperature") == 0 and turn < script.unsteady and state.is_repeated(prompt):
        key += 2
    rng, words = random.Random(key), WORDS.split()
    return [rng.choice(words) for _ in range(count)]


def metrics_text(state: State) -> str:
    """Prometheus text as the engine prints it: vLLM shows drafts only while it speculates."""
    vllm = state.script.engine == VLLM
    prefix = "vllm:" if vllm else "llamacpp:"
    labels = 'engine="0",model_name="stub-model"' if vllm else ""
    with state.lock:
        totals, positions = dict(state.totals), list(state.positions)
    tokens = "generation_tokens_total" if vllm else "tokens_predicted_total"
    lines = [
        f"{prefix}{tokens}{{{labels}}} {totals['tokens']}"
        if vllm
        else f"{prefix}{tokens} {totals['tokens']}"
    ]
    if vllm:
        lines.append(f"vllm:num_preemptions_total{{{labels}}} {float(totals['preemptions'])}")
    if state.script.counters and (state.script.depth or not vllm):
        for name in ("drafts", "draft_tokens", "accepted_tokens"):
            where = f"{{{labels}}}" if vllm else ""
            lines.append(f"{prefix}spec_decode_num_{name}_total{where} {float(totals[name])}")
        for position, count in enumerate(positions):
            where = f'{{{labels + "," if labels else ""}position="{position}"}}'
            name = f"{prefix}spec_decode_num_accepted_tokens_per_pos_total"
            lines.append(f"{name}{where} {float(count)}")
    return "\n".join(lines) + "\n"


class Listener(ThreadingHTTPServer):
    """The listening socket, with the script's state."""

    daemon_threads = True
    request_queue_size = 128
    block_on_close = False

    def __init__(
        self,
        port: int,
        script: Script,
        host: str = "127.0.0.1",
        handler: type["Handler"] = Handler,
    ) -> None:
        super().__init__((host, port), handler)
        self.state = State(script)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error of ours."""

    def die(self) -> None:
        """Go away at once, as a crashed server does."""
        self.state.stop.set()
        threading.Thread(target=self.close_all, daemon=True).start()

    def close_all(self) -> None:
        self.shutdown()
        self.server_close()


RUNNING: dict[int, State] = {}
"""The servers of this process by port, for those who play load on them without a clock."""


class StubServer:
    """The server on a thread of this process."""

    def __init__(self, script: Script | None = None, port: int = 0) -> None:
        self.listener = Listener(port, script or Script())
        self.url = f"http://127.0.0.1:{self.listener.server_address[1]}"
        self._thread = threading.Thread(
            target=self.listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def state(self) -> State:
        return self.listener.state

    def start(self) -> "StubServer":
        RUNNING[self.listener.server_address[1]] = self.state
        self._thread.start()
        return self

    def stop(self) -> None:
        RUNNING.pop(self.listener.server_address[1], None)
        self.listener.state.stop.set()
        self.listener.shutdown()
        self.listener.server_close()

    def __enter__(self) -> "StubServer":
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()


def main() -> None:
    """Serve in the foreground; --script holds Script fields as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", default="{}")
    options = parser.parse_args()
    listener = Listener(options.port, Script(**json.loads(options.script)))
    print(f"http://127.0.0.1:{listener.server_address[1]}", flush=True)
    listener.serve_forever()


if __name__ == "__main__":
    main()
