"""KV types: bfloat16 on 8.7, the model's wish elsewhere, and bytes that are never too few."""

import pytest

from speccompose.engines.kv_dtype import kv_element_bytes, planned_kv_dtype
from speccompose.vocab.request import StackRequest

LIGHTNING = "nemotron-3.5-lightning-30b-a3b"


@pytest.mark.parametrize(
    ("family", "model", "dtype"),
    [
        ("agx-orin", "qwen3-8b", "bfloat16"),
        ("orin-nx", "qwen3-8b", "bfloat16"),
        ("orin-nano", "qwen3-8b", "bfloat16"),
        ("thor", "qwen3-8b", None),
        ("dgx-spark", "qwen3-8b", None),
        ("agx-orin", LIGHTNING, "bfloat16"),
    ],
)
def test_the_board_decides_on_87(catalog, family, model, dtype):
    entry = catalog.engines["vllm"]
    planned = planned_kv_dtype(entry, "0.27.1", family=family, model=catalog.models[model])
    assert planned == dtype


@pytest.mark.parametrize(
    ("engine", "flags", "width"),
    [
        ("vllm", (), 2),
        ("vllm", (("kv-cache-dtype", "fp8"),), 2),
        ("llama.cpp", (("ctk", "q8_0"),), 2),
        ("llama.cpp", (("ctk", "q8_0"), ("cache-type-v", "q8_0")), 34 / 32),
        ("llama.cpp", (("ctk", "q4_0"), ("ctv", "q8_0")), 34 / 32),
        ("llama.cpp", (("cache-type-v", "f32"),), 4),
    ],
)
def test_bytes_per_element(catalog, engine, flags, width):
    request = StackRequest(model="m", set_flags=flags)
    assert kv_element_bytes(catalog.engines[engine], request) == width
