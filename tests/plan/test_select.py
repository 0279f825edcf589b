"""The decision table of rules section 2, and the order of what it allows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.errors import ImageError, SpecComposeError
from speccompose.plan.image_reference import never_on_thor
from speccompose.plan.models import find_model
from speccompose.plan.select import rank_images
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.image import ImageRanking
from speccompose.vocab.request import StackRequest
from speccompose.vocab.versions import version_key
from tests.plan.image_cases import (
    EVERY_FORMAT,
    any_of,
    best_images,
    board,
    checkpoint,
    codes,
    model,
    rank,
    rank_named,
)

ORIN = ("agx-orin-64gb", "agx-orin-32gb", "orin-nx-16gb")
SMALL = ("orin-nx-8gb", "orin-nano-8gb", "orin-nano-4gb")
THOR = ("agx-thor-t5000", "agx-thor-t4000")


def ids(ranking: ImageRanking) -> dict[str, str]:
    """The best image of each engine."""
    return {engine: choice.image.id for engine, choice in best_images(ranking).items()}


@pytest.mark.parametrize("device", THOR)
@pytest.mark.parametrize("l4t", ["38.1.0", "38.2.0", "38.4.0", "38.9.1", "39.2.0", "39.2.1", None])
def test_thor_takes_upstream_vllm_and_the_cuda_13_llama_cpp(
    catalog: Catalog, device: str, l4t: str | None
) -> None:
    got = ids(rank(catalog, device, l4t))
    assert got == {"vllm": "vllm-upstream", "llama.cpp": "llamacpp-iot-cu13"}


@pytest.mark.parametrize("device", ORIN)
@pytest.mark.parametrize("l4t", ["39.0.0", "39.2.0", "39.2.1", "40.0.0", "41.3.0"])
def test_orin_from_39_on_takes_what_thor_takes(catalog: Catalog, device: str, l4t: str) -> None:
    got = ids(rank(catalog, device, l4t))
    assert got == {"vllm": "vllm-upstream", "llama.cpp": "llamacpp-iot-cu13"}


@pytest.mark.parametrize("device", ORIN)
@pytest.mark.parametrize("l4t", ["36.4.0", "36.4.3", "36.4.7", "36.5.0", "36.5.2", "36.10.0"])
def test_orin_on_36_4_and_later_takes_the_r36_images(
    catalog: Catalog, device: str, l4t: str
) -> None:
    got = ids(rank(catalog, device, l4t))
    assert got == {"vllm": "vllm-iot-r36", "llama.cpp": "llamacpp-iot-r36"}


@pytest.mark.parametrize("device", ORIN + SMALL)
@pytest.mark.parametrize("l4t", ["36.0.0", "36.2.0", "36.3.0"])
@pytest.mark.parametrize("engine", ["auto", "vllm", "llama.cpp"])
def test_36_0_to_36_3_is_refused_with_the_jetpack_that_helps(
    catalog: Catalog, device: str, l4t: str, engine: str
) -> None:
    with pytest.raises(ImageError) as caught:
        rank(catalog, device, l4t, engine=engine)
    assert device in caught.value.brief
    assert l4t in caught.value.brief
    assert "JetPack 6.1 or newer" in (caught.value.hint or "")
    own = [line for line in caught.value.details if "r36 " in line]
    assert all(f"board has {l4t}" in line for line in own)


@pytest.mark.parametrize(
    ("l4t", "image"), [("36.4.7", "llamacpp-iot-r36"), ("39.2.1", "llamacpp-iot-cu13")]
)
@pytest.mark.parametrize("device", SMALL)
def test_small_boards_are_served_by_llama_cpp_unless_vllm_is_asked_for(
    catalog: Catalog, device: str, l4t: str, image: str
) -> None:
    ranking = rank(catalog, device, l4t)
    assert ids(ranking) == {"llama.cpp": image}
    reasons = {item.id: item.reason for item in ranking.rejected}
    vllm = "vllm-iot-r36" if l4t.startswith("36") else "vllm-upstream"
    assert "--engine vllm" in reasons[vllm]
    assert ids(rank(catalog, device, l4t, engine="vllm")) == {"vllm": vllm}


def test_spark_takes_the_upstream_images_and_ngc_only_by_name(catalog: Catalog) -> None:
    ranking = rank(catalog, "dgx-spark", None)
    assert ids(ranking) == {"vllm": "vllm-upstream", "llama.cpp": "llamacpp-upstream"}
    assert "--image" in {item.id: item.reason for item in ranking.rejected}["vllm-ngc"]


@pytest.mark.parametrize("device", ["generic-x86-64", "generic-arm64"])
def test_a_generic_machine_has_llama_cpp_on_the_cpu_only(catalog: Catalog, device: str) -> None:
    assert ids(rank(catalog, device, None)) == {"llama.cpp": "llamacpp-cpu"}
    with pytest.raises(ImageError) as caught:
        rank(catalog, device, None, engine="vllm")
    assert "--engine llama.cpp" in (caught.value.hint or "")


def test_auto_puts_vllm_before_llama_cpp(catalog: Catalog) -> None:
    engines = [item.image.engine for item in rank(catalog, "agx-thor-t5000", "38.4.0").choices]
    assert engines == sorted(engines, reverse=True)
    assert set(engines) == {"vllm", "llama.cpp"}


@pytest.mark.parametrize(
    ("device", "l4t", "formats"),
    [
        ("agx-thor-t5000", "38.4.0", ["nvfp4", "w4a16", "awq", "gptq", "bf16", "gguf"]),
        ("dgx-spark", None, ["nvfp4", "w4a16", "awq", "gptq", "bf16", "gguf"]),
        ("agx-orin-64gb", "36.4.3", ["w4a16", "awq", "gptq", "bf16", "gguf"]),
        ("agx-orin-64gb", "39.2.0", ["w4a16", "awq", "gptq", "bf16", "gguf"]),
        ("orin-nano-8gb", "36.4.7", ["gguf"]),
        ("generic-arm64", None, ["gguf"]),
    ],
)
def test_formats_come_in_the_order_of_the_compute_capability(
    catalog: Catalog, device: str, l4t: str | None, formats: list[str]
) -> None:
    got = [choice.checkpoint.format for choice in rank(catalog, device, l4t).choices]
    assert got == formats


def test_a_checkpoint_published_for_the_family_comes_first(catalog: Catalog) -> None:
    entry = model(checkpoint("nvfp4"), checkpoint("awq", families=("thor",)))
    thor = rank(catalog, "agx-thor-t5000", "38.4.0", model=any_of(entry))
    spark = rank(catalog, "dgx-spark", None, model=any_of(entry))
    assert [item.checkpoint.format for item in thor.choices] == ["awq", "nvfp4"]
    assert [item.checkpoint.format for item in spark.choices] == ["nvfp4", "awq"]


@pytest.mark.parametrize(
    ("device", "l4t", "repo"),
    [
        ("agx-thor-t5000", "38.4.0", "nvidia/Qwen3-8B-NVFP4"),
        ("agx-orin-64gb", "36.4.3", "RedHatAI/Qwen3-8B-quantized.w4a16"),
        ("agx-orin-64gb", "39.2.0", "RedHatAI/Qwen3-8B-quantized.w4a16"),
        ("orin-nano-8gb", "36.4.7", "Qwen/Qwen3-8B-GGUF"),
    ],
)
def test_an_id_picks_the_sibling_that_the_board_takes(
    catalog: Catalog, device: str, l4t: str, repo: str
) -> None:
    assert rank_named(catalog, device, l4t, "qwen3-8b").choices[0].checkpoint.repo == repo


def test_nvfp4_on_orin_39_needs_published_evidence_and_warns(catalog: Catalog) -> None:
    name = "nemotron-3.5-lightning-30b-a3b"
    best = rank_named(catalog, "agx-orin-64gb", "39.2.0", name).choices[0]
    assert best.checkpoint.format == "nvfp4"
    assert "nvfp4_weight_only" in codes(best)
    other = rank_named(catalog, "orin-nx-16gb", "39.2.0", name)
    assert {choice.checkpoint.format for choice in other.choices} == {"gguf"}


def test_the_default_build_is_the_one_with_evidence(catalog: Catalog) -> None:
    for device, l4t in (("agx-thor-t5000", "38.4.0"), ("agx-orin-64gb", "39.2.0")):
        assert rank(catalog, device, l4t).choices[0].build.version == "0.27.1"
    thin = rank(catalog, "orin-nx-16gb", "39.2.0").choices[0]
    assert thin.build.version == "0.27.1"
    assert "thin_evidence" in codes(thin)


def test_orin_39_is_told_that_the_evidence_is_thin_and_thor_is_not(catalog: Catalog) -> None:
    orin = rank(catalog, "agx-orin-64gb", "39.2.0").choices[0]
    found = next(item for item in orin.findings if item.code == "thin_evidence")
    assert found.severity == "warning"
    assert "smoke test" in (found.hint or "")
    assert "thin_evidence" not in codes(rank(catalog, "agx-thor-t5000", "38.4.0").choices[0])


def test_a_newer_build_is_taken_only_when_the_checkpoint_needs_it(catalog: Catalog) -> None:
    late = model(checkpoint("nvfp4", min_engine={"vllm": "0.28.0"}))
    choice = rank(catalog, "agx-thor-t5000", "38.4.0", model=any_of(late)).choices[0]
    assert version_key(choice.build.version) >= version_key("0.28.0")
    assert "newer_than_evidence" in codes(choice)
    never = model(checkpoint("nvfp4", min_engine={"vllm": "9.1"}))
    with pytest.raises(ImageError) as caught:
        rank(catalog, "agx-thor-t5000", "38.4.0", model=any_of(never))
    assert any("9.1" in line and "image has" in line for line in caught.value.details)


def test_40_and_later_warns_once_that_nobody_tested_it(catalog: Catalog) -> None:
    for l4t, warned in (("40.0.0", 1), ("39.2.1", 0)):
        choice = rank(catalog, "agx-thor-t5000", l4t).choices[0]
        assert [item.code for item in choice.findings].count("l4t_untested") == warned


def test_a_named_method_brings_the_builds_that_offer_it_to_the_front(catalog: Catalog) -> None:
    plain = rank(catalog, "agx-orin-64gb", "36.4.3")
    drafted = rank(catalog, "agx-orin-64gb", "36.4.3", method="draft_model")
    assert plain.choices[0].image.engine == "vllm"
    assert drafted.choices[0].image.id == "llamacpp-iot-r36"
    assert len(drafted.choices) == len(plain.choices)


def test_a_named_method_prefers_the_engine_that_has_a_pair(catalog: Catalog) -> None:
    ranking = rank_named(catalog, "agx-thor-t5000", "38.4.0", "qwen3-8b", method="dflash")
    assert ranking.choices[0].checkpoint.repo == "nvidia/Qwen3-8B-NVFP4"
    named = rank_named(
        catalog,
        "agx-thor-t5000",
        "38.4.0",
        "nemotron-3.5-lightning-30b-a3b",
        method="dflash",
        draft="apolo13x/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-DFlash-GGUF",
    )
    assert named.choices[0].image.engine == "llama.cpp"


def test_a_pair_that_needs_a_newer_engine_raises_the_build(catalog: Catalog) -> None:
    ranking = rank_named(catalog, "agx-thor-t5000", "38.4.0", "qwen3.8-27b", method="dflash")
    assert version_key(ranking.choices[0].build.version) >= version_key("0.28")
    assert "newer_than_evidence" in codes(ranking.choices[0])
    without = rank_named(catalog, "agx-thor-t5000", "38.4.0", "qwen3.8-27b")
    assert without.choices[0].build.version == "0.27.1"


def rank_or_refusal(
    device: ResolvedDevice, request: StackRequest, catalog: Catalog
) -> ImageRanking | SpecComposeError:
    """What stage 3 says, either way."""
    try:
        return rank_images(device, find_model(request, catalog), request, catalog)
    except SpecComposeError as refusal:
        return refusal


L4TS = st.one_of(
    st.none(),
    st.builds(
        lambda major, minor, patch: f"{major}.{minor}.{patch}",
        st.integers(32, 42),
        st.integers(0, 12),
        st.integers(0, 7),
    ),
)


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_whatever_is_asked_no_board_gets_an_image_that_cannot_run(
    catalog: Catalog, data: st.DataObject
) -> None:
    """Never an Orin image on Thor, never CUDA 13 on R36, never a changed repository."""
    device_id = data.draw(st.sampled_from(sorted(catalog.devices)))
    l4t = data.draw(L4TS)
    entry = catalog.models[data.draw(st.sampled_from(sorted(catalog.models)))]
    names = [entry.id, *(item.repo for item in entry.checkpoints)]
    request = StackRequest(
        model=data.draw(st.sampled_from(names)),
        engine=data.draw(st.sampled_from(["auto", "vllm", "llama.cpp"])),
        method=data.draw(st.sampled_from(["auto", "none", "mtp", "dflash", "ngram"])),
        image=data.draw(st.sampled_from([None, None, *REFERENCES])),
    )
    device = board(catalog, device_id, l4t)
    outcome = rank_or_refusal(device, request, catalog)
    if isinstance(outcome, SpecComposeError):
        assert int(outcome.status) in {2, 5, 6}
        assert outcome.brief
        assert outcome.hint
        return
    ranking = outcome
    seen = {choice.image.id for choice in ranking.choices} | {x.id for x in ranking.rejected}
    assert seen == set(catalog.images)
    for choice in ranking.choices:
        if device.family == "thor":
            assert never_on_thor(choice.build.reference) is None
            assert "110" in _targets(choice.image.gpu_targets)
        if l4t is not None and l4t.startswith("36.") and device.family != "generic":
            assert choice.image.cuda is not None
            assert version_key(choice.image.cuda)[0] < 13
            assert version_key(l4t) >= version_key("36.4")
        if request.model != entry.id:
            assert choice.checkpoint.repo == request.model
        if request.engine != "auto":
            assert choice.image.engine == request.engine
        assert (choice.checkpoint.format == "gguf") == (choice.image.engine == "llama.cpp")


def _targets(targets: tuple[str, ...]) -> set[str]:
    return {target.replace(".", "") for target in targets}


REFERENCES = (
    "vllm/vllm-openai:v0.27.1",
    "vllm/vllm-openai:v0.28.0-cu129",
    "vllm/vllm-openai:latest",
    "ghcr.io/nvidia-ai-iot/vllm:0.19.0-r36.4.tegra-aarch64-cu126-22.04",
    "ghcr.io/nvidia-ai-iot/llama_cpp:b10373-r38.2.arm64-sbsa-cp312-cu130-24.04",
    "ghcr.io/nvidia-ai-iot/llama_cpp:b9999-r36.4-tegra-aarch64-cu126-22.04",
    "ghcr.io/ggml-org/llama.cpp:server-cuda13-b10600",
    "vllm-iot-r36",
    "vllm-ngc",
    "llamacpp-iot-r36",
)


def test_the_model_of_these_tests_serves_everywhere() -> None:
    assert {item.format for item in EVERY_FORMAT.checkpoints} >= {"gguf", "bf16", "nvfp4"}


@pytest.mark.parametrize(
    ("device", "l4t", "name", "image", "version"),
    [
        ("agx-thor-t5000", "38.4.0", "nvidia/Qwen3.6-27B-NVFP4", "vllm-upstream", "0.27.1"),
        ("agx-thor-t5000", "38.4.0", "nvidia/Qwen3-8B-NVFP4", "vllm-upstream", "0.27.1"),
        (
            "agx-thor-t5000",
            "38.4.0",
            "google/gemma-4-E2B-it-qat-w4a16-ct",
            "vllm-upstream",
            "0.27.1",
        ),
        (
            "agx-orin-64gb",
            "39.2.0",
            "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
            "vllm-upstream",
            "0.27.1",
        ),
        (
            "agx-thor-t5000",
            "39.2.0",
            "unsloth/Qwen3.8-27B-GGUF:Q4_K_M",
            "llamacpp-iot-cu13",
            "b10373",
        ),
        (
            "agx-orin-64gb",
            "39.2.0",
            "ggml-org/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-GGUF:Q4_K_M",
            "llamacpp-iot-cu13",
            "b10373",
        ),
        ("dgx-spark", None, "Qwen3.5-122B-A10B-hybrid-int4-fp8", "vllm-upstream", "0.27.1"),
        ("generic-arm64", None, "smollm2-135m", "llamacpp-cpu", "b11669"),
    ],
)
def test_what_the_seeds_run_is_served_where_they_run_it(
    catalog: Catalog, device: str, l4t: str | None, name: str, image: str, version: str
) -> None:
    best = rank_named(catalog, device, l4t, name).choices[0]
    assert (best.image.id, best.build.version) == (image, version)


@pytest.mark.parametrize(
    ("device", "l4t", "image"),
    [
        ("agx-orin-64gb", "36.4.3", "vllm-iot-r36"),
        ("agx-orin-64gb", "39.2.0", "vllm-upstream"),
        ("agx-thor-t5000", "38.4.0", "vllm-upstream"),
    ],
)
def test_p09_the_reference_pair_gets_an_image_that_offers_eagle3(
    catalog: Catalog, device: str, l4t: str, image: str
) -> None:
    best = rank_named(catalog, device, l4t, "qwen3-8b", method="eagle3").choices[0]
    assert best.image.id == image
    assert "eagle3" in best.build.methods
