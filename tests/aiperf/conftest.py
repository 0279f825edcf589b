"""The real AIPerf (beside this Python, see .ci/aiperf-venv) and the real llama-server.

No network is used: models are tiny and random, the dataset is of our own making, and AIPerf gets
a tokenizer in a folder. The server's port is published on 127.0.0.1, where AIPerf asks.
"""

import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from speccompose.device.answers import Server
from speccompose.device.stream import Endpoint
from speccompose.device.window import Served
from speccompose.measure.aiperf_program import AIPerf, find_aiperf
from tests.device.speed_bench_file import write_speed_bench
from tests.docker.stacks import IMAGE, free_port

if not Path(sys.executable).with_name("aiperf").exists():
    collect_ignore_glob = ["test_*.py"]

MODEL = "tests/tiny-target"
READY_WITHIN_S = 60
SPECULATING = (
    *("-md", "/models/draft.gguf", "--spec-type", "draft-simple", "--spec-draft-n-max", "4"),
    *("--spec-synth-len", "2.5"),
)
ROOM = ("-c", "16384", "-np", "8", "--cache-ram", "0")


@pytest.fixture(scope="session")
def program() -> AIPerf:
    return find_aiperf("")


@pytest.fixture(scope="session")
def speed_bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """880 rows in SPEED-Bench's form."""
    return write_speed_bench(tmp_path_factory.mktemp("speed-bench"))


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory, data_root: Path) -> Path:
    from tests.docker.tiny_gguf import write_tiny_model

    subprocess.run([data_root / "images/llamacpp-cpu/build"], check=True)
    folder = tmp_path_factory.mktemp("models")
    write_tiny_model(folder / "target.gguf", layers=2, seed=1)
    write_tiny_model(folder / "draft.gguf", layers=1, seed=2)
    return folder


@contextmanager
def llama_server(models: Path, *more: str, key: str | None = None) -> Iterator[Served]:
    """A llama-server that answers on a port of this machine."""
    port = free_port()
    words = [
        *("docker", "run", "--detach", "--publish", f"127.0.0.1:{port}:8080"),
        *("--env", "LLAMA_ARG_THREADS=1", "--volume", f"{models}:/models:ro", IMAGE),
        *("-m", "/models/target.gguf", "--host", "0.0.0.0", "--port", "8080", "--alias", MODEL),
        *("--metrics", "--no-warmup", *ROOM, *more),
        *(("--api-key", key) if key else ()),
    ]
    container = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    try:
        wait_ready(port)
        yield Served(
            Endpoint("127.0.0.1", port, MODEL, key), Server("llama.cpp", "127.0.0.1", port, key)
        )
    finally:
        subprocess.run(["docker", "rm", "--force", container], capture_output=True, check=True)


def wait_ready(port: int) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        try:
            with opener.open(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"llama-server not ready within {READY_WITHIN_S} s")


@pytest.fixture(scope="session")
def drafting(models: Path) -> Iterator[Served]:
    """A server that speculates; its acceptance is made up, so that it is known."""
    with llama_server(models, *SPECULATING) as served:
        yield served


@pytest.fixture(scope="session")
def plain(models: Path) -> Iterator[Served]:
    with llama_server(models) as served:
        yield served


@pytest.fixture
def left_over() -> Callable[[], list[str]]:
    """AIPerf's processes that still run."""

    def look() -> list[str]:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if words.startswith("aiperf ") or "/aiperf profile" in words:
                found.append(words)
        return found

    return look
