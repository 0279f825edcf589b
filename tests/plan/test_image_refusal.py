"""Which refusal it is when no image serves, and what it says to do instead."""

import re

import pytest

from speccompose.errors import ImageError, MemoryFitError, SpecComposeError
from speccompose.pipeline import plan_as_asked
from speccompose.plan.image_refusal import RefusedEngineError, RefusedImageError
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.request import StackRequest
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


BOARDS = [
    ("orin-nano-8gb", "36.4.7"),
    ("orin-nx-8gb", "39.2.0"),
    ("orin-nx-16gb", "36.4.7"),
    ("agx-orin-64gb", "36.4.3"),
    ("agx-orin-32gb", "39.2.1"),
    ("agx-thor-t5000", "38.4.0"),
    ("dgx-spark", None),
]
REFUSALS = {"no_checkpoint", "safetensors_on_llama_cpp"}


def plans(catalog: Catalog, on: tuple[str, str | None], **options: object) -> bool:
    try:
        plan_as_asked(StackRequest(**options), BoardSource(device=on[0], l4t=on[1]), catalog)
    except SpecComposeError:
        return False
    return True


def test_every_way_out_that_a_hint_names_plans(catalog: Catalog) -> None:
    """Over all boards and checkpoints: what is named is planned, memory and all."""
    told, dead_ends = 0, 0
    repos = {item.repo for entry in catalog.models.values() for item in entry.checkpoints}
    names = sorted(repos | set(catalog.models))
    for place, on in enumerate(BOARDS):
        board = BoardSource(device=on[0], l4t=on[1])
        for asked in names[place :: len(BOARDS)]:
            for engine in ("auto", "vllm", "llama.cpp"):
                try:
                    plan_as_asked(StackRequest(model=asked, engine=engine), board, catalog)
                except SpecComposeError as error:
                    if error.code not in REFUSALS:
                        continue
                    hint = error.hint or ""
                else:
                    continue
                kept = {"model": asked, "engine": engine}
                if drop := re.search(r"drop --engine", hint):
                    kept["engine"] = "auto"
                offers = [{"model": name} for name in re.findall(r"--model (\S+?)(?:,|$)", hint)]
                offers += [{"model": name} for name in re.findall(r", or ([^-\s]\S+)$", hint)]
                offers += [{"engine": "vllm"}] if "--engine vllm" in hint else []
                offers += [{}] if drop and not offers else []
                assert all(plans(catalog, on, **{**kept, **offer}) for offer in offers), hint
                told += len(offers)
                dead_ends += not offers
                assert offers or "catalog list --fits" in hint or "upgrade" in hint
    assert told > 20
    assert dead_ends > 5


@pytest.mark.parametrize(
    ("name", "by_digest", "without"),
    [("qwen3-8b", True, True), ("gemma-4-e2b", False, True), ("qwen3.5-122b-a10b", False, False)],
)
def test_a_floating_tag_is_no_reason_to_upgrade(
    catalog: Catalog, name: str, by_digest: bool, without: bool
) -> None:
    """The way out is about the tag; each is named only where it plans."""
    on, image = ("agx-orin-64gb", "36.4.3"), "vllm-iot-gemma4"
    with pytest.raises(ImageError) as caught:
        plan_as_asked(
            StackRequest(model=name, image=image), BoardSource(device=on[0], l4t=on[1]), catalog
        )
    assert "floating" in caught.value.details[0]
    hint = caught.value.hint or ""
    assert "upgrade" not in hint
    assert ("by digest" in hint, "leave --image out" in hint) == (by_digest, without)
    reference = f"{catalog.images[image].builds[0].reference}@sha256:{'ab' * 32}"
    assert plans(catalog, on, model=name, image=reference) == by_digest
    assert plans(catalog, on, model=name) == without


def test_too_big_a_model_is_not_sent_to_an_engine_that_refuses_it(catalog: Catalog) -> None:
    with pytest.raises(MemoryFitError) as caught:
        plan_as_asked(StackRequest(model="qwen3-32b"), BoardSource(device="orin-nano-8gb"), catalog)
    assert "--engine" not in (caught.value.hint or "")
    assert "catalog list --fits --device orin-nano-8gb" in (caught.value.hint or "")
