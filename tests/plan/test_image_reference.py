"""What an image reference says in so many words."""

import pytest

from speccompose.errors import UsageError
from speccompose.plan.image_reference import (
    TagVersion,
    is_orin_r36,
    never_on_thor,
    outdated_era,
    parse_reference,
    tag_architecture,
    tag_cuda,
    tag_version,
)
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.image import EngineName

DIGEST = "sha256:" + "0f" * 32


@pytest.mark.parametrize(
    ("text", "repository", "tag", "digest"),
    [
        ("vllm/vllm-openai", "vllm/vllm-openai", None, None),
        ("docker.io/vllm/vllm-openai:v1", "vllm/vllm-openai", "v1", None),
        ("index.docker.io/vllm/vllm-openai:v1", "vllm/vllm-openai", "v1", None),
        ("docker.io/library/debian:12", "debian", "12", None),
        ("localhost:5000/a/b:1", "localhost:5000/a/b", "1", None),
        (f"ghcr.io/a/b_c:t@{DIGEST}", "ghcr.io/a/b_c", "t", DIGEST),
        (f"ghcr.io/a/b@{DIGEST}", "ghcr.io/a/b", None, DIGEST),
    ],
)
def test_a_reference_is_taken_apart(
    text: str, repository: str, tag: str | None, digest: str | None
) -> None:
    parsed = parse_reference(text)
    assert (parsed.repository, parsed.tag, parsed.digest) == (repository, tag, digest)


@pytest.mark.parametrize("text", ["", "A/b", "a b", "a:", "a@sha256:0f", "a:b:c", "-a", "a//b"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_reference(text)


@pytest.mark.parametrize(
    ("tag", "engine", "version"),
    [
        ("v0.27.1", "vllm", TagVersion(version="0.27.1")),
        ("v0.27.1-cu129-ubuntu2404", "vllm", TagVersion(version="0.27.1")),
        ("0.19.0-r36.4.tegra-aarch64-cu126-22.04", "vllm", TagVersion(version="0.19.0")),
        ("0.16.0-g15d76f74e-r38.2-arm64", "vllm", TagVersion(version="0.16.0")),
        ("v0.20.0rc1", "vllm", TagVersion(version="0.20.0", prerelease=True)),
        ("v0.20.0.dev5", "vllm", TagVersion(version="0.20.0", prerelease=True)),
        ("v0.20.0.post1", "vllm", TagVersion(version="0.20.0.post1")),
        ("latest", "vllm", None),
        ("nightly-2d8e", "vllm", None),
        ("gemma4-cu130", "vllm", None),
        ("r36.4-tegra-aarch64-cu126-22.04", "vllm", None),
        ("b10524", "llama.cpp", TagVersion(version="b10524")),
        (
            "server-cuda13-b10524",
            "llama.cpp",
            TagVersion(version="b10524", variant="server-cuda13"),
        ),
        ("b8708-r36.4-tegra-aarch64-cu126-22.04", "llama.cpp", TagVersion(version="b8708")),
        ("server", "llama.cpp", None),
        ("0.7.0", "llama.cpp", None),
    ],
)
def test_a_tag_names_a_version_or_none(
    tag: str, engine: EngineName, version: TagVersion | None
) -> None:
    assert tag_version(tag, engine) == version


@pytest.mark.parametrize(
    ("tag", "cuda"),
    [
        ("v0.27.1-cu129-ubuntu2404", (12, 9)),
        ("0.19.0-r36.4.tegra-aarch64-cu126-22.04", (12, 6)),
        ("b10373-r38.2.arm64-sbsa-cp312-cu130-24.04", (13, 0)),
        ("server-cuda13-b10524", (13, None)),
        ("server-cuda12", (12, None)),
        ("server-cuda", None),
        ("v0.27.1", None),
        ("focus12", None),
    ],
)
def test_a_tag_names_a_cuda_or_none(tag: str, cuda: tuple[int, int | None] | None) -> None:
    assert tag_cuda(tag) == cuda


@pytest.mark.parametrize(
    ("tag", "architecture"),
    [
        ("v0.27.1-x86_64", "x86_64"),
        ("a-amd64", "x86_64"),
        ("v0.26.0-aarch64-ubuntu2404", "aarch64"),
        ("b1-r38.2.arm64-sbsa", "aarch64"),
        ("v0.27.1", None),
    ],
)
def test_a_tag_may_be_bound_to_one_processor(tag: str, architecture: str | None) -> None:
    assert tag_architecture(tag) == architecture


@pytest.mark.parametrize(
    ("reference", "word"),
    [
        ("a/b:r32.7.1", "r32.7"),
        ("a/b:0.19.0-r36.4.tegra-x", "r36.4"),
        ("a/b:latest-jetson-orin", "jetson-orin"),
        ("a/b:26.05-py3-igpu", "igpu"),
        ("a/b:x-cu126", "cu126"),
        ("a/b:x-cu128-24.04", "cu128"),
        ("a/b:v1-cu129", "cu129"),
        ("a/b:server-cuda12-b1", "cuda12"),
        ("a/b:b10373-r38.2.arm64-sbsa-cu130", None),
        ("a/b:r39.2-cu132", None),
        ("a/b:latest-jetson-thor", None),
        ("a/b:v0.27.1", None),
        ("a/b:r360", None),
        ("a/gpu36:v1", None),
    ],
)
def test_words_that_bar_an_image_from_thor(reference: str, word: str | None) -> None:
    assert never_on_thor(reference) == word
    assert never_on_thor(f"{reference}@{DIGEST}") == word


@pytest.mark.parametrize(
    ("tag", "word"),
    [
        ("r35.4.1", "r35.4"),
        ("r36.2.0", "r36.2"),
        ("x-r36.3.0-y", "r36.3"),
        ("r36.4.0", None),
        ("r36.5", None),
        ("r36", None),
        ("r38.2", None),
        ("v1", None),
    ],
)
def test_eras_that_no_supported_board_runs(tag: str, word: str | None) -> None:
    assert outdated_era(tag) == word


def test_the_catalogs_own_references_can_all_be_read(catalog: Catalog) -> None:
    for image in catalog.images.values():
        orin_only = {row for item in image.runs_on for row in item.families} <= {
            "agx-orin",
            "orin-nx",
            "orin-nano",
        }
        for build in image.builds:
            parse_reference(build.reference)
            assert is_orin_r36(build.reference) is orin_only
            if any("thor" in row.families for row in image.runs_on):
                assert never_on_thor(build.reference) is None
