"""Predicted memory against figures that others published for real boards.

Sizes and the boards that a model was served on: Jetson AI Lab's model pages. What vLLM takes
beside weights and KV on a DGX Spark, and where its memory ends: reports in public trackers.
"""

import pytest

from speccompose.errors import MemoryFitError, SpecComposeError
from speccompose.pipeline import plan_stack
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.request import StackRequest

GB, GIB, MIB = 10**9, 2**30, 2**20
THOR, T4000, ORIN64 = "agx-thor-t5000", "agx-thor-t4000", "agx-orin-64gb"


def plan(catalog: Catalog, model: str, device: str, **request) -> StackPlan:
    return plan_stack(StackRequest(model=model, **request), BoardSource(device=device), catalog)


@pytest.mark.parametrize(
    ("model", "device", "size_gb"),
    [
        ("nvidia/Qwen3.6-27B-NVFP4", THOR, 19),
        ("RedHatAI/Qwen3.6-35B-A3B-NVFP4", THOR, 24),
        ("unsloth/Qwen3.8-27B-GGUF:Q4_K_M", THOR, 18),
        ("openai/gpt-oss-120b", THOR, 60),
    ],
)
def test_weights_are_as_large_as_the_page_says(catalog, model, device, size_gb):
    """The pages round to whole gigabytes, and some mean binary ones."""
    memory = plan(catalog, model, device, method="none").memory
    assert 0.95 * size_gb * GB < memory.weights_mib * MIB < 1.1 * size_gb * GIB


@pytest.mark.parametrize(
    ("model", "device", "request_"),
    [
        ("llama-3.1-8b", ORIN64, {}),
        ("llama-3.1-8b", THOR, {}),
        ("gpt-oss-20b", ORIN64, {}),
        ("gpt-oss-20b", T4000, {}),
        ("gpt-oss-120b", THOR, {}),
        ("gemma-4-e2b", "orin-nano-8gb", {}),
        ("gemma-4-e2b", ORIN64, {}),
        ("gemma-4-26b-a4b", T4000, {}),
        ("qwen3.6-27b", ORIN64, {"context_tokens": 8192, "gpu_memory_utilization": 0.75}),
        ("qwen3.6-27b", THOR, {"context_tokens": 8192, "gpu_memory_utilization": 0.75}),
        ("qwen3.6-35b-a3b", ORIN64, {"context_tokens": 4096}),
        ("qwen3.6-35b-a3b", THOR, {}),
        ("qwen3.8-27b", T4000, {"engine": "llama.cpp"}),
        ("nemotron-3-nano-30b-a3b", ORIN64, {"context_tokens": 8192}),
        ("nemotron-3.5-lightning-30b-a3b", ORIN64, {"context_tokens": 128000, "method": "dspark"}),
        ("nemotron-3.5-lightning-30b-a3b", THOR, {"context_tokens": 128000, "method": "dspark"}),
    ],
)
def test_what_was_served_on_a_board_fits_it(catalog, model, device, request_):
    memory = plan(catalog, model, device, **request_).memory
    assert memory.used_mib <= memory.total_mib - 2048


def test_seventeen_gigabytes_of_weights_do_not_fit_sixteen(catalog):
    """A page lists Orin NX 16 GB for it, which cannot be."""
    with pytest.raises(SpecComposeError) as caught:
        plan(catalog, "nemotron-3-nano-30b-a3b", "orin-nx-16gb")
    assert isinstance(caught.value, MemoryFitError) or caught.value.status in (5, 6)


@pytest.mark.parametrize("model", ["nvidia/Qwen3-8B-NVFP4", "gpt-oss-120b", "qwen3.5-122b-a10b"])
def test_vllm_takes_on_a_spark_what_was_measured_there(catalog, model):
    """5.4 to 6.7 GiB beyond weights and KV were measured (llamastash issues 80 and 81)."""
    memory = plan(catalog, model, "dgx-spark", engine="vllm", method="none").memory
    assert 5.4 <= memory.runtime_mib / 1024 <= 6.7 * 1.2


@pytest.mark.parametrize("model", ["nvidia/Qwen3-8B-NVFP4", "gpt-oss-120b", "qwen3.5-122b-a10b"])
def test_a_spark_is_never_asked_for_more_than_its_gpu_gives(catalog, model):
    """CUDA's free memory ends near 102 of 121.69 GiB (MiaAI-Lab, thread 47)."""
    memory = plan(catalog, model, "dgx-spark", engine="vllm").memory
    assert memory.gpu_memory_utilization is not None
    assert memory.gpu_memory_utilization * memory.total_mib / 1024 <= 102
