"""Which refusal it is when no image serves, and what it says to do instead."""

import pytest

from speccompose.errors import ImageError, MemoryFitError
from speccompose.plan.image_refusal import RefusedEngineError, RefusedImageError
from speccompose.vocab.catalog import Catalog
from tests.plan.image_cases import any_of, checkpoint, model, rank, rank_named

SMALL = ("orin-nx-8gb", "orin-nano-8gb", "orin-nano-4gb")


@pytest.mark.parametrize(("device", "l4t"), [("agx-orin-64gb", "38.2.0"), ("agx-orin-64gb", None)])
def test_an_orin_without_a_row_gets_nothing(catalog: Catalog, device: str, l4t: str | None) -> None:
    with pytest.raises(RefusedImageError) as caught:
        rank(catalog, device, l4t)
    assert {item.id for item in caught.value.rejected} == set(catalog.images)


def test_with_an_engine_asked_only_its_images_are_told(catalog: Catalog) -> None:
    with pytest.raises(ImageError) as caught:
        rank(catalog, "orin-nx-16gb", "36.3.0", engine="vllm")
    told = {line.split()[0] for line in caught.value.details}
    assert told == {item.id for item in catalog.images.values() if item.engine == "vllm"}


def test_an_exact_repository_is_refused_rather_than_changed(catalog: Catalog) -> None:
    with pytest.raises(ImageError) as caught:
        rank_named(catalog, "agx-orin-64gb", "36.4.3", "nvidia/Qwen3-8B-NVFP4")
    assert "RedHatAI/Qwen3-8B-quantized.w4a16" in (caught.value.hint or "")
    assert any("L4T 39" in line and "36.4.3" in line for line in caught.value.details)


def test_gguf_asked_from_vllm_is_refused(catalog: Catalog) -> None:
    with pytest.raises(ImageError) as caught:
        rank_named(catalog, "agx-thor-t5000", "38.4.0", "Qwen/Qwen3-8B-GGUF", engine="vllm")
    assert any("takes no GGUF" in line for line in caught.value.details)


@pytest.mark.parametrize("device", SMALL)
def test_safetensors_on_a_small_board_is_6_with_the_gguf_to_take(
    catalog: Catalog, device: str
) -> None:
    with pytest.raises(MemoryFitError) as caught:
        rank_named(catalog, device, "36.4.7", "RedHatAI/Qwen3-8B-quantized.w4a16")
    assert "--model Qwen/Qwen3-8B-GGUF:Q4_K_M" in (caught.value.hint or "")
    assert "--engine vllm" in (caught.value.hint or "")


def test_safetensors_for_llama_cpp_is_6_on_every_board(catalog: Catalog) -> None:
    for device, l4t in (("agx-thor-t5000", "38.4.0"), ("generic-arm64", None)):
        with pytest.raises(RefusedEngineError) as caught:
            rank_named(catalog, device, l4t, "Qwen/Qwen3-8B", engine="llama.cpp")
        assert "Qwen/Qwen3-8B-GGUF:Q4_K_M" in (caught.value.hint or "")
        assert {item.id for item in caught.value.rejected} == set(catalog.images)


def test_a_board_that_fits_no_image_is_5_before_it_is_6(catalog: Catalog) -> None:
    with pytest.raises(ImageError):
        rank_named(catalog, "orin-nano-8gb", "36.3.0", "RedHatAI/Qwen3-8B-quantized.w4a16")


def test_an_id_without_a_gguf_on_a_small_board_says_so(catalog: Catalog) -> None:
    only = model(checkpoint("awq"))
    with pytest.raises(MemoryFitError) as caught:
        rank(catalog, "orin-nano-8gb", "36.4.7", model=any_of(only))
    assert any("no GGUF" in line for line in caught.value.details)
    assert "--engine vllm" in (caught.value.hint or "")


def test_a_model_that_fits_from_a_newer_release_on_says_which(catalog: Catalog) -> None:
    late = model(checkpoint("bf16", min_engine={"vllm": "0.26"}))
    with pytest.raises(ImageError) as caught:
        rank(catalog, "agx-orin-64gb", "36.4.3", model=any_of(late))
    assert "r39 / JetPack 7.2" in (caught.value.hint or "")
