"""Which ways to speculate are known for a target, and in which order they are tried."""

import pytest

from speccompose.plan.pairings import Ask, automatic_candidates, candidates_of, is_for
from tests.plan.stage_cases import case, replace

THOR = "agx-thor-t5000"


def ask(one):
    return Ask(
        device=one.device,
        choice=one.choice,
        model=one.model,
        request=one.request,
        catalog=one.catalog,
    )


def order(one):
    return [each.method.id for each in automatic_candidates(ask(one))]


def test_a_pair_is_for_its_target_its_base_or_everything(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4")
    pair = one.pairing("eagle3")
    checkpoint = one.choice.checkpoint
    other = one.with_pairing("eagle3", targets=("lab/other",)).pairing("eagle3")
    named = one.with_pairing("eagle3", targets=(checkpoint.repo,)).pairing("eagle3")
    anything = one.with_pairing("eagle3", targets=()).pairing("eagle3")
    assert "Qwen/Qwen3-8B" in pair.targets
    assert is_for(pair, checkpoint, one.model)
    assert is_for(named, checkpoint, one.model)
    assert is_for(anything, checkpoint, one.model)
    assert not is_for(other, checkpoint, one.model)


def test_a_quantisation_can_be_named(catalog):
    one = case(catalog, THOR, "Qwen/Qwen3-8B-GGUF:Q4_K_M")
    pair = one.with_pairing("eagle3", targets=("Qwen/Qwen3-8B-GGUF:Q8_0",)).pairing("eagle3")
    assert not is_for(pair, one.choice.checkpoint, one.model)
    pair = one.with_pairing("eagle3", targets=("Qwen/Qwen3-8B-GGUF:Q4_K_M",)).pairing("eagle3")
    assert is_for(pair, one.choice.checkpoint, one.model)


def test_pairs_of_the_other_engine_are_no_candidates(catalog):
    vllm = case(catalog, THOR, "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4")
    llama = case(catalog, THOR, "ggml-org/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-GGUF:Q4_K_M")
    assert "dspark" in order(vllm)
    assert set(order(llama)) == {"dflash"}


def test_published_preference_comes_first(catalog):
    lightning = case(catalog, THOR, "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4")
    assert order(lightning)[0] == "dspark"
    assert order(lightning.with_pairing("dspark", preferred_on=()))[0] == "mtp"


@pytest.mark.parametrize("workload", ["code", "json"])
def test_structured_work_puts_dflash_before_mtp(catalog, workload):
    one = case(catalog, "dgx-spark", "Qwen3.5-122B-A10B-hybrid-int4-fp8")
    assert order(one)[0] == "mtp"
    assert order(one.but(workload=workload))[:2] == ["dflash", "mtp"]


def test_structured_work_leaves_other_preferences_alone(catalog):
    one = case(catalog, THOR, "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4")
    assert order(one.but(workload="code"))[:2] == ["dspark", "dflash"]


def test_mtp_needs_no_pairing_when_the_checkpoint_has_it(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3.6-27B-NVFP4").with_model(pairings=())
    assert order(one) == ["mtp"]
    assert order(one.with_checkpoint(has_mtp=None)) == []


def test_a_named_draft_leaves_only_its_own_pairs(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4").but(
        draft="RedHatAI/Qwen3-8B-speculator.eagle3"
    )
    assert candidates_of(ask(one), "dflash") == ()
    assert [each.draft for each in candidates_of(ask(one), "eagle3")] == [one.request.draft]


def test_ngram_is_never_automatic(catalog):
    for model in catalog.models.values():
        for checkpoint in model.checkpoints:
            one = case(catalog, THOR, _name(checkpoint))
            assert "ngram" not in order(one)


@pytest.mark.parametrize(
    ("changes", "automatic"),
    [
        ({}, False),
        ({"synthetic": True}, False),
        ({"draft_bundled": None, "synthetic": True}, False),
        ({"draft_bundled": None}, True),
        ({"draft_bundled": "pypi:name==1:draft.gguf"}, True),
        ({"preferred_on": ("thor",)}, True),
        ({"synthetic": True, "preferred_on": ("thor",)}, True),
    ],
)
def test_pairs_made_for_tests_stay_where_they_were_made_for(catalog, changes, automatic):
    one = case(catalog, THOR, "HuggingFaceTB/SmolLM2-135M-Instruct")
    one = one.with_pairing("draft_model", **{"preferred_on": ("generic",), **changes})
    assert order(one) == (["draft_model"] if automatic else [])
    assert [each.method.id for each in candidates_of(ask(one), "draft_model")] == ["draft_model"]


def test_the_demos_draft_is_taken_on_generic_machines_only(catalog):
    repo = "HuggingFaceTB/SmolLM2-135M-Instruct"
    for device in sorted(catalog.devices):
        one = case(catalog, THOR, repo)
        one.device = replace(one.device, profile=catalog.devices[device])
        expected = ["draft_model"] if one.device.family == "generic" else []
        assert order(one) == expected, device


def _name(checkpoint):
    return f"{checkpoint.repo}:{checkpoint.quant}" if checkpoint.quant else checkpoint.repo
