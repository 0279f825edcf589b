"""The stub engine reads an engine's command line, and misbehaves as its mode says."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docker.stacks import free_port
from tests.lab.stub_engine import depth_of, option, script_of, start_log, weights_fault

ROOT = Path(__file__).resolve().parent.parent.parent
JETSON = ["-m", "/m/t.gguf", "--alias", "lab/t", "-ngl", "all", "-fa", "on"]
DRAFTING = [*JETSON, "--spec-type", "draft-simple", "--spec-draft-n-max", "3"]


def test_options_and_depth():
    assert option(DRAFTING, "--alias", "--served-model-name") == "lab/t"
    assert option(DRAFTING, "--nothing") is None
    assert depth_of(JETSON) == 0
    assert depth_of(DRAFTING) == 3
    assert depth_of([*JETSON, "-md", "/m/d.gguf"]) == 4
    assert depth_of(["--speculative-config", '{"num_speculative_tokens": 5}']) == 5


def test_what_is_served_follows_command_and_image():
    script = script_of("llama.cpp", DRAFTING, {"STUB_VERSION": "b8708", "STUB_COUNTERS": "0"})
    assert (script.version, script.depth, script.counters) == ("b8708", 3, False)
    assert script.accepted_length > 2
    low = script_of("llama.cpp", DRAFTING, {"STUB_MODE": "low-acceptance"})
    assert low.accepted_length < 1.05


def test_the_start_log_is_a_gpus_only_where_one_is_asked_for():
    assert any("CUDA0 model buffer" in line for line in start_log("llama.cpp", JETSON, "ok"))
    assert not any("CUDA" in line for line in start_log("llama.cpp", JETSON, "no-gpu"))
    assert not any("CUDA" in line for line in start_log("llama.cpp", ["-m", "x"], "ok"))


def test_weights_must_be_there(tmp_path: Path):
    good, bad = tmp_path / "good.gguf", tmp_path / "bad.gguf"
    good.write_bytes(b"GGUF....")
    bad.write_bytes(b"<html>")
    assert weights_fault("llama.cpp", ["-m", str(good)]) is None
    assert "failed to load" in str(weights_fault("llama.cpp", ["-m", str(bad)]))
    both = ["-m", str(good), "--model-draft", str(tmp_path / "none")]
    assert "none" in str(weights_fault("llama.cpp", both))
    assert weights_fault("vllm", ["serve", str(tmp_path)]) is not None


@contextmanager
def running(folder: Path, mode: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    model, port = folder / "t.gguf", free_port()
    model.write_bytes(b"GGUF....")
    argv = ["-m", str(model), "--port", str(port), "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.lab.stub_engine", *argv],
        cwd=ROOT,
        env={**os.environ, "STUB_MODE": mode},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait()


def ask(url: str, body: dict | None = None, timeout_s: float = 10.0) -> tuple[int, bytes]:
    """Status and body; asked again until something listens."""
    data = None if body is None else json.dumps(body).encode()
    for _ in range(200):
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data), timeout=timeout_s) as a:
                return a.status, a.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.05)
    raise AssertionError("nothing listens")


def test_a_mode_that_is_told_while_it_runs_holds_at_once(tmp_path: Path):
    question = {"prompt": "one two", "max_tokens": 2}
    with running(tmp_path, "ok") as (url, _):
        assert ask(f"{url}/health")[0] == 200
        assert b"text" in ask(f"{url}/v1/completions", question)[1]
        assert ask(f"{url}/stub/mode", {"mode": "garbage"})[0] == 200
        assert b"<html>" in ask(f"{url}/v1/completions", question)[1]
        assert ask(f"{url}/stub/mode", {"mode": "deadlocked"})[0] == 200
        assert ask(f"{url}/health")[0] == 200
        with pytest.raises(TimeoutError):
            ask(f"{url}/v1/completions", question, timeout_s=1.0)


def test_never_healthy_and_exits(tmp_path: Path):
    with running(tmp_path, "never-healthy") as (url, _):
        assert ask(f"{url}/health")[0] == 503
    with running(tmp_path, "exits") as (_, process):
        assert process.wait(20) == 1
