"""Families, L4T ranges, GPU code, CUDA and processor of one image."""

import msgspec
import pytest

from speccompose.plan.placement import (
    Placed,
    covers_gpu,
    cuda_ceiling,
    is_untested,
    name_board,
    name_l4t,
    place_image,
)
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.finding import Rejection
from tests.plan.image_cases import board


def reason(verdict: Placed | Rejection) -> str:
    assert isinstance(verdict, Rejection)
    return verdict.reason


@pytest.mark.parametrize(
    ("targets", "capability", "runs"),
    [
        (("8.7", "11.0"), "8.7", True),
        (("87", "110"), "11.0", True),
        (("sm_87",), "8.7", True),
        (("8.0",), "8.7", False),
        (("8.0",), "8.9", True),
        (("8.9",), "8.7", False),
        (("12.0",), "12.1", True),
        (("120a",), "12.1", False),
        (("120a", "121a"), "12.1", True),
        (("75-virtual", "12.0-virtual"), "12.1", False),
        (("10.1",), "11.0", False),
        ((), "8.7", False),
    ],
)
def test_gpu_code_runs_on_its_own_capability_and_later_minors(
    targets: tuple[str, ...], capability: str, runs: bool
) -> None:
    assert covers_gpu(targets, capability) is runs


@pytest.mark.parametrize(
    ("device", "l4t", "ceiling"),
    [
        ("agx-orin-64gb", "36.4.3", "12.9"),
        ("agx-orin-64gb", "36.5.2", "12.9"),
        ("agx-orin-64gb", "39.2.0", "13.2"),
        ("agx-thor-t5000", "38.4.0", "13.0"),
        ("agx-thor-t5000", None, None),
        ("dgx-spark", None, None),
    ],
)
def test_cuda_of_an_image_must_not_exceed_the_boards(
    catalog: Catalog, device: str, l4t: str | None, ceiling: str | None
) -> None:
    assert cuda_ceiling(board(catalog, device, l4t)) == ceiling


@pytest.mark.parametrize(
    ("cuda", "l4t", "why"),
    [
        ("13.0", "38.4.0", None),
        ("13.0.2", "38.4.0", None),
        ("13.2", "38.4.0", "requires CUDA 13.2, board offers 13.0"),
        ("13.2", "39.2.0", None),
        ("13.4", "39.2.0", "requires CUDA 13.4, board offers 13.2"),
    ],
)
def test_cuda_is_compared_by_major_and_minor(
    catalog: Catalog, cuda: str, l4t: str, why: str | None
) -> None:
    image = msgspec.structs.replace(catalog.images["vllm-upstream"], cuda=cuda)
    verdict = place_image(board(catalog, "agx-thor-t5000", l4t), image, catalog)
    assert (None if isinstance(verdict, Placed) else verdict.reason) == why


@pytest.mark.parametrize("cuda", ["12.2", "12.6", "12.9"])
def test_r36_takes_cuda_12_and_never_13(catalog: Catalog, cuda: str) -> None:
    device = board(catalog, "agx-orin-64gb", "36.4.3")
    image = msgspec.structs.replace(catalog.images["vllm-iot-r36"], cuda=cuda)
    assert isinstance(place_image(device, image, catalog), Placed)
    newer = msgspec.structs.replace(image, cuda="13.0")
    assert "images up to 12.9 run" in reason(place_image(device, newer, catalog))


@pytest.mark.parametrize(
    ("l4t", "text"),
    [
        ("36.4.0", "L4T r36.4 / JetPack 6.1"),
        ("39.0.0", "L4T r39 / JetPack 7.2"),
        ("38.0.0", "L4T r38 / JetPack 7.0"),
        ("40.0.0", "L4T r40"),
        ("36.10.0", "L4T r36.10"),
    ],
)
def test_a_range_is_named_as_people_know_it(catalog: Catalog, l4t: str, text: str) -> None:
    assert name_l4t(l4t, catalog) == text


def test_a_range_is_compared_as_numbers(catalog: Catalog) -> None:
    image = catalog.images["vllm-iot-r36"]
    for l4t, runs in (("36.10.0", True), ("36.3.9", False), ("36.4.0", True), ("37.0.0", False)):
        verdict = place_image(board(catalog, "agx-orin-64gb", l4t), image, catalog)
        assert isinstance(verdict, Placed) is runs


def test_an_unknown_release_counts_only_where_the_row_says_so(catalog: Catalog) -> None:
    image = catalog.images["vllm-upstream"]
    assert isinstance(place_image(board(catalog, "agx-thor-t5000"), image, catalog), Placed)
    orin = place_image(board(catalog, "agx-orin-64gb"), image, catalog)
    assert "the board's L4T is unknown" in reason(orin)


def test_a_row_that_is_not_automatic_counts_only_by_name(catalog: Catalog) -> None:
    device = board(catalog, "agx-orin-64gb", "39.2.0")
    image = catalog.images["vllm-iot-r36"]
    assert "--image only" in reason(place_image(device, image, catalog))
    named = place_image(device, image, catalog, by_name=True)
    assert isinstance(named, Placed)
    assert [item.code for item in named.findings] == ["image_by_name_only"]


def test_another_processor_is_told_before_anything_else(catalog: Catalog) -> None:
    device = board(catalog, "generic-x86-64")
    verdict = place_image(device, catalog.images["vllm-upstream"], catalog)
    assert reason(verdict) == "built for aarch64, board is x86_64"


def test_a_family_that_the_image_claims_without_gpu_code_is_refused(catalog: Catalog) -> None:
    image = catalog.images["llamacpp-upstream"]
    row = msgspec.structs.replace(image.runs_on[0], families=("agx-orin",))
    claimed = msgspec.structs.replace(image, runs_on=(row,), cuda=None)
    verdict = place_image(board(catalog, "agx-orin-64gb", "39.2.0"), claimed, catalog)
    assert reason(verdict) == "has no GPU code for 8.7"


def test_only_a_major_that_the_catalog_does_not_know_is_untested(catalog: Catalog) -> None:
    for l4t, untested in (("40.0.0", True), ("39.9.9", False), (None, False)):
        assert is_untested(board(catalog, "agx-thor-t5000", l4t), catalog) is untested


def test_a_board_is_named_with_its_release(catalog: Catalog) -> None:
    assert name_board(board(catalog, "dgx-spark")) == "dgx-spark"
    assert name_board(board(catalog, "orin-nx-16gb", "36.3.0")) == "orin-nx-16gb on L4T 36.3.0"
    assert "unknown" in name_board(board(catalog, "agx-thor-t5000"))
