"""The real vLLM, on the CPU, serves a tiny Llama and speculates: lookup, and a draft of one layer.

The speculative config is rendered by the project; the counters are read by the on-board code.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from speccompose.device.counters import Counters, read_counters
from speccompose.engines.vllm_speculation import speculative_json
from speccompose.vocab.plan import SpeculationPlan
from tests.docker.stacks import free_port

pytestmark = pytest.mark.vllm

VERSION = "0.32.0"
HEALTHY_WITHIN_S = 300
DEPTH = 3
LOOKUP = SpeculationPlan(
    method="ngram", engine_method="ngram", depth=DEPTH, lookup_min=2, lookup_max=4, reason="test"
)
DRAFT = SpeculationPlan(
    method="draft_model",
    engine_method="draft_model",
    depth=DEPTH,
    draft_repo="tests/tiny-draft",
    reason="test",
)


@dataclass(frozen=True)
class Served:
    url: str
    healthy_after_s: float

    def text(self, path: str, body: dict | None = None) -> str:
        data = json.dumps(body).encode() if body else None
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return answer.read().decode()

    def complete(self, tokens: int) -> int:
        body = {"model": "tiny", "prompt": "aa bb cc", "max_tokens": tokens, "temperature": 0}
        answer = json.loads(self.text("/v1/completions", {**body, "ignore_eos": True}))
        return answer["usage"]["completion_tokens"]

    def counters(self) -> Counters | None:
        return read_counters(self.text("/metrics"), "vllm")


@contextmanager
def serving(target: Path, log: Path, *more: str) -> Iterator[Served]:
    """Start `vllm serve` and wait until it is healthy."""
    port = free_port()
    words = [
        *(str(Path(sys.executable).with_name("vllm")), "serve", str(target)),
        *("--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)),
        *("--max-model-len", "512", "--max-num-seqs", "4", "--max-num-batched-tokens", "512"),
        *("--enforce-eager", *more),
    ]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_LOGGING_LEVEL": "INFO"}
    started = time.monotonic()
    with log.open("w") as out:
        process = subprocess.Popen(
            words, stdout=out, stderr=out, env=environment, start_new_session=True
        )
    try:
        served = Served(f"http://127.0.0.1:{port}", 0.0)
        while not _healthy(served):
            waited = time.monotonic() - started
            assert process.poll() is None, log.read_text()[-4000:]
            assert waited < HEALTHY_WITHIN_S, log.read_text()[-4000:]
            time.sleep(1)
        yield Served(served.url, time.monotonic() - started)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _healthy(served: Served) -> bool:
    try:
        served.text("/health")
    except OSError:
        return False
    return True


@pytest.mark.parametrize("plan", [LOOKUP, DRAFT], ids=["ngram", "draft_model"])
def test_it_serves_and_counts_at_every_position(plan, models, tmp_path, catalog, capsys):
    from tests.vllm.tiny_configs import write_llama

    target = write_llama(models / "target", layers=2)
    draft = write_llama(models / "draft", layers=1)
    config = speculative_json(
        catalog.engines["vllm"], VERSION, plan, draft_path=str(draft), kv_dtype=None, faults=()
    )
    with serving(target, tmp_path / "log", "--speculative-config", config) as served:
        assert json.loads(served.text("/version"))["version"].startswith(VERSION)
        assert served.complete(96) == 96
        found = served.counters()
    assert found is not None
    assert found.drafts > 0
    assert len(found.per_position) == DEPTH
    assert all(count > 0 for count in found.per_position)
    with capsys.disabled():
        print(
            f"\n{plan.method}: healthy after {served.healthy_after_s:.0f} s, "
            f"{found.drafts:.0f} drafts, accepted per position {found.per_position}, "
            f"mean length {found.mean_accepted_length:.2f}"
        )
