"""The registry: every engine of the catalog, and each says how it is counted and keyed."""

from speccompose.engines import ENGINES
from tests.plan.stage_cases import case


def test_registry_and_catalog_agree(catalog):
    assert set(ENGINES) == set(catalog.engines)


def test_counters_version_and_key_file():
    assert {name: engine.counters_prefix for name, engine in ENGINES.items()} == {
        "vllm": "vllm:",
        "llama.cpp": "llamacpp:",
    }
    assert {name: engine.version_path for name, engine in ENGINES.items()} == {
        "vllm": "/version",
        "llama.cpp": "/props",
    }
    assert len({engine.key_file for engine in ENGINES.values()}) == len(ENGINES)
    assert ENGINES["vllm"].key_file.endswith(".yaml")


def test_inputs_know_the_version(catalog):
    one = case(catalog, "agx-thor-t5000", "nvidia/Qwen3-8B-NVFP4", version="0.26.0")
    assert one.inputs().version == "0.26.0"
