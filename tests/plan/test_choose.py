"""Stage 5: the first candidate that fits, what was skipped, and which refusal is told."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.errors import MemoryFitError, SpecComposeError, SpeculationError
from speccompose.pipeline import plan_stack
from speccompose.plan.choose import first_that_fits
from speccompose.vocab.board import BoardSource
from speccompose.vocab.image import ImageRanking
from speccompose.vocab.request import StackRequest
from tests.plan.stage_cases import Case, board, case

THOR, ORIN = "agx-thor-t5000", "agx-orin-64gb"
QWEN = "nvidia/Qwen3-8B-NVFP4"
replace = msgspec.structs.replace


def choose(first: Case, *others: Case, **request: object):
    asked = replace(first.request, **request)
    ranking = ImageRanking(choices=tuple(each.choice for each in (first, *others)), rejected=())
    return first_that_fits(first.device, first.model, ranking, request=asked, catalog=first.catalog)


def small(catalog, available_mib: int) -> Case:
    """Qwen3-8B on a Thor where somebody else holds the memory."""
    made = case(catalog, THOR, QWEN)
    made.device = board(catalog, THOR, total_mib=125772, available_mib=available_mib)
    return made


def test_the_best_that_fits_is_taken_and_nothing_is_told(catalog):
    fit = choose(case(catalog, THOR, QWEN))
    assert fit.speculation.method == "dflash"
    assert fit.findings == ()


def test_a_draft_that_does_not_fit_makes_room_for_none(catalog):
    """Candidates come best first; each one passed over is told."""
    found = {}
    for available in range(8_000, 40_000, 500):
        try:
            fit = choose(small(catalog, available))
        except MemoryFitError:
            found["nothing"] = available
        else:
            found.setdefault(fit.speculation.label, (available, fit))
    assert list(found) == ["nothing", "none", "dflash"]
    _, fit = found["none"]
    codes = [finding.code for finding in fit.findings]
    assert codes[0] == "candidate_too_big"
    assert set(codes) <= {"candidate_too_big", "model_facts_incomplete"}
    assert "dflash" in fit.findings[0].message
    assert fit.findings[0].severity == "info"


def test_when_nothing_fits_the_first_candidates_figures_are_told(catalog):
    with pytest.raises(MemoryFitError, match="with dflash does not fit"):
        choose(small(catalog, 14_000))
    with pytest.raises(MemoryFitError, match="no memory is left"):
        choose(small(catalog, 8_000))


def outcome(made: Case, **request: object) -> str:
    """The method that was taken, or 'refused'."""
    try:
        return choose(made, **request).speculation.label
    except MemoryFitError:
        return "refused"


def test_an_explicit_method_is_never_downgraded(catalog):
    """Also where auto would take none instead."""
    pairs = [
        (outcome(small(catalog, available)), outcome(small(catalog, available), method="dflash"))
        for available in range(8_000, 40_000, 1000)
    ]
    wanted = [("refused", "refused"), ("none", "refused"), ("dflash", "dflash")]
    assert list(dict.fromkeys(pairs)) == wanted


def test_the_next_image_is_asked_when_the_first_lacks_the_method(catalog):
    old = case(catalog, ORIN, "RedHatAI/Qwen3-8B-quantized.w4a16", image="vllm-iot-r36")
    new = case(catalog, ORIN, "RedHatAI/Qwen3-8B-quantized.w4a16")
    fit = choose(old, new, method="dflash")
    assert fit.choice.image.id == "vllm-upstream"


def test_a_method_that_no_image_has_is_7_and_names_each(catalog):
    vllm = case(catalog, ORIN, "RedHatAI/Qwen3-8B-quantized.w4a16", image="vllm-iot-r36")
    llama = case(catalog, ORIN, "Qwen/Qwen3-8B-GGUF", image="llamacpp-iot-r36")
    with pytest.raises(SpeculationError) as caught:
        choose(vllm, llama, method="dflash")
    text = "\n".join((caught.value.brief, *caught.value.details))
    assert "vllm-iot-r36" in text
    assert "llamacpp-iot-r36" in text
    assert caught.value.hint


def test_a_method_is_refused_only_if_none_would_plan(catalog):
    made = case(catalog, ORIN, "RedHatAI/Qwen3-8B-quantized.w4a16", image="vllm-iot-r36")
    made.device = board(catalog, ORIN, total_mib=62841, available_mib=6000)
    with pytest.raises(MemoryFitError):
        choose(made, method="dflash")


def plan(catalog, **options: object):
    device, l4t = options.pop("on")
    return plan_stack(StackRequest(**options), BoardSource(device=device, l4t=l4t), catalog)


TAG = "ghcr.io/nvidia-ai-iot/vllm:latest-jetson-orin"
ORDER = [
    ((ORIN, "35.3.1"), {"image": "foo", "method": "dflash"}, 4),
    ((THOR, None), {"image": TAG, "method": "ngram", "context_tokens": 40960}, 5),
    (("orin-nx-16gb", "36.4.7"), {"method": "dflash"}, 7),
    (("orin-nano-8gb", "36.4.7"), {"method": "dflash"}, 6),
    (("orin-nano-8gb", "36.4.7"), {}, 6),
]


@pytest.mark.parametrize(("on", "options", "status"), ORDER)
def test_refusals_are_judged_in_the_order_4_5_7_6(catalog, on, options, status):
    with pytest.raises(SpecComposeError) as caught:
        plan(catalog, on=on, model="qwen3-8b", **options)
    assert caught.value.status == status


BOARDS = [
    *(("agx-thor-t5000", None), ("agx-orin-64gb", "36.4.3"), ("agx-orin-32gb", None)),
    *(("orin-nx-16gb", "36.4.7"), ("orin-nano-8gb", None), ("dgx-spark", None)),
]
METHODS = ["mtp", "eagle3", "dflash", "dspark", "draft_model", "ngram"]


def status_of(catalog, **options: object) -> int:
    try:
        made = plan(catalog, **options)
    except SpecComposeError as error:
        return int(error.status)
    assert made.speculation.label == options["method"]
    return 0


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_7_means_that_none_would_plan_and_6_that_it_would_not(catalog, data):
    """The rule itself, over boards, models and methods (rules section 2)."""
    on = data.draw(st.sampled_from(BOARDS))
    model = data.draw(st.sampled_from(sorted(catalog.models)))
    method = data.draw(st.sampled_from(METHODS))
    status = status_of(catalog, on=on, model=model, method=method)
    without = status_of(catalog, on=on, model=model, method="none")
    allowed = {0: {0}, 4: {4}, 5: {5}, 6: {0, 6}, 7: {0}}
    assert without in allowed[status]


GGUF = "unsloth/Qwen3.8-27B-GGUF:Q4_K_M"


@pytest.mark.parametrize("flag", ["spec-draft-p-min", "--draft-p-min"])
def test_a_flag_about_drafting_ends_every_search(catalog, flag):
    """Refusals ask once whether the plain request would plan; they never ask themselves again."""
    made, flags = case(catalog, THOR, GGUF), ((flag, "0.7"),)
    labels = [
        choose(made, method=method, set_flags=flags).speculation.label
        for method in ("none", "auto", "mtp")
    ]
    assert labels == ["none", "mtp", "mtp"]
    with pytest.raises(SpeculationError):
        choose(made, method="eagle3", set_flags=flags)
    with pytest.raises(SpeculationError):
        choose(case(catalog, THOR, "Qwen/Qwen3-8B-GGUF"), method="auto", set_flags=flags)


def test_a_load_that_no_batch_can_hold_is_7_only_if_none_would_plan(catalog):
    crowded = {"method": "dflash", "depth": 15, "concurrency": 1024}
    with pytest.raises(SpeculationError) as caught:
        choose(case(catalog, THOR, QWEN), **crowded)
    assert caught.value.code == "no_free_slots"
    with pytest.raises(MemoryFitError):
        choose(small(catalog, 6_000), **crowded)
