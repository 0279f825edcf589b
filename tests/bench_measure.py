"""Timings of measuring: what the client adds, how much it keeps up with, and the result store.

Budgets of the project: under 1 ms added to a request; 64 streams at 2,000 tokens/s in total on one
core; a few thousand results stay fast. Printed, never asserted in a test.
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from speccompose.device.answer_reader import Ask
from speccompose.device.dataset_rows import Conversation
from speccompose.device.load import run_load
from speccompose.device.stream import Client, question
from speccompose.vocab.measured import MeasuredKey, MeasuredResult
from speccompose.world.result_store import add_result, read_results
from tests.device.endpoints import endpoint_of

STREAMS, TOKENS_S, TOKENS = 64, 2000.0, 60
REQUESTS = 300
RESULTS = 5000


def serve(script: dict) -> subprocess.Popen:
    """A scripted server as a program of its own, so that it takes no time of ours."""
    return subprocess.Popen(
        [sys.executable, "tests/stub_server.py", "--script", json.dumps(script)],
        stdout=subprocess.PIPE,
        text=True,
    )


def streams() -> tuple[float, float, float]:
    """Tokens a second that 64 streams get, the share of one core that it takes, ms a request."""
    server = serve({"rates": {str(STREAMS): TOKENS_S}})
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(everywhere)})
    try:
        endpoint = endpoint_of(server.stdout.readline().strip(), "stub-model")
        asked = [Conversation(str(n), None, (f"x {n}",)) for n in range(4 * STREAMS)]
        busy, began = time.process_time(), time.perf_counter()
        done = run_load(endpoint, asked, concurrency=STREAMS, ask=Ask(TOKENS))
        used, took = time.process_time() - busy, time.perf_counter() - began
    finally:
        os.sched_setaffinity(0, everywhere)
        server.kill()
        server.wait()
    if done.errors:
        raise SystemExit(done.errors[0])
    return done.output_tokens_s, used / took, used * 1000 / len(asked)


def added_ms() -> float:
    """What our client adds to a short request, beside the barest one that reads the same bytes."""
    server = serve({"rates": {"1": 1e6}})
    try:
        endpoint = endpoint_of(server.stdout.readline().strip(), "stub-model")
        client = Client(endpoint, Ask(1))
        ours = median_ms(lambda: client.send(question("x")))
        bare = http.client.HTTPConnection(endpoint.host, endpoint.port)
        body = json.dumps(
            {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1, "stream": True}
        )

        def ask() -> None:
            bare.request("POST", endpoint.route, body)
            bare.getresponse().read()

        plain = median_ms(ask)
    finally:
        server.kill()
        server.wait()
    return ours - plain


def median_ms(action) -> float:
    """Median time of an action, in ms."""
    taken = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        action()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


def store() -> tuple[float, float]:
    """Milliseconds to read some thousand results, and to add one to them."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lines = [msgspec.json.encode(result(number)) for number in range(RESULTS)]
        (root / "results.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        began = time.perf_counter()
        found = read_results(root)
        read = time.perf_counter() - began
        assert len(found) == RESULTS
        began = time.perf_counter()
        add_result(root, result(RESULTS))
        return read * 1000, (time.perf_counter() - began) * 1000


def result(number: int) -> MeasuredResult:
    """One of many results, each with a key of its own."""
    key = MeasuredKey(
        image="vllm-upstream",
        version=f"0.{number}",
        digest="sha256:" + f"{number:064x}",
        target="a/b",
        draft="c/d",
        method="eagle3",
        depth=1 + number % 7,
        device="agx-thor-t5000",
        power_mode="MAXN",
    )
    return MeasuredResult(
        key=key,
        outcome="accepted",
        baseline_tokens_s=20.0,
        speculative_tokens_s=30.0,
        measured_at="2026-11-30T08:00:00+00:00",
    )


def main() -> None:
    """Print every figure beside its budget."""
    sys.stdout.write(f"a request      {added_ms():7.2f} ms   (budget 1 more than the barest)\n")
    speed, share, each = streams()
    sys.stdout.write(
        f"{STREAMS} streams     {speed:7.0f} tokens/s (budget {TOKENS_S:.0f}), "
        f"{share:.0%} of one core, {each:.2f} ms CPU a request\n"
    )
    read, add = store()
    sys.stdout.write(f"{RESULTS:,} results  {read:7.0f} ms to read, {add:.0f} ms to add one\n")
