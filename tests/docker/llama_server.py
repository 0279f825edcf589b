"""The real llama-server in a container without a network: started, asked from inside, removed.

Everything is asked with the image's own curl, so the planned host and port stand as they are and
no port of this machine is taken.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from speccompose.device.counters import Counters, read_counters
from tests.docker.stacks import IMAGE

READY_WITHIN_S = 60


@dataclass(frozen=True)
class Mounted:
    """Host folders under the names that a plan gives them; None is not mounted."""

    target: Path
    draft: Path | None = None
    secrets: Path | None = None

    def arguments(self) -> list[str]:
        places = {
            "/models/target": self.target,
            "/models/draft": self.draft,
            "/secrets": self.secrets,
        }
        pairs = [("--volume", f"{path}:{at}:ro") for at, path in places.items() if path]
        return [word for pair in pairs for word in pair]


@dataclass(frozen=True)
class LlamaServer:
    """One running container."""

    container: str
    port: int
    key: str | None = None

    def get(self, path: str) -> str:
        return self._curl(path)

    def slots(self) -> list[dict]:
        return json.loads(self.get("/slots"))

    def complete(self, prompt: str, tokens: int) -> dict:
        """A greedy completion of exactly so many tokens."""
        body = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "ignore_eos": True}
        return json.loads(self._curl("/completion", "-d", json.dumps(body)))

    def counters(self) -> Counters:
        found = read_counters(self.get("/metrics"), "llama.cpp")
        assert found is not None
        return found

    def logs(self) -> str:
        done = _run("docker", "logs", self.container)
        return done.stdout + done.stderr

    def maps(self) -> str:
        """What the kernel says of the server's memory, mapping by mapping."""
        done = _run("docker", "exec", self.container, "cat", "/proc/1/smaps")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait_ready(self) -> None:
        """Until it answers, or fail with what it said."""
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            if _run("docker", "exec", self.container, *self._words("/health")).returncode == 0:
                return
            assert _run("docker", "exec", self.container, "true").returncode == 0, self.logs()
            time.sleep(0.1)
        raise AssertionError(f"not ready within {READY_WITHIN_S} s\n{self.logs()}")

    def _curl(self, path: str, *more: str) -> str:
        done = _run("docker", "exec", self.container, *self._words(path, *more))
        assert done.returncode == 0, (path, done.stderr, self.logs())
        return done.stdout

    def _words(self, path: str, *more: str) -> list[str]:
        key = ["-H", f"Authorization: Bearer {self.key}"] if self.key else []
        return ["curl", "-fsS", *key, *more, f"http://127.0.0.1:{self.port}{path}"]


@contextmanager
def serving(
    command: Sequence[str], mounted: Mounted, key: str | None = None
) -> Iterator[LlamaServer]:
    """Start it as planned and wait until it answers."""
    done = _run("docker", "run", "--detach", *_container(mounted), IMAGE, *command)
    assert done.returncode == 0, done.stderr
    port = int(command[list(command).index("--port") + 1])
    server = LlamaServer(done.stdout.strip(), port, key)
    try:
        server.wait_ready()
        yield server
    finally:
        _run("docker", "rm", "--force", server.container)


def run_to_end(command: Sequence[str], mounted: Mounted) -> tuple[int, str]:
    """Exit status and output of a server that ends by itself."""
    done = _run("docker", "run", "--rm", *_container(mounted), IMAGE, *command)
    return done.returncode, done.stdout + done.stderr


def _container(mounted: Mounted) -> list[str]:
    alone = ("--env", "LLAMA_ARG_THREADS=1")  # two threads wait for each other on a busy machine
    return ["--network", "none", "--cap-drop", "ALL", *alone, *mounted.arguments()]


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
