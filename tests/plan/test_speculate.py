"""Stage 4: proposals best first, explicit requests to the letter, and never too deep."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.errors import SpeculationError
from tests.plan.stage_cases import case, codes

THOR = "agx-thor-t5000"
ORIN = "agx-orin-64gb"
SPARK = "dgx-spark"
METHODS = ["mtp", "eagle3", "dflash", "dspark", "draft_model", "ngram"]
CHAT = "HuggingFaceTB/SmolLM2-135M-Instruct"

SEEDS = [
    (THOR, "nvidia/Qwen3.6-27B-NVFP4", {}, "mtp", 3, None),
    (ORIN, "cyankiwi/Qwen3.6-27B-AWQ-INT4", {}, "mtp", 3, None),
    (
        THOR,
        "google/gemma-4-E2B-it-qat-w4a16-ct",
        {},
        "mtp",
        3,
        "google/gemma-4-E2B-it-assistant",
    ),
    (THOR, "unsloth/Qwen3.8-27B-GGUF:Q4_K_M", {}, "mtp", 3, None),
    (
        THOR,
        "nvidia/Qwen3-8B-NVFP4",
        {},
        "dflash",
        7,
        "RedHatAI/Qwen3-8B-speculator.dflash",
    ),
    (
        THOR,
        "ggml-org/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-GGUF:Q4_K_M",
        {},
        "dflash",
        15,
        "apolo13x/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-DFlash-GGUF",
    ),
    (
        THOR,
        "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
        {},
        "dspark",
        4,
        "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4-DSpark",
    ),
    (
        ORIN,
        "RedHatAI/Qwen3-8B-quantized.w4a16",
        {},
        "eagle3",
        3,
        "RedHatAI/Qwen3-8B-speculator.eagle3",
    ),
    (
        THOR,
        "Qwen/Qwen3-8B",
        {"method": "eagle3"},
        "eagle3",
        5,
        "RedHatAI/Qwen3-8B-speculator.eagle3",
    ),
    (SPARK, "Qwen3.5-122B-A10B-hybrid-int4-fp8", {}, "mtp", 2, None),
    (
        SPARK,
        "Qwen3.5-122B-A10B-hybrid-int4-fp8",
        {"workload": "code"},
        "dflash",
        15,
        "z-lab/Qwen3.5-122B-DFlash",
    ),
    (SPARK, "Qwen3.5-122B-A10B-hybrid-int4-fp8", {"method": "ngram"}, "ngram", 4, None),
]


@pytest.mark.parametrize(("device", "repo", "asked", "method", "depth", "draft"), SEEDS)
def test_the_seeds_pairs(catalog, device, repo, asked, method, depth, draft):
    plan = case(catalog, device, repo, **asked).best()
    assert (plan.method, plan.depth, plan.draft_repo) == (method, depth, draft)
    assert plan.reason
    assert plan.predicted_speedup is None


def test_automatic_ends_with_none(catalog):
    proposals = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4").propose()
    assert [each.label for each in proposals][-1] == "none"
    assert all(each.method for each in proposals[:-1])


def test_none_asked_for_is_one_proposal(catalog):
    (plan,) = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", method="none").propose()
    assert (plan.label, plan.depth, plan.reason) == ("none", 0, "asked for")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("repo", ["nvidia/Qwen3-8B-NVFP4", "nvidia/Qwen3.6-27B-NVFP4"])
def test_an_explicit_method_is_one_proposal_or_a_refusal(catalog, method, repo):
    one = case(catalog, THOR, repo, method=method)
    try:
        proposals = one.propose()
    except SpeculationError:
        return
    assert [each.method for each in proposals] == [method]


def test_what_the_image_lacks_is_skipped_with_a_finding(catalog):
    one = case(catalog, ORIN, "cyankiwi/Qwen3.6-27B-AWQ-INT4", image="vllm-iot-r36")
    (plan,) = one.propose()
    assert plan.method is None
    assert codes(plan.findings) == ["method_skipped"]
    assert "does not offer mtp" in plan.findings[0].message


def test_the_second_choice_says_why_the_first_was_passed_over(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", version="0.19.1")
    best = one.best()
    assert best.method == "eagle3"
    assert any("dflash" in each.message for each in best.findings if each.code == "method_skipped")


@pytest.mark.parametrize(("concurrency", "label"), [(7, "mtp"), (8, "none"), (32, "none")])
def test_from_8_on_the_automatic_choice_is_none(catalog, concurrency, label):
    one = case(catalog, THOR, "nvidia/Qwen3.6-27B-NVFP4", concurrency=concurrency)
    assert one.best().label == label


def test_from_8_on_an_explicit_method_warns(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3.6-27B-NVFP4", concurrency=8, method="mtp")
    assert one.best().method == "mtp"
    assert "speculation_under_load" in codes(one.best().findings)


def test_a_named_draft_is_honoured_or_refused_never_dropped(catalog):
    draft = "RedHatAI/Qwen3-8B-speculator.eagle3"
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", draft=draft)
    (plan,) = one.propose()
    assert (plan.method, plan.draft_repo) == ("eagle3", draft)
    with pytest.raises(SpeculationError):
        one.but(method="dflash").propose()


@pytest.mark.parametrize("depth", [8, 15, 40])
def test_a_depth_that_the_checkpoint_forbids_is_refused_with_the_valid_ones(catalog, depth):
    """S-03: read from the draft itself, so firm."""
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", method="dflash", depth=depth)
    seen = one.with_pairing("dflash", block_evidence="seen")
    with pytest.raises(SpeculationError) as caught:
        seen.propose()
    assert caught.value.code == "depth_refused"
    assert "1 to 7" in caught.value.details[0]


def test_a_depth_asked_for_is_never_adjusted(catalog):
    for depth in (1, 2, 6, 7, 15):
        one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", method="dflash", depth=depth)
        assert one.best().depth == depth


def test_an_automatic_choice_with_a_depth_never_becomes_none(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3.6-27B-NVFP4", depth=2)
    assert [(each.method, each.depth) for each in one.propose()] == [("mtp", 2)]
    nothing = one.with_model(pairings=()).with_checkpoint(has_mtp=False)
    with pytest.raises(SpeculationError) as caught:
        nothing.propose()
    assert "--depth 2" in caught.value.brief


def test_a_flag_about_speculation_is_never_dropped(catalog):
    """With method none the pipeline refuses it before any stage runs."""
    flags = (("spec-synth-len", "2.5"),)
    one = case(catalog, THOR, "Qwen/Qwen3-8B-GGUF", set_flags=flags)
    with pytest.raises(SpeculationError) as caught:
        one.propose()
    assert "spec-synth-len" in caught.value.brief
    demo = case(catalog, THOR, CHAT, set_flags=flags)
    demo = demo.with_pairing("draft_model", preferred_on=("thor",))
    assert "none" not in [each.label for each in demo.propose()]


def test_a_synthetic_run_is_marked(catalog):
    plain = case(catalog, THOR, CHAT, method="draft_model")
    by_flag = plain.but(set_flags=(("spec-synth-len", "2.5"),))
    by_pair = plain.with_pairing("draft_model", synthetic=True)
    assert [one.best().synthetic for one in (plain, by_flag, by_pair)] == [False, True, True]


def test_engine_spelling_goes_into_the_plan(catalog):
    assert case(catalog, THOR, "nvidia/Qwen3.6-27B-NVFP4").best().engine_method == "mtp"
    llama = case(catalog, THOR, "unsloth/Qwen3.8-27B-GGUF:Q4_K_M")
    assert llama.best().engine_method == "draft-mtp"


def test_each_choice_has_its_rule_and_source(catalog):
    for device, repo, asked, *_ in SEEDS:
        plan = case(catalog, device, repo, **asked).best()
        subjects = {each.subject for each in plan.decisions}
        assert {"speculation method", "speculation depth"} <= subjects
        assert all(each.source for each in plan.decisions)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_an_automatic_plan_is_never_deeper_than_the_block(catalog, data):
    """Whatever block, evidence, published depth and version: K <= block - 1 (dspark: block)."""
    method = data.draw(st.sampled_from(["dflash", "dspark"]))
    block = data.draw(st.integers(2, 40))
    one = case(catalog, THOR, "Qwen/Qwen3-8B", version="0.27.1")
    one = one.with_pairing(
        method,
        block_size=block,
        depth=data.draw(st.none() | st.integers(1, 60)),
        block_evidence=data.draw(st.sampled_from(["seen", "secondhand"])),
        preferred_on=("thor",),
        min_engine={},
    )
    others = tuple(each for each in one.model.pairings if each.method == method)
    plan = one.with_model(pairings=others).best()
    assert plan.method == method
    assert 1 <= plan.depth <= (block - 1 if method == "dflash" else block)
