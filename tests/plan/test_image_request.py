"""--image: what it names, what the board can run, what is refused (cases I-01 to I-07)."""

import msgspec
import pytest

from speccompose.errors import UsageError
from speccompose.vocab.catalog import Catalog
from tests.plan.image_cases import codes, rank, refused, taken

DIGEST = "sha256:" + "ab" * 32
IOT_R36 = "ghcr.io/nvidia-ai-iot/vllm:0.19.0-r36.4.tegra-aarch64-cu126-22.04"
GEMMA4 = "ghcr.io/nvidia-ai-iot/vllm:gemma4-jetson-orin"
THOR = ("agx-thor-t5000", "38.4.0")
ORIN_R36 = ("agx-orin-64gb", "36.4.3")
ORIN_R39 = ("agx-orin-64gb", "39.2.0")
SPARK = ("dgx-spark", None)


@pytest.mark.parametrize(
    "tag", [":cosmos3", ":v0.27.1", ":latest", "", ":v0.27.1-cu129-ubuntu2404", ":nightly-aarch64"]
)
@pytest.mark.parametrize("l4t", ["36.3.0", "36.4.3", "36.5.2"])
@pytest.mark.parametrize("device", ["agx-orin-64gb", "orin-nx-16gb", "orin-nano-8gb"])
def test_i01_upstream_vllm_is_refused_on_orin_before_39(
    catalog: Catalog, device: str, l4t: str, tag: str
) -> None:
    told = refused(catalog, (device, l4t), f"vllm/vllm-openai{tag}")
    assert "needs L4T r39 / JetPack 7.2" in told
    assert f"board has {l4t}" in told


@pytest.mark.parametrize(
    "image",
    [
        "ghcr.io/nvidia-ai-iot/vllm:latest-jetson-orin",
        "ghcr.io/nvidia-ai-iot/vllm:r36.4-tegra-aarch64-cu126-22.04",
        IOT_R36,
        "vllm/vllm-openai:v0.27.1-cu129-ubuntu2404",
        "vllm/vllm-openai:v0.27.1-cu126",
        "dustynv/vllm:0.8.6-r36.4-cu128-24.04",
        "dustynv/vllm:r36.4.0",
        "dustynv/llama_cpp:r35.4.1",
        "dustynv/l4t-ml:r32.7.1",
        "nvcr.io/nvidia/vllm:26.05-py3-igpu",
        "ghcr.io/ggml-org/llama.cpp:server-cuda12-b10524",
    ],
)
@pytest.mark.parametrize("l4t", ["38.2.0", "39.2.1", None])
def test_i02_an_orin_era_tag_never_runs_on_thor(
    catalog: Catalog, image: str, l4t: str | None
) -> None:
    assert "never runs on agx-thor-t5000" in refused(catalog, ("agx-thor-t5000", l4t), image)


@pytest.mark.parametrize(
    "tag",
    [
        "v0.19.0",
        "v0.19.0-cu130",
        "v0.19.2rc1",
        "v0.19.2rc3.dev12",
        "v0.9.2",
        "0.9",
        "v0.20.0rc1",
    ],
)
@pytest.mark.parametrize("where", [THOR, ORIN_R39, SPARK])
def test_i03_below_the_floor_is_refused_by_number(
    catalog: Catalog, where: tuple[str, str | None], tag: str
) -> None:
    assert "0.20 or newer" in refused(catalog, where, f"vllm/vllm-openai:{tag}")


@pytest.mark.parametrize(
    "tag", ["gemma4", "gemma4-cu130", "cosmos3", "nightly", "nightly-aarch64", "latest", ""]
)
@pytest.mark.parametrize("where", [THOR, ORIN_R39, SPARK])
def test_i03_a_tag_whose_version_cannot_be_known_is_refused(
    catalog: Catalog, where: tuple[str, str | None], tag: str
) -> None:
    told = refused(catalog, where, f"vllm/vllm-openai:{tag}" if tag else "vllm/vllm-openai")
    assert "unknown is refused" in told
    assert "vllm/vllm-openai:v0.27.1" in told


@pytest.mark.parametrize("tag", ["v0.20.0", "v0.20.1", "v0.100.0", "v0.21.0rc1"])
def test_i03_at_the_floor_and_above_is_taken(catalog: Catalog, tag: str) -> None:
    assert taken(catalog, THOR, f"vllm/vllm-openai:{tag}").image.id == "vllm-upstream"


