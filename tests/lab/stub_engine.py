"""What a stub image runs in an engine's place: it takes the engine's command line and misbehaves.

    llama-server -m FILE --host H --port P --alias NAME ...      vllm serve DIR --port P ...

It is no fake of the checks: it must be found by its files, listen where the command says, show
the counters of its engine and print what the engine prints at start, or the board refuses it. How
it behaves stands in STUB_MODE (a variable of the image), or is told while it runs:
POST /stub/mode {"mode": "deadlocked"}.

    ok              serves                      never-healthy   /health stays 503
    slow            ready after STUB_SLOW_S     dies            ends STUB_DIE_S after its start
    deadlocked      /health 200, no token ever  garbage         answers that are no JSON
    eats-memory     takes memory until stopped  low-acceptance  drafts are hardly ever accepted
    no-gpu          the start log of a CPU      exits           ends at once

Standard library only; stub_server.py lies beside it in the image.
"""

import itertools
import json
import os
import sys
import threading
import time
from pathlib import Path

try:
    from stub_server import LLAMA_CPP, VLLM, Handler, Listener, Script
except ImportError:  # in the tree, not in the image
    from tests.stub_server import LLAMA_CPP, VLLM, Handler, Listener, Script

MODES = (
    "ok",
    "slow",
    "never-healthy",
    "dies",
    "deadlocked",
    "garbage",
    "eats-memory",
    "low-acceptance",
    "no-gpu",
    "exits",
)
NEVER_S = 1e9
_DRAFTING = ("--model-draft", "-md", "--spec-type", "--speculative-config")
_DEPTHS = ("--spec-draft-n-max", "--draft-max", "--draft")


class StubHandler(Handler):
    """The scripted server, whose mode can change while it runs."""

    mode = "ok"

    def do_POST(self) -> None:  # noqa: N802
        if self.path == "/stub/mode":
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            StubHandler.mode = body["mode"]
            return self.give(200, {"mode": StubHandler.mode})
        return super().do_POST()

    def do_GET(self) -> None:  # noqa: N802
        if StubHandler.mode == "never-healthy" and self.path == "/health":
            return self.give(503, {"error": {"message": "Loading model", "code": 503}})
        return super().do_GET()

    def complete(self, body: dict, running: int) -> None:
        if StubHandler.mode == "deadlocked":
            time.sleep(NEVER_S)
        elif StubHandler.mode == "garbage":
            self.give(200, b"<html>It works!</html>")
        else:
            super().complete(body, running)


def option(argv: list[str], *names: str) -> str | None:
    """The value after the first of these flags, or None."""
    for flag, value in itertools.pairwise(argv):
        if flag in names:
            return value
    return None


def depth_of(argv: list[str]) -> int:
    """How many tokens the command asks to draft; 0 without speculation."""
    if not any(flag in argv for flag in _DRAFTING):
        return 0
    config = option(argv, "--speculative-config")
    if config is not None:
        return int(json.loads(config)["num_speculative_tokens"])
    return int(option(argv, *_DEPTHS) or 4)


def script_of(engine: str, argv: list[str], environ: dict[str, str]) -> Script:
    """What to serve, from the engine's own command line."""
    mode, depth = environ.get("STUB_MODE", "ok"), depth_of(argv)
    accepted = 1.02 if mode == "low-acceptance" else 1.0 + 0.6 * depth
    key_file = option(argv, "--api-key-file")
    return Script(
        engine=engine,
        model=option(argv, "--alias", "--served-model-name") or "unnamed",
        version=environ.get("STUB_VERSION", "b0"),
        depth=depth,
        accepted_length=accepted,
        counters=environ.get("STUB_COUNTERS", "1") == "1",
        loading_s=float(environ.get("STUB_SLOW_S", "15")) if mode == "slow" else 0.0,
        api_key=Path(key_file).read_text().split()[0] if key_file else None,
        rates={1: 800.0, 8: 2400.0},
    )


def start_log(engine: str, argv: list[str], mode: str) -> list[str]:
    """Lines in the words of the engine's own start log, as far as a board reads them."""
    if engine == VLLM:
        return ["INFO: Started server process", "INFO: Application startup complete."]
    loaded = [f"load_tensors: loading model {option(argv, '-m')}"]
    if mode == "no-gpu" or "-ngl" not in argv:
        return [*loaded, "load_tensors:          CPU model buffer size =     3.10 MiB"]
    parts = 2 if option(argv, "--model-draft", "-md") else 1
    return [
        "ggml_cuda_init: found 1 CUDA devices:",
        *loaded,
        *(["load_tensors: offloaded 25/25 layers to GPU"] * parts),
        *(["load_tensors:        CUDA0 model buffer size =     3.10 MiB"] * parts),
    ]


def weights_fault(engine: str, argv: list[str]) -> str | None:
    """What of the command's weights is not there."""
    if engine == VLLM:
        path = argv[1] if len(argv) > 1 and argv[0] == "serve" else ""
        return None if (Path(path) / "config.json").is_file() else f"no config.json in {path!r}"
    for name in filter(None, (option(argv, "-m"), option(argv, "--model-draft", "-md"))):
        if not Path(name).is_file() or Path(name).read_bytes()[:4] != b"GGUF":
            return f"failed to load model {name!r}"
    return None


def eat_memory() -> None:
    """Take 64 MiB every tenth of a second, for as long as somebody lets it."""
    held = []
    while True:
        held.append(os.urandom(1 << 20) * 64)
        time.sleep(0.1)


def main() -> None:
    engine = VLLM if Path(sys.argv[0]).name == "vllm" else LLAMA_CPP
    argv, mode = sys.argv[1:], os.environ.get("STUB_MODE", "ok")
    if "--version" in argv:
        print(f"version: {os.environ.get('STUB_VERSION', 'b0')}", file=sys.stderr)
        return
    fault = weights_fault(engine, argv)
    if fault is not None or mode == "exits":
        print(f"error: {fault or 'this image is broken'}", file=sys.stderr, flush=True)
        sys.exit(1)
    for line in start_log(engine, argv, mode):
        print(line, file=sys.stderr, flush=True)
    StubHandler.mode = mode
    if mode == "dies":
        seconds = float(os.environ.get("STUB_DIE_S", "5"))
        threading.Timer(seconds, os._exit, [134]).start()
    if mode == "eats-memory":
        threading.Thread(target=eat_memory, daemon=True).start()
    host, port = option(argv, "--host") or "127.0.0.1", int(option(argv, "--port") or 8080)
    script = script_of(engine, argv, dict(os.environ))
    Listener(port, script, host, StubHandler).serve_forever()


if __name__ == "__main__":
    main()
