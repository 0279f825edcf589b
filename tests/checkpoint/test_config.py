"""Configs: absurd values are refused by name, layers and geometry come out as published."""

import pytest

from speccompose.checkpoint.geometry import kv_bytes, max_context, read_geometry
from speccompose.checkpoint.layers import layer_kinds
from speccompose.checkpoint.table import Table
from speccompose.errors import DataError
from speccompose.vocab.checkpoint import GeometryFacts
from speccompose.vocab.model import Geometry, LinearState
from tests.checkpoint.made import QWEN3_8B, QWEN36_35B

FROM_CONFIG = set(GeometryFacts.__struct_fields__) - {
    "active_parameters_m",
    "routed",
    "table_parameters_m",
}
"""The rest comes from the tensors."""


def geometry(config: dict, mtp_layers: int = 0) -> GeometryFacts | None:
    part = Table(config, "config.json").text_part()
    return read_geometry(part, mtp_layers=mtp_layers)


def test_geometry_facts_have_the_fields_of_the_catalog():
    own = set(GeometryFacts.__struct_fields__)
    assert set(Geometry.__struct_fields__) - own == {"source", "checked", "evidence"}
    assert own <= set(Geometry.__struct_fields__)


def test_qwen36_35b_costs_what_is_published(catalog):
    found = geometry(QWEN36_35B, mtp_layers=1)
    assert found.linear == LinearState(layers=30, conv_elements=24576, state_elements=524288)
    cost = kv_bytes(found)
    assert cost.token == 20480
    assert cost.token + cost.mtp_token == 22528
    shipped = catalog.models["qwen3.6-35b-a3b"].geometry
    for name in FROM_CONFIG:
        assert getattr(found, name) == getattr(shipped, name), name


def test_the_interval_says_the_same_as_the_list():
    text = {k: v for k, v in QWEN36_35B["text_config"].items() if k != "layer_types"}
    assert geometry(text) == geometry(QWEN36_35B["text_config"])


def test_qwen3_8b_has_no_window_whatever_it_names(catalog):
    found = geometry({**QWEN3_8B, "sliding_window": 4096})
    shipped = catalog.models["qwen3-8b"].geometry
    assert (found.attention_layers, found.sliding_layers) == (36, 0)
    assert kv_bytes(found).token == 36 * 8 * 256 * 2
    assert found.max_context_tokens == shipped.max_context_tokens


def test_mla_keeps_one_head_without_values():
    found = geometry(
        {
            "num_hidden_layers": 61,
            "num_attention_heads": 128,
            "num_key_value_heads": 128,
            "hidden_size": 7168,
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
        }
    )
    assert (found.kv_heads, found.head_dim_k, found.head_dim_v) == (1, 576, 0)
    assert kv_bytes(found).token == 61 * 576 * 2


def test_nemotron_pattern(catalog):
    pattern = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
    found = geometry(
        {
            "num_hidden_layers": 52,
            "hybrid_override_pattern": pattern,
            "num_attention_heads": 32,
            "num_key_value_heads": 2,
            "head_dim": 128,
            "hidden_size": 2688,
            "vocab_size": 131072,
            "mamba_num_heads": 64,
            "mamba_head_dim": 64,
            "n_groups": 8,
            "ssm_state_size": 128,
            "conv_kernel": 4,
        }
    )
    shipped = catalog.models["nemotron-3.5-lightning-30b-a3b"].geometry
    assert found.linear == shipped.linear
    assert (found.layers, found.attention_layers) == (52, 6)


def test_gemma_4_shares_kv_and_slides(catalog):
    kinds = (["sliding_attention"] * 4 + ["full_attention"]) * 7
    found = geometry(
        {
            "text_config": {
                "num_hidden_layers": 35,
                "layer_types": kinds,
                "num_kv_shared_layers": 20,
                "num_attention_heads": 8,
                "num_key_value_heads": 1,
                "head_dim": 256,
                "global_head_dim": 512,
                "sliding_window": 512,
                "hidden_size": 1536,
                "vocab_size": 262144,
                "max_position_embeddings": 131072,
            }
        }
    )
    shipped = catalog.models["gemma-4-e2b"].geometry
    for name in FROM_CONFIG:
        assert getattr(found, name) == getattr(shipped, name), name
    assert kv_bytes(found).window == 12 * 1 * 2 * 256 * 2 * 512