def test_i03_the_floor_holds_for_a_catalog_build_too(catalog: Catalog) -> None:
    image = catalog.images["vllm-upstream"]
    old = msgspec.structs.replace(
        image.builds[0], version="0.19.0", reference="vllm/vllm-openai:v0.19.0"
    )
    image = msgspec.structs.replace(image, builds=(old, *image.builds))
    overlaid = msgspec.structs.replace(catalog, images={**catalog.images, image.id: image})
    assert "0.20 or newer" in refused(overlaid, THOR, "vllm/vllm-openai:v0.19.0")


def test_i04_each_image_says_whether_it_serves_by_itself(catalog: Catalog) -> None:
    assert taken(catalog, THOR, "vllm/vllm-openai:v0.27.1").image.own_entrypoint == (
        "vllm",
        "serve",
    )
    assert taken(catalog, ORIN_R36, IOT_R36).image.own_entrypoint == ()


def test_i05_a_floating_tag_whose_content_is_unknown_is_refused(catalog: Catalog) -> None:
    told = refused(catalog, ORIN_R36, "ghcr.io/nvidia-ai-iot/vllm:latest-jetson-orin")
    assert "unknown is refused" in told
    assert "board is thor" in refused(
        catalog, THOR, "ghcr.io/nvidia-ai-iot/vllm:latest-jetson-thor"
    )


def test_i05_a_floating_tag_with_a_known_version_is_taken_with_a_warning(
    catalog: Catalog,
) -> None:
    image = catalog.images["vllm-upstream"]
    floating = msgspec.structs.replace(
        image.builds[-1], reference="vllm/vllm-openai:latest", floating=True, digest=None
    )
    image = msgspec.structs.replace(image, builds=(*image.builds, floating))
    overlaid = msgspec.structs.replace(catalog, images={**catalog.images, image.id: image})
    assert "floating_tag" in codes(taken(overlaid, THOR, "vllm/vllm-openai:latest"))
    pinned = taken(overlaid, THOR, f"vllm/vllm-openai:latest@{DIGEST}")
    assert "floating_tag" not in codes(pinned)
    assert pinned.build.digest == DIGEST


def test_i05_the_gemma4_image_waits_for_a_digest_and_runs_once_pinned(catalog: Catalog) -> None:
    assert "by digest" in refused(catalog, ORIN_R36, GEMMA4)
    pinned = taken(catalog, ORIN_R36, f"{GEMMA4}@{DIGEST}")
    assert pinned.image.id == "vllm-iot-gemma4"
    assert pinned.build.reference == f"{GEMMA4}@{DIGEST}"
    assert pinned.build.methods == ()


@pytest.mark.parametrize("tag", ["v0.27.1-x86_64", "v0.27.1-amd64"])
def test_i06_a_tag_for_another_processor_is_refused(catalog: Catalog, tag: str) -> None:
    told = refused(catalog, THOR, f"vllm/vllm-openai:{tag}")
    assert "x86_64" in told
    assert "aarch64" in told
    assert tag in told


def test_i06_an_arm64_image_is_refused_on_an_x86_machine(catalog: Catalog) -> None:
    told = refused(catalog, ("generic-x86-64", None), "vllm/vllm-openai:v0.27.1")
    assert "built for aarch64, board is x86_64" in told


@pytest.mark.parametrize("where", [THOR, ORIN_R36, SPARK, ("generic-arm64", None)])
def test_i06_the_retired_registry_path_is_corrected(
    catalog: Catalog, where: tuple[str, str | None]
) -> None:
    told = refused(catalog, where, "ghcr.io/ggerganov/llama.cpp:server")
    assert "ghcr.io/ggml-org/llama.cpp:server" in told


@pytest.mark.parametrize("tag", ["server-cuda", "server-cuda13", "server-cuda13-b10524", "server"])
@pytest.mark.parametrize("where", [THOR, ORIN_R36, ORIN_R39])
def test_upstream_llama_cpp_has_no_code_for_a_jetson(
    catalog: Catalog, where: tuple[str, str | None], tag: str
) -> None:
    told = refused(catalog, where, f"ghcr.io/ggml-org/llama.cpp:{tag}")
    assert "no GPU code for" in told


@pytest.mark.parametrize(
    ("where", "image", "rule"),
    [
        (("agx-orin-64gb", "38.2.0"), "vllm/vllm-openai:v0.27.1", "r39"),
        (("agx-orin-64gb", "36.3.0"), IOT_R36, "r36.4 / JetPack 6.1 or newer"),
        (("agx-orin-64gb", None), IOT_R36, "unknown"),
    ],
)
def test_i07_a_release_outside_the_rows_is_refused_by_name_too(
    catalog: Catalog, where: tuple[str, str | None], image: str, rule: str
) -> None:
    assert rule in refused(catalog, where, image)


