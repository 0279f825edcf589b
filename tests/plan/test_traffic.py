"""Bytes of a pass: which weights count, and what is assumed where a source is silent."""

import pytest

from speccompose.plan.traffic import draft_traffic, target_traffic
from tests.plan.stage_cases import Case, case, replace

MIB = 1024**2
SPARK_122B = "Qwen3.5-122B-A10B-hybrid-int4-fp8"


def target(at: Case):
    return target_traffic(at.choice.checkpoint, at.model)


def draft(at: Case, plan=None):
    plan = plan or at.best()
    return draft_traffic(plan, at.catalog.methods[plan.method], at.choice.checkpoint, at.model)


def with_geometry(at: Case, **changes) -> Case:
    return at.with_model(geometry=replace(at.model.geometry, **changes))


def test_a_dense_model_reads_all_its_weights(catalog):
    found = target(case(catalog, "agx-thor-t5000", "nvidia/Qwen3-8B-NVFP4"))
    assert found.total_bytes == found.dense_bytes == 6101 * MIB
    assert (found.experts, found.experts_per_token) == (1, 1)


def test_a_mixture_reads_its_active_weights_as_fast_as_it_was_measured(catalog):
    """36 to 37 tok/s on a board with 273 GB/s."""
    found = target(case(catalog, "dgx-spark", SPARK_122B))
    assert 273e9 / found.total_bytes == pytest.approx(36.5, rel=0.03)
    assert found.routed_bytes / found.total_bytes == pytest.approx(0.256, abs=0.01)
    assert "8 of 256" in found.assumption


def test_embedding_tables_per_layer_are_not_read(catalog):
    at = case(catalog, "agx-thor-t5000", "google/gemma-4-E2B-it")
    found = target(at)
    assert found.total_bytes == pytest.approx(2.3e9 * 2)
    assert found.total_bytes < at.choice.checkpoint.weights_mib * MIB / 2


@pytest.mark.parametrize(
    "missing", [{"active_parameters_m": None}, {"hidden_size": None}, {"vocab_size": None}]
)
def test_a_mixture_without_its_figures_is_not_guessed_at(catalog, missing):
    assert target(with_geometry(case(catalog, "dgx-spark", SPARK_122B), **missing)) is None


def test_active_parameters_without_a_router_are_not_guessed_at(catalog):
    assert target(with_geometry(case(catalog, "dgx-spark", SPARK_122B), routed=None)) is None


def test_no_size_no_geometry_no_traffic(catalog):
    at = case(catalog, "agx-thor-t5000", "nvidia/Qwen3-8B-NVFP4")
    assert target(at.with_checkpoint(weights_mib=None)) is None
    assert target(at.with_model(geometry=None)) is None
    assert target(at.with_model(parameters_b=None)) is None


def test_an_mtp_step_reads_one_layer_and_the_output_head_in_16_bits(catalog):
    found = draft(case(catalog, "dgx-spark", SPARK_122B, method="mtp"))
    head, layer = 248320 * 3072, (10e9 - 248320 * 3072) / 48
    assert found.total_bytes == pytest.approx((head + layer) * 2)


def test_inside_a_gguf_the_layer_is_quantised_like_the_rest(catalog):
    gguf = case(catalog, "agx-thor-t5000", "unsloth/Qwen3.8-27B-GGUF", method="mtp")
    nvfp4 = case(catalog, "agx-thor-t5000", "Inferact/Qwen3.8-27B-NVFP4", method="mtp")
    assert draft(gguf).total_bytes < draft(nvfp4).total_bytes / 2


def test_an_eagle3_file_counts_without_its_embedding_table(catalog):
    at = case(catalog, "agx-thor-t5000", "RedHatAI/Qwen3-30B-A3B-quantized.w4a16", method="eagle3")
    assert draft(at).total_bytes == 997 * MIB - 151936 * 2048 * 2


def test_a_dflash_file_counts_with_the_head_it_borrows(catalog):
    at = case(catalog, "dgx-spark", SPARK_122B, method="dflash")
    assert draft(at).total_bytes == 1431 * MIB + 248320 * 3072


def test_a_draft_of_unknown_size_is_taken_to_be_of_the_usual_shape(catalog):
    eagle3 = case(catalog, "agx-thor-t5000", "nvidia/Qwen3-8B-NVFP4", method="eagle3")
    dflash = case(catalog, "agx-thor-t5000", "nvidia/Qwen3-8B-NVFP4", method="dflash")
    layer = (8.2e9 - 2 * 151936 * 4096) / 36
    assert draft(eagle3).total_bytes == pytest.approx((layer + 32000 * 4096) * 2)
    assert draft(dflash).total_bytes == pytest.approx((5 * layer + 151936 * 4096) * 2)
    assert (
        draft(eagle3).assumption == "the draft is 1 layer of the target's width and an output head"
    )


def test_a_lookup_reads_nothing_and_a_draft_model_of_unknown_size_is_unknown(catalog):
    at = case(catalog, "dgx-spark", SPARK_122B, method="ngram")
    assert draft(at).total_bytes == 0
    unknown = replace(at.best(), method="draft_model", draft_repo="some/draft")
    assert draft(at, unknown) is None
