"""The speculative JSON of each method and version: only keys that the version takes."""

import json

import pytest

from speccompose.engines.vllm_speculation import speculative_json
from speccompose.errors import ImageError
from speccompose.vocab.engine import Fault
from tests.plan.stage_cases import case, replace, values_of

THOR = "agx-thor-t5000"
ORIN = "agx-orin-64gb"
DENSE = "nvidia/Qwen3-8B-NVFP4"
FLAG = "--speculative-config"


def config(one) -> dict:
    return json.loads(values_of(one.command(), FLAG))


@pytest.mark.parametrize(
    ("device", "repo", "asked", "wanted"),
    [
        (THOR, "nvidia/Qwen3.6-27B-NVFP4", {}, {"method": "mtp", "num_speculative_tokens": 3}),
        (
            THOR,
            "google/gemma-4-E2B-it-qat-w4a16-ct",
            {},
            {"method": "mtp", "model": "/models/draft", "num_speculative_tokens": 3},
        ),
        (
            THOR,
            DENSE,
            {},
            {"method": "dflash", "model": "/models/draft", "num_speculative_tokens": 7},
        ),
        (
            THOR,
            DENSE,
            {"method": "eagle3"},
            {
                "method": "eagle3",
                "model": "/models/draft",
                "num_speculative_tokens": 5,
                "draft_tensor_parallel_size": 1,
            },
        ),
        (
            THOR,
            DENSE,
            {"method": "ngram"},
            {
                "method": "ngram",
                "num_speculative_tokens": 4,
                "prompt_lookup_min": 2,
                "prompt_lookup_max": 4,
            },
        ),
        (
            ORIN,
            "RedHatAI/Qwen3-8B-quantized.w4a16",
            {},
            {
                "method": "eagle3",
                "model": "/models/draft",
                "num_speculative_tokens": 3,
                "draft_tensor_parallel_size": 1,
                "kv_cache_dtype": "bfloat16",
            },
        ),
    ],
)
def test_json_per_method(catalog, device, repo, asked, wanted):
    found = config(case(catalog, device, repo, **asked))
    assert found == wanted
    assert list(found) == list(wanted)


def test_a_draft_model_states_one_rank(catalog):
    one = case(catalog, THOR, DENSE, method="draft_model")
    pair = replace(one.pairing("eagle3"), method="draft_model", min_engine={})
    found = config(one.with_model(pairings=(pair,)))
    assert found["method"] == "draft_model"
    assert found["draft_tensor_parallel_size"] == 1


def test_weights_inside_the_target_have_no_model_key(catalog):
    one = case(catalog, THOR, "Qwen/Qwen3-8B", method="dspark", version="0.28.0")
    found = config(one.with_pairing("dspark", draft=None, block_size=7, depth=4))
    assert found == {"method": "dspark", "num_speculative_tokens": 4}


@pytest.mark.parametrize(
    ("version", "attention", "field", "kv"),
    [
        ("0.20.2", "FLASH_ATTN", None, None),
        ("0.21.0", None, "FLASH_ATTN", None),
        ("0.23.0", None, "FLASH_ATTN", None),
        ("0.24.0", None, None, None),
        ("0.26.0", None, None, "bfloat16"),
    ],
)
def test_dflash_through_the_versions(catalog, version, attention, field, kv):
    one = case(catalog, ORIN, "Qwen/Qwen3-8B", method="dflash", version=version)
    words = one.command()
    found = config(one)
    assert (values_of(words, "--attention-backend") if attention else None) == attention
    assert ("--attention-backend" in words) == bool(attention)
    assert found.get("attention_backend") == field
    assert found.get("kv_cache_dtype") == kv


def test_json_is_compact_and_one_word(catalog):
    word = values_of(case(catalog, THOR, DENSE).command(), FLAG)
    assert " " not in word
    assert json.dumps(json.loads(word), separators=(",", ":")) == word


def test_a_key_that_the_version_lacks_is_refused(catalog):
    one = case(catalog, THOR, DENSE)
    entry = catalog.engines["vllm"]
    fault = replace(entry.faults[0], flags={f"{FLAG}.attention_backend": "FLASH_ATTN"})
    assert isinstance(fault, Fault)
    arguments = {"draft_path": "/models/draft", "kv_dtype": None, "faults": [fault]}
    with pytest.raises(ImageError) as caught:
        speculative_json(entry, "0.20.2", one.best(), **arguments)
    assert "attention_backend" in caught.value.brief
    assert "attention_backend" in speculative_json(entry, "0.21.0", one.best(), **arguments)
