"""The golden stacks: one per engine and board class, every pair that the tutorials name.

`make golden` runs this as a program and writes tests/golden/; the diff is reviewed by a person.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

from speccompose.catalog.facts_file import read_facts
from speccompose.catalog.load import load_catalog
from speccompose.pipeline import plan_stack, render_plan
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.rendered import RenderedStack
from speccompose.vocab.request import StackRequest

TESTS = Path(__file__).resolve().parent
GOLDEN = TESTS / "golden"
NOT_GOLDEN = {"check", "SHA256SUMS"}
"""The on-board program changes with every line of device/; its hash stands in SHA256SUMS."""

THOR, ORIN64 = "agx-thor-t5000", "agx-orin-64gb"


def named(device: str, l4t: str | None = None) -> BoardSource:
    return BoardSource(device=device, l4t=l4t)


def recorded(name: str) -> BoardSource:
    path = TESTS / "facts" / f"{name}.yaml"
    return BoardSource(facts=read_facts(path.read_text(), f"tests/facts/{name}.yaml"))


NEMOTRON = "NVIDIA-Nemotron-3.5-Lightning-30B-A3B"
CASES: dict[str, tuple[StackRequest, BoardSource]] = {
    # The pairs of the seeds, on the boards that they were published for.
    "thor-qwen3.6-27b-mtp": (StackRequest(model="nvidia/Qwen3.6-27B-NVFP4"), named(THOR)),
    "thor-gemma-4-e2b-mtp": (
        StackRequest(model="google/gemma-4-E2B-it-qat-w4a16-ct", method="mtp"),
        named(THOR),
    ),
    "thor-qwen3.8-27b-gguf-mtp": (
        StackRequest(model="unsloth/Qwen3.8-27B-GGUF:Q4_K_M", method="mtp"),
        named(THOR),
    ),
    "thor-qwen3-8b-dflash": (
        StackRequest(model="nvidia/Qwen3-8B-NVFP4", method="dflash", context_tokens=16384),
        named(THOR),
    ),
    "thor-qwen3-8b-eagle3": (
        StackRequest(model="nvidia/Qwen3-8B-NVFP4", method="eagle3"),
        named(THOR),
    ),
    "thor-nemotron-3.5-gguf-dflash": (
        StackRequest(model=f"ggml-org/{NEMOTRON}-GGUF:Q4_K_M", method="dflash"),
        named(THOR),
    ),
    "thor-nemotron-3.5-nvfp4-dspark": (
        StackRequest(model=f"nvidia/{NEMOTRON}-NVFP4", method="dspark"),
        named(THOR),
    ),
    "spark-qwen3.5-122b-mtp": (
        StackRequest(model="qwen3.5-122b-a10b", method="mtp"),
        named("dgx-spark"),
    ),
    "spark-qwen3.5-122b-dflash": (
        StackRequest(model="qwen3.5-122b-a10b", method="dflash"),
        named("dgx-spark"),
    ),
    # Their Orin siblings: the id is named, the board picks the checkpoint.
    "agx-orin-r36-qwen3-8b-eagle3": (
        StackRequest(model="qwen3-8b", method="eagle3"),
        named(ORIN64, "36.4.3"),
    ),
    "agx-orin-r39-qwen3-8b-eagle3": (
        StackRequest(model="qwen3-8b", method="eagle3"),
        named(ORIN64, "39.2.0"),
    ),
    "agx-orin-r39-qwen3.6-27b-mtp": (StackRequest(model="qwen3.6-27b"), named(ORIN64)),
    "agx-orin-r39-nemotron-3.5-nvfp4": (
        StackRequest(model=f"nvidia/{NEMOTRON}-NVFP4", method="dspark"),
        named(ORIN64),
    ),
    "agx-orin-r39-qwen3.8-27b-gguf-mtp": (
        StackRequest(model="qwen3.8-27b", engine="llama.cpp"),
        named(ORIN64),
    ),
    "orin-nx-16-r36-qwen3-8b": (StackRequest(model="qwen3-8b"), named("orin-nx-16gb", "36.4.7")),
    "orin-nano-8-r39-gemma-4-e2b-gguf": (
        StackRequest(model="gemma-4-e2b"),
        named("orin-nano-8gb"),
    ),
    # Serving options.
    "thor-qwen3-8b-key-and-bind": (
        StackRequest(
            model="nvidia/Qwen3-8B-NVFP4",
            method="none",
            bind="0.0.0.0",
            api_key_file="/root/key",
            name="open",
            port=9000,
        ),
        named(THOR),
    ),
    "thor-qwen3.8-27b-gguf-key": (
        StackRequest(
            model="unsloth/Qwen3.8-27B-GGUF:Q4_K_M",
            engine="llama.cpp",
            bind="0.0.0.0",
            api_key_file="/root/key",
        ),
        named(THOR),
    ),
    "spark-gpt-oss-120b": (StackRequest(model="gpt-oss-120b"), named("dgx-spark")),
    "generic-smollm2-draft": (
        StackRequest(model="smollm2-135m"),
        BoardSource(
            facts=read_facts(
                'facts: 1\nfiles:\n  /proc/meminfo: "MemTotal: 24000000 kB\\nMemAvailable: '
                '22000000 kB\\n"\ncommands:\n  uname -m: "x86_64\\n"\n',
                "a development machine",
            )
        ),
    ),
}


def with_vllm(name: str, version: str, path: str) -> BoardSource:
    """A recorded board on which somebody has installed vLLM."""
    facts = recorded(name).facts
    assert facts is not None
    told = {"vllm --version": f"{version}\n", "command -v vllm": f"{path}\n"}
    return BoardSource(facts=msgspec.structs.replace(facts, commands={**facts.commands, **told}))


NATIVE_CASES: dict[str, tuple[StackRequest, BoardSource]] = {
    # Without a container: the unit is the server.
    "thor-native-qwen3-8b-eagle3": (
        StackRequest(model="nvidia/Qwen3-8B-NVFP4", method="eagle3", runtime="native"),
        with_vllm("thor-t5000-r39.2.1", "0.27.1+cu130", "/opt/vllm/bin/vllm"),
    ),
    "thor-native-qwen3.6-27b-mtp-key": (
        StackRequest(
            model="nvidia/Qwen3.6-27B-NVFP4",
            runtime="native",
            bind="0.0.0.0",
            api_key_file="/root/key",
            name="native",
        ),
        with_vllm("thor-t5000-r38.4", "0.29.0", "/home/me/vllm/bin/vllm"),
    ),
}
ALL_CASES = {**CASES, **NATIVE_CASES}


def render_case(name: str, catalog: Catalog) -> RenderedStack:
    """Plan and render one case."""
    request, board = ALL_CASES[name]
    return render_plan(plan_stack(request, board, catalog), catalog)


def golden_files(stack: RenderedStack) -> dict[str, bytes]:
    """The files of a stack that are kept as golden text."""
    return {item.path: item.content for item in stack.files if item.path not in NOT_GOLDEN}


def main() -> None:
    """Write every golden stack anew."""
    catalog = load_catalog(TESTS.parent, (), None)
    with tempfile.TemporaryDirectory(dir=TESTS) as fresh:
        for name in ALL_CASES:
            folder = Path(fresh) / name
            folder.mkdir()
            for path, content in golden_files(render_case(name, catalog)).items():
                (folder / path).write_bytes(content)
        shutil.rmtree(GOLDEN, ignore_errors=True)
        shutil.copytree(fresh, GOLDEN)
    sys.stdout.write(f"{len(ALL_CASES)} golden stacks written\n")


if __name__ == "__main__":
    main()