def test_gpt_oss_alternates(catalog):
    found = geometry(
        {
            "num_hidden_layers": 24,
            "layer_types": ["sliding_attention", "full_attention"] * 12,
            "num_attention_heads": 64,
            "num_key_value_heads": 8,
            "head_dim": 64,
            "sliding_window": 128,
            "hidden_size": 2880,
            "vocab_size": 201088,
            "max_position_embeddings": 131072,
        }
    )
    shipped = catalog.models["gpt-oss-20b"].geometry
    assert (found.attention_layers, found.sliding_layers) == (12, 12)
    assert (found.sliding_kv_heads, found.sliding_head_dim, found.window_tokens) == (8, 64, 128)
    assert found.kv_heads == shipped.kv_heads


@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        ({"num_hidden_layers": 2}, ("full", "full")),
        ({"num_hidden_layers": 2, "sliding_window": 9}, ("sliding", "sliding")),
        (
            {"num_hidden_layers": 3, "sliding_window": 9, "sliding_window_pattern": 2},
            ("sliding", "full", "sliding"),
        ),
        ({"num_hidden_layers": 1, "layer_types": ["sliding_attention"]}, ("full",)),
        ({"num_hidden_layers": 1, "layer_types": ["holographic"]}, None),
        ({"hybrid_override_pattern": "M*X"}, None),
    ],
)
def test_layer_kinds(config, kinds):
    assert layer_kinds(Table(config, "config.json")) == kinds


def test_unknown_layers_make_the_geometry_unknown():
    assert geometry({**QWEN3_8B, "layer_types": ["warp"] * 36}) is None


def test_linear_layers_without_sizes_are_unknown():
    config = {**QWEN3_8B, "layer_types": ["linear_attention"] * 36}
    assert geometry(config) is None


def test_fewer_kinds_than_layers_contradict():
    with pytest.raises(DataError, match="lists 1 layers"):
        geometry({**QWEN3_8B, "layer_types": ["full_attention"]})


@pytest.mark.parametrize(
    "value", [-1, 10**30, 1e30, "36", True, [36], {}, 0.5, -(2**63), float("inf")]
)
def test_absurd_layers_are_refused_by_name(value):
    with pytest.raises(DataError, match="num_hidden_layers") as refused:
        geometry({**QWEN3_8B, "num_hidden_layers": value})
    assert refused.value.status == 3
    assert max(len(line) for line in (refused.value.brief, *refused.value.details)) < 130


@pytest.mark.parametrize(
    "key", ["hidden_size", "num_key_value_heads", "head_dim", "vocab_size", "sliding_window"]
)
def test_every_number_is_checked(key):
    config = {**QWEN3_8B, "use_sliding_window": True, key: -4}
    with pytest.raises(DataError, match=key):
        geometry(config)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("layer_types", "full"),
        ("layer_types", [1]),
        ("hybrid_override_pattern", 7),
        ("use_sliding_window", "yes"),
    ],
)
def test_other_kinds_are_checked(key, value):
    with pytest.raises(DataError, match=key):
        geometry({**QWEN3_8B, "sliding_window": 9, key: value})


def test_missing_numbers_are_named():
    with pytest.raises(DataError, match="num_attention_heads"):
        geometry({"num_hidden_layers": 2})


def test_the_text_part_may_be_nested_or_the_root():
    assert max_context(Table({"text_config": {"max_position_embeddings": 7}}, "c").text_part()) == 7
    assert max_context(Table({"max_position_embeddings": 7}, "c").text_part()) == 7
    with pytest.raises(DataError, match="text_config"):
        Table({"text_config": "none"}, "c").text_part()
