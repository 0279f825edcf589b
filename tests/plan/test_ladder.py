"""What would fit: every step named in the rules' order, and every offer really fits."""

import pytest

from speccompose.errors import MemoryFitError
from speccompose.plan.ladder import what_would_fit
from speccompose.plan.sizing import Sizing
from tests.plan.stage_cases import OFF, Case, board, case, replace

NAMES = [
    "context down",
    "sequences down",
    "smaller draft or none",
    "smaller quantisation",
    "llama.cpp",
]
DENSE = "RedHatAI/Qwen3-8B-quantized.w4a16"


def steps(one: Case, speculation=None, context=8192):
    sizing = Sizing(
        device=one.device,
        choice=one.choice,
        speculation=one.best() if speculation is None else speculation,
        model=one.model,
        request=one.request,
        engine=one.catalog.engines[one.choice.image.engine],
        context_tokens=context,
    )
    return what_would_fit(sizing, one.catalog.engines)


def orin(catalog, available, repo=DENSE, **request):
    one = case(catalog, "agx-orin-64gb", repo, **request)
    one.device = board(catalog, "agx-orin-64gb", total_mib=62841, available_mib=available)
    return one


def test_every_step_is_named_in_order(catalog):
    one = orin(catalog, 12000)
    named = [step.name for step in steps(one)]
    assert named[:5] == NAMES


def test_less_context_is_offered_and_fits(catalog):
    one = orin(catalog, 18000, context_tokens=40960, method="none")
    with pytest.raises(MemoryFitError) as caught:
        one.fit()
    assert any(line.startswith("context down: --context ") for line in caught.value.details)
    context = int((caught.value.hint or "").split()[-1])
    assert one.but(context_tokens=context).fit().context_tokens == context
    with pytest.raises(MemoryFitError):
        one.but(context_tokens=2 * context).fit()


def test_fewer_sequences_are_offered_to_llama_cpp(catalog):
    one = orin(catalog, 30000, repo="Qwen/Qwen3-8B-GGUF", concurrency=64, context_tokens=8192)
    with pytest.raises(MemoryFitError) as caught:
        one.fit(OFF)
    line = next(each for each in caught.value.details if each.startswith("sequences down"))
    concurrency = int(line.split()[3])
    assert one.but(concurrency=concurrency).fit(OFF).sequences == concurrency


def test_none_is_offered_when_the_draft_is_too_much(catalog):
    one = orin(catalog, 16500, method="eagle3").with_pairing("eagle3", draft_mib=None)
    with pytest.raises(MemoryFitError) as caught:
        one.fit()
    assert "smaller draft or none: --method none fits" in caught.value.details
    assert one.but(method="none").fit()


def test_a_smaller_draft_comes_before_none(catalog):
    one = orin(catalog, 19000, method="eagle3").with_pairing("eagle3", draft_mib=6000)
    small = one.pairing("eagle3")
    both = (*one.model.pairings, replace(small, draft="lab/small-head", draft_mib=500))
    found = steps(one.with_model(pairings=both))
    assert found[2].options == "--draft lab/small-head"


def test_a_smaller_sibling_is_offered(catalog):
    one = orin(catalog, 17000, repo="Qwen/Qwen3-8B", method="none")
    found = {step.name: step.options for step in steps(one)}
    assert found["smaller quantisation"] == f"--model {DENSE}"


def test_llama_cpp_is_offered_last(catalog):
    one = case(catalog, "orin-nx-16gb", DENSE, image="vllm-iot-r36")
    found = {step.name: step.options for step in steps(one, OFF, context=4096)}
    assert found["llama.cpp"] == "--engine llama.cpp --model Qwen/Qwen3-8B-GGUF:Q4_K_M"


def test_llama_cpp_in_use_is_said(catalog):
    one = case(catalog, "orin-nano-8gb", "Qwen/Qwen3-8B-GGUF")
    lines = [step.describe() for step in steps(one, OFF, context=4096)]
    assert "llama.cpp: is in use" in lines
    assert "context down: does not help" in lines


def test_all_together_is_tried_when_no_step_is_enough(catalog):
    one = orin(catalog, 15700, context_tokens=40960, method="eagle3")
    one = one.with_pairing("eagle3", draft_mib=None)
    own = (one.choice.checkpoint,)
    found = steps(one.with_model(checkpoints=own), context=40960)
    assert [step.name for step in found if step.options] == ["all together"]
    assert found[-1].options == "--context 1024 --concurrency 1 --method none"