@pytest.mark.parametrize("image", ["vllm-iot-r36", IOT_R36])
def test_the_r36_image_on_orin_39_is_taken_by_name_with_a_warning(
    catalog: Catalog, image: str
) -> None:
    choice = taken(catalog, ORIN_R39, image)
    assert choice.build.version == "0.19.0"
    assert "image_by_name_only" in codes(choice)
    assert "image_by_name_only" not in codes(taken(catalog, ORIN_R36, image))


@pytest.mark.parametrize(
    "image",
    [
        "ghcr.io/nvidia-ai-iot/llama_cpp:b10373-r38.2.arm64-sbsa-cp312-cu130-24.04",
        "ghcr.io/nvidia-ai-iot/llama_cpp:b10999-r38.2.arm64-sbsa-cp312-cu130-24.04",
        "ghcr.io/nvidia-ai-iot/vllm:0.20.0-r39.2-arm64-sbsa-cu130-24.04",
        "ghcr.io/nvidia-ai-iot/vllm:0.20.0-cuda13",
    ],
)
def test_a_cuda_13_image_never_runs_on_r36(catalog: Catalog, image: str) -> None:
    told = refused(catalog, ORIN_R36, image)
    assert "CUDA 13" in told or "needs L4T r39" in told


@pytest.mark.parametrize("era", ["r32.7.1", "r34.1.1", "r35.4.1", "r36.2.0", "r36.3.0"])
def test_an_era_that_no_supported_board_runs_is_refused(catalog: Catalog, era: str) -> None:
    told = refused(catalog, ORIN_R36, f"ghcr.io/nvidia-ai-iot/vllm:0.19.0-{era}-cu126")
    assert f"its tag says {era.rpartition('.')[0]}" in told


def test_a_known_digest_alone_is_enough(catalog: Catalog) -> None:
    build = catalog.images["vllm-iot-r36"].builds[0]
    choice = taken(catalog, ORIN_R36, f"ghcr.io/nvidia-ai-iot/vllm@{build.digest}")
    assert choice.build == build
    unknown = refused(catalog, ORIN_R36, f"ghcr.io/nvidia-ai-iot/vllm@{DIGEST}")
    assert "unknown is refused" in unknown


def test_ngc_is_taken_by_name_where_cuda_allows_it_and_its_dates_are_no_versions(
    catalog: Catalog,
) -> None:
    image = "nvcr.io/nvidia/vllm:26.05.post1-py3"
    assert taken(catalog, SPARK, image).build.version == "0.21.0"
    assert taken(catalog, ("agx-thor-t5000", "39.2.0"), image).image.id == "vllm-ngc"
    assert "CUDA" in refused(catalog, THOR, image)
    assert "unknown is refused" in refused(catalog, SPARK, "nvcr.io/nvidia/vllm:26.07-py3")


@pytest.mark.parametrize("image", ["dustynv/vllm:0.6.3-r36.4.0", "example.org:5000/own/vllm:1.2.3"])
def test_an_unknown_image_is_refused_with_how_to_add_it(catalog: Catalog, image: str) -> None:
    told = refused(catalog, ORIN_R36, image)
    assert "images/<id>/image.yaml" in told
    assert "vllm/vllm-openai" in told


@pytest.mark.parametrize("image", ["", "UPPER/case:1", "a b", "vllm/vllm-openai:", "x@sha256:12"])
def test_what_is_no_reference_is_a_usage_error(catalog: Catalog, image: str) -> None:
    with pytest.raises(UsageError) as caught:
        rank(catalog, *THOR, image=image)
    assert caught.value.code == "image_reference"


def test_image_and_engine_must_agree(catalog: Catalog) -> None:
    with pytest.raises(UsageError) as caught:
        rank(catalog, *THOR, image="vllm/vllm-openai:v0.27.1", engine="llama.cpp")
    assert caught.value.code == "engine_contradiction"


def test_an_image_named_on_a_small_board_counts_as_asking_for_its_engine(
    catalog: Catalog,
) -> None:
    assert taken(catalog, ("orin-nano-8gb", "36.4.7"), IOT_R36).image.engine == "vllm"


def test_the_catalogs_own_reference_is_taken_without_a_remark(catalog: Catalog) -> None:
    choice = taken(catalog, THOR, "vllm/vllm-openai:v0.27.1")
    assert choice.findings == ()
    assert any("--image" in item.rule for item in choice.decisions if item.subject == "image")
