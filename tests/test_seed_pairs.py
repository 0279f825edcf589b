"""The pairs that the tutorials name stand in the rendered stacks, spelled for the pinned engine."""

import json

import pytest

from speccompose.plan.reread import read_service
from tests.golden_cases import GOLDEN

LIGHTNING = "NVIDIA-Nemotron-3.5-Lightning-30B-A3B"
PAIRS = {
    "thor-qwen3.6-27b-mtp": ("nvidia/Qwen3.6-27B-NVFP4", "mtp", 3, None),
    "thor-gemma-4-e2b-mtp": (
        "google/gemma-4-E2B-it-qat-w4a16-ct", "mtp", 3, "google/gemma-4-E2B-it-assistant",
    ),
    "thor-qwen3.8-27b-gguf-mtp": ("unsloth/Qwen3.8-27B-GGUF", "mtp", 3, None),
    "thor-qwen3-8b-dflash": (
        "nvidia/Qwen3-8B-NVFP4", "dflash", 7, "RedHatAI/Qwen3-8B-speculator.dflash",
    ),
    "thor-qwen3-8b-eagle3": (
        "nvidia/Qwen3-8B-NVFP4", "eagle3", 5, "RedHatAI/Qwen3-8B-speculator.eagle3",
    ),
    "thor-nemotron-3.5-gguf-dflash": (
        f"ggml-org/{LIGHTNING}-GGUF", "dflash", 15,
        "apolo13x/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-DFlash-GGUF",
    ),
    "thor-nemotron-3.5-nvfp4-dspark": (
        f"nvidia/{LIGHTNING}-NVFP4", "dspark", 4, f"nvidia/{LIGHTNING}-NVFP4-DSpark",
    ),
    "spark-qwen3.5-122b-mtp": ("Qwen3.5-122B-A10B-hybrid-int4-fp8", "mtp", 2, None),
    "spark-qwen3.5-122b-dflash": (
        "Qwen3.5-122B-A10B-hybrid-int4-fp8", "dflash", 15, "z-lab/Qwen3.5-122B-DFlash",
    ),
    "agx-orin-r36-qwen3-8b-eagle3": (
        "RedHatAI/Qwen3-8B-quantized.w4a16", "eagle3", 3, "RedHatAI/Qwen3-8B-speculator.eagle3",
    ),
    "agx-orin-r39-qwen3.6-27b-mtp": ("cyankiwi/Qwen3.6-27B-AWQ-INT4", "mtp", 3, None),
}  # fmt: skip
LLAMA_CPP = {"mtp": "draft-mtp", "dflash": "draft-dflash"}


@pytest.mark.parametrize("case", PAIRS)
def test_pair_is_rendered(case):
    repo, method, depth, draft = PAIRS[case]
    plan = json.loads((GOLDEN / case / "plan.json").read_text())
    assert plan["model"]["repo"] == plan["served_name"] == repo
    assert plan["speculation"]["method"] == method
    assert plan["speculation"]["depth"] == depth
    assert plan["speculation"]["draft"] == draft
    service = read_service((GOLDEN / case / "compose.yaml").read_text())
    assert repo in service.command
    if plan["image"]["engine"] == "vllm":
        config = json.loads(value_of(service.command, "--speculative-config"))
        assert (config["method"], config["num_speculative_tokens"]) == (method, depth)
        assert config.get("model") == (None if draft is None else "/models/draft")
    else:
        assert value_of(service.command, "--spec-type") == LLAMA_CPP[method]
        assert value_of(service.command, "--spec-draft-n-max") == str(depth)


def test_the_tutorials_depth_of_15_is_planned_at_7_with_the_reason():
    plan = json.loads((GOLDEN / "thor-qwen3-8b-dflash" / "plan.json").read_text())
    assert "block" in plan["speculation"]["reason"]
    assert "8" in plan["speculation"]["reason"]


def value_of(command, flag):
    return command[command.index(flag) + 1]
