"""What must hold over the shipped images by themselves, whatever image is added."""

import re

import pytest

from speccompose.vocab.catalog import Catalog
from speccompose.vocab.image import Build, ImageEntry
from speccompose.vocab.versions import version_key, within


def _builds(catalog: Catalog) -> list[tuple[ImageEntry, Build]]:
    return [(image, build) for image in catalog.images.values() for build in image.builds]


def test_images_of_the_reference_exist(catalog: Catalog) -> None:
    assert set(catalog.images) >= {
        "vllm-upstream",
        "vllm-iot-r36",
        "vllm-iot-r36-014",
        "vllm-iot-gemma4",
        "vllm-ngc",
        "llamacpp-iot-cu13",
        "llamacpp-iot-r36",
        "llamacpp-upstream",
        "llamacpp-cpu",
    }


def test_builds_stand_oldest_first(catalog: Catalog) -> None:
    for image in catalog.images.values():
        keys = [version_key(build.version) for build in image.builds]
        assert keys == sorted(keys), image.id
        assert keys, image.id


def test_digests_are_whole_and_not_in_the_reference(catalog: Catalog) -> None:
    for image, build in _builds(catalog):
        assert "@" not in build.reference, image.id
        if build.digest is not None:
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", build.digest), image.id
        repository = re.sub(r":[^/:]*$", "", build.reference)
        assert repository in image.repositories, image.id


def test_what_is_not_pinned_says_so(catalog: Catalog) -> None:
    """Without a digest the tag must carry the version; what floats is never taken by itself."""
    for image, build in _builds(catalog):
        tag = build.reference.rpartition(":")[2]
        if build.digest is None and build.version not in tag:
            assert build.floating, build.reference
        if build.floating:
            assert not build.automatic, build.reference
        assert not tag.startswith(("latest", "nightly")), image.id


@pytest.mark.parametrize(
    ("image_id", "reference"),
    [
        (
            "vllm-iot-r36",
            "ghcr.io/nvidia-ai-iot/vllm:0.19.0-r36.4.tegra-aarch64-cu126-22.04@sha256:817f0f94",
        ),
        (
            "vllm-iot-r36-014",
            "ghcr.io/nvidia-ai-iot/vllm:0.14.0-r36.4-tegra-aarch64-cu126-22.04@sha256:2a90817f",
        ),
        ("llamacpp-iot-cu13", "ghcr.io/nvidia-ai-iot/llama_cpp@sha256:f7c67c10"),
        (
            "llamacpp-iot-r36",
            "ghcr.io/nvidia-ai-iot/llama_cpp:b8708-r36.4-tegra-aarch64-cu126-22.04@sha256:8fa5df9a",
        ),
        ("llamacpp-upstream", "ghcr.io/ggml-org/llama.cpp:server-cuda13-b10524@sha256:c0d2e9b7"),
    ],
)
def test_pinned_builds_are_those_that_were_seen(
    catalog: Catalog, image_id: str, reference: str
) -> None:
    build = catalog.images[image_id].builds[0]
    assert f"{build.reference}@{build.digest}".startswith(reference)


def test_thor_and_orin_take_the_llama_cpp_image_that_ran_there(catalog: Catalog) -> None:
    by_digest, by_tag = catalog.images["llamacpp-iot-cu13"].builds
    assert by_tag.reference.endswith(":b10373-r38.2.arm64-sbsa-cp312-cu130-24.04")
    assert by_tag.evidence_on == ("thor",)
    assert set(by_digest.evidence_on) == {"agx-orin", "orin-nano"}


def test_upstream_vllm_default_is_the_version_with_evidence(catalog: Catalog) -> None:
    builds = catalog.images["vllm-upstream"].builds
    for family in ("thor", "agx-orin", "dgx-spark"):
        proved = [build.version for build in builds if family in build.evidence_on]
        assert proved[-1] == "0.27.1", family
    assert all(not within(build.version, None, "0.20.0") for build in builds)


def test_vllm_methods_exist_in_their_version(catalog: Catalog) -> None:
    first = {"dflash": "0.20.0", "dspark": "0.25.0", "draft_model": "0.16.0"}
    for image, build in _builds(catalog):
        if image.engine == "vllm":
            for method in build.methods:
                assert within(build.version, first.get(method), None), (image.id, method)


def test_llama_cpp_methods_exist_in_their_build(catalog: Catalog) -> None:
    first = {"mtp": "b9246", "eagle3": "b9702", "dflash": "b9860", "dspark": "b10199"}
    for image, build in _builds(catalog):
        if image.engine == "llama.cpp":
            for method in build.methods:
                assert within(build.version, first.get(method), None), (image.id, method)


def test_entrypoint_starts_the_engine(catalog: Catalog) -> None:
    for image in catalog.images.values():
        if image.engine == "vllm":
            assert image.entrypoint == ("vllm", "serve"), image.id
            assert image.cache_dir == "/root/.cache/vllm", image.id
        else:
            assert image.entrypoint[-1].endswith("llama-server"), image.id
            assert image.cache_dir is None, image.id
    assert catalog.images["vllm-upstream"].own_entrypoint == ("vllm", "serve")
    assert catalog.images["vllm-iot-r36"].own_entrypoint == ()


def test_only_our_own_image_is_read_only(catalog: Catalog) -> None:
    assert {image.id for image in catalog.images.values() if image.read_only} == {"llamacpp-cpu"}
    assert {image.id for image in catalog.images.values() if image.built_by_us} == {"llamacpp-cpu"}
