"""What stands in the way of speculation, and that each refusal says how to go on."""

import pytest

from speccompose.errors import ExitStatus, SpeculationError
from tests.plan.stage_cases import case, codes, replace

THOR = "agx-thor-t5000"
ORIN = "agx-orin-64gb"


def refusal(one) -> SpeculationError:
    with pytest.raises(SpeculationError) as caught:
        one.propose()
    assert caught.value.status == ExitStatus.SPECULATION
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("device_id", ["orin-nx-16gb", "orin-nx-8gb", "orin-nano-8gb"])
@pytest.mark.parametrize("method", ["eagle3", "draft_model", "dflash", "dspark"])
def test_separate_drafts_are_refused_on_small_orins(catalog, device_id, method):
    """M-07: family, reason and alternatives are named, whether or not a pair is known."""
    one = case(catalog, device_id, "Qwen/Qwen3-8B-GGUF", method=method)
    error = refusal(one)
    assert error.code == "no_drafts_on_board"
    assert method in error.brief
    assert device_id in error.brief
    assert "memory" in error.details[0]
    assert "none" in (error.hint or "")


def test_the_assistant_of_gemma_is_no_separate_draft(catalog):
    one = case(catalog, "orin-nx-16gb", "google/gemma-4-E2B-it", method="mtp")
    assert one.best().draft_repo == "google/gemma-4-E2B-it-assistant"


def test_dspark_inside_the_target_is_no_separate_draft(catalog):
    one = case(catalog, "orin-nx-16gb", "Qwen/Qwen3-8B", method="dspark")
    assert refusal(one).code == "no_drafts_on_board"
    inside = one.with_pairing("dspark", draft=None, block_size=7)
    assert inside.best().method == "dspark"
    assert inside.best().draft_repo is None


def test_8gb_boards_run_vllm_without_speculation(catalog):
    one = case(catalog, "orin-nano-8gb", "google/gemma-4-E2B-it")
    assert one.best().method is None
    assert codes(one.best().findings) == ["method_skipped"]
    assert refusal(one.but(method="mtp")).code == "no_speculation_on_8gb"


def test_an_image_that_lacks_the_method_says_what_it_offers(catalog):
    one = case(
        catalog, ORIN, "RedHatAI/Qwen3-8B-quantized.w4a16", image="vllm-iot-r36", method="mtp"
    )
    error = refusal(one)
    assert error.code == "method_not_in_image"
    assert "eagle3, ngram" in error.details[0]


@pytest.mark.parametrize(
    ("method", "version", "wanted"),
    [("dflash", "0.19.1", "0.20"), ("eagle3", "0.10.2", "0.11")],
)
def test_engine_floors_compare_as_numbers(catalog, method, version, wanted):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", version=version, method=method)
    error = refusal(one)
    assert error.code == "engine_too_old"
    assert wanted in error.brief
    assert version in error.brief


def test_the_pair_may_need_more_than_the_method(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", version="0.24.0", method="dflash")
    assert one.best().depth == 7
    younger = one.with_pairing("dflash", min_engine={"vllm": "0.25.0"})
    assert "0.25.0" in refusal(younger).brief


@pytest.mark.parametrize(("version", "code"), [("0.20.2", "known_fault"), ("0.21.0", None)])
def test_gemmas_assistant_runs_from_021(catalog, version, code):
    one = case(catalog, THOR, "google/gemma-4-E2B-it-qat-w4a16-ct", version=version, method="mtp")
    one = one.with_pairing("mtp", min_engine={})
    if code:
        assert refusal(one).code == code
    else:
        assert one.best().method == "mtp"


def test_mtp_needs_tensors_not_a_config_key(catalog):
    """P-01, P-04: unknown is not a yes."""
    one = case(catalog, THOR, "nvidia/Qwen3.6-27B-NVFP4", method="mtp")
    unknown = one.with_checkpoint(has_mtp=None)
    stripped = one.with_checkpoint(has_mtp=False)
    assert refusal(unknown).code == "no_mtp_heads"
    assert "not known" in refusal(unknown).brief
    assert "inspect" in (refusal(unknown).hint or "")
    assert "carries no MTP tensors" in refusal(stripped).brief
    assert "cyankiwi/Qwen3.6-27B-AWQ-INT4 carries them" in refusal(stripped).details


def test_mtp_without_heads_and_without_pairing_is_refused_the_same_way(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", method="mtp")
    assert refusal(one).code == "no_mtp_heads"


def test_an_unknown_draft_names_the_known_ones(catalog):
    """P-05, P-07, P-08: a head for another model is refused before anything is pulled."""
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", draft="lab/other-head")
    error = refusal(one)
    assert error.code == "unknown_draft"
    assert "RedHatAI/Qwen3-8B-speculator.dflash" in error.details[0]


def test_a_draft_for_another_target_says_which(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4")
    one = one.with_pairing("dflash", targets=("lab/Other-8B",))
    error = refusal(one.but(draft="RedHatAI/Qwen3-8B-speculator.dflash"))
    assert "lab/Other-8B" in error.details[0]


def test_no_pair_for_the_method_lists_the_pairs_of_the_model(catalog):
    one = case(catalog, THOR, "Qwen/Qwen3-8B-GGUF", method="eagle3")
    error = refusal(one)
    assert error.code == "no_pairing"
    assert "RedHatAI/Qwen3-8B-speculator.eagle3 on vllm" in error.details[0]


def test_a_method_the_engine_does_not_know(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", method="dflash")
    methods = dict(catalog.methods)
    methods["dflash"] = replace(methods["dflash"], engines={})
    one.catalog = replace(catalog, methods=methods)
    with pytest.raises(SpeculationError) as caught:
        one.propose()
    assert caught.value.code == "method_not_in_engine"
