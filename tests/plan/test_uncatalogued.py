"""Versions of catalog images that the catalog does not list."""

import pytest

from speccompose.vocab.catalog import Catalog
from tests.plan.image_cases import codes, refused, taken

DIGEST = "sha256:" + "ab" * 32
IOT_R36 = "ghcr.io/nvidia-ai-iot/vllm:0.19.0-r36.4.tegra-aarch64-cu126-22.04"
THOR = ("agx-thor-t5000", "38.4.0")
ORIN_R36 = ("agx-orin-64gb", "36.4.3")
ORIN_R39 = ("agx-orin-64gb", "39.2.0")
SPARK = ("dgx-spark", None)


@pytest.mark.parametrize(("cuda", "runs"), [("cu126", True), ("cu128", True), ("cu129", True)])
def test_cuda_12_up_to_12_9_runs_on_r36(catalog: Catalog, cuda: str, runs: bool) -> None:
    image = f"ghcr.io/nvidia-ai-iot/vllm:0.19.1-r36.4.tegra-aarch64-{cuda}-22.04"
    assert (taken(catalog, ORIN_R36, image).build.version == "0.19.1") is runs


def test_a_version_that_the_catalog_lacks_is_described_from_its_nearest_build(
    catalog: Catalog,
) -> None:
    choice = taken(catalog, THOR, "docker.io/vllm/vllm-openai:v0.28.0")
    assert choice.build.version == "0.28.0"
    assert choice.build.version_evidence == "inferred"
    assert choice.build.reference == "docker.io/vllm/vllm-openai:v0.28.0"
    assert choice.build.digest is None
    assert "dspark" in choice.build.methods
    assert "image_not_in_catalog" in codes(choice)
    assert "thin_evidence" not in codes(choice)
    orin = taken(catalog, ORIN_R39, "vllm/vllm-openai:v0.28.0")
    assert {"image_not_in_catalog", "thin_evidence"} <= codes(orin)


@pytest.mark.parametrize(
    ("tag", "dflash", "dspark"), [("v0.20.1", True, False), ("v0.24.0", True, False)]
)
def test_its_methods_follow_the_versions_floors(
    catalog: Catalog, tag: str, dflash: bool, dspark: bool
) -> None:
    methods = taken(catalog, THOR, f"vllm/vllm-openai:{tag}").build.methods
    assert ("dflash" in methods, "dspark" in methods) == (dflash, dspark)


def test_a_method_that_the_nearest_build_lacks_is_not_presumed(catalog: Catalog) -> None:
    image = "ghcr.io/nvidia-ai-iot/vllm:0.19.1-r36.4.tegra-aarch64-cu126-22.04"
    methods = taken(catalog, ORIN_R36, image).build.methods
    assert set(methods) == {"eagle3", "ngram"}


def test_another_digest_of_a_known_tag_is_not_taken_for_the_known_build(
    catalog: Catalog,
) -> None:
    choice = taken(catalog, ORIN_R36, f"{IOT_R36}@{DIGEST}")
    assert choice.build.digest == DIGEST
    assert "image_not_in_catalog" in codes(choice)


def test_another_variant_of_a_repository_is_another_image(catalog: Catalog) -> None:
    cuda = taken(catalog, SPARK, "ghcr.io/ggml-org/llama.cpp:server-cuda13-b10600")
    assert cuda.build.version == "b10600"
    told = refused(catalog, SPARK, "ghcr.io/ggml-org/llama.cpp:server-vulkan-b10600")
    assert "server-cuda13" in told
