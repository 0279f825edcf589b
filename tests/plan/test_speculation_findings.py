"""Warnings about a pair: load, depth, precision, free text, and what is not published."""

import pytest

from speccompose.vocab.finding import Severity
from tests.plan.stage_cases import case, codes

THOR = "agx-thor-t5000"
TUTORIAL = "nvidia/Qwen3-8B-NVFP4"


@pytest.mark.parametrize(("concurrency", "warned"), [(1, False), (2, False), (3, True), (7, True)])
def test_load_above_two_is_warned_of(catalog, concurrency, warned):
    plan = case(catalog, THOR, TUTORIAL, concurrency=concurrency).best()
    assert ("speculation_under_load" in codes(plan.findings)) == warned


def test_a_depth_beyond_a_second_hand_block_is_a_warning(catalog):
    plan = case(catalog, THOR, TUTORIAL, method="dflash", depth=15).best()
    assert plan.depth == 15
    found = next(each for each in plan.findings if each.code == "depth_above_block")
    assert found.severity == Severity.WARNING
    assert "1 to 7" in found.message


def test_third_party_quantisation_under_a_bf16_draft(catalog):
    """P-03."""
    third = case(catalog, THOR, "RedHatAI/Qwen3-8B-quantized.w4a16", method="eagle3")
    own = case(catalog, THOR, "Qwen/Qwen3-8B", method="eagle3")
    published = third.with_pairing("eagle3", targets=("RedHatAI/Qwen3-8B-quantized.w4a16",))
    assert "draft_precision" in codes(third.best().findings)
    assert "draft_precision" not in codes(own.best().findings)
    assert "draft_precision" not in codes(published.best().findings)


def test_googles_own_quantisation_is_no_third_partys(catalog):
    plan = case(catalog, THOR, "google/gemma-4-E2B-it-qat-w4a16-ct").best()
    assert "draft_precision" not in codes(plan.findings)


def test_ngram_is_warned_of(catalog):
    plan = case(catalog, THOR, TUTORIAL, method="ngram").best()
    assert "ngram_loses" in codes(plan.findings)


def test_a_draft_file_that_no_source_names(catalog):
    repo = "ggml-org/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-GGUF:Q4_K_M"
    one = case(catalog, THOR, repo).with_pairing("dflash", draft_file=None)
    named = one.with_pairing("dflash", draft_file="draft.gguf")
    assert one.best().method == "dflash"
    assert "draft_file_unknown" in codes(one.best().findings)
    assert "draft_file_unknown" not in codes(named.best().findings)


def test_a_pair_by_base_model_is_said(catalog):
    by_base = case(catalog, "agx-orin-64gb", "RedHatAI/Qwen3-8B-quantized.w4a16")
    exact = case(catalog, THOR, TUTORIAL)
    assert "pair_by_base_model" in codes(by_base.best().findings)
    assert "pair_by_base_model" not in codes(exact.best().findings)
