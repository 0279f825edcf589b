"""What must hold over the shipped L4T releases, whatever row is added."""

import re
from collections import Counter

import pytest

from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import ReleaseRow
from speccompose.vocab.versions import version_key, within

JETPACK_OF = {
    "32.1.0": "4.2",
    "32.7.1": "4.6.1",
    "32.7.6": "4.6.6",
    "34.1.1": "5.0.1 DP",
    "35.1.0": "5.0.2",
    "35.3.1": "5.1.1",
    "35.6.4": "5.1.6",
    "36.3.0": "6.0",
    "36.4.0": "6.1",
    "36.4.3": "6.2",
    "36.4.4": "6.2.1",
    "36.4.7": "6.2.1",
    "36.5.0": "6.2.2",
    "36.5.2": "6.2.3",
    "38.2.0": "7.0",
    "38.4.0": "7.1",
    "39.2.0": "7.2",
    "39.2.1": "7.2.1",
}
"""Pairs that field cases D-01 to D-13 and the release notes fix."""


CONFLICTED = {"36.3.0": "cuda", "36.5.0": "jetpack", "36.5.2": "jetpack"}


def _row(catalog: Catalog, l4t: str) -> ReleaseRow:
    return next(row for row in catalog.releases if row.l4t == l4t)


def test_releases_are_unique_and_in_order(catalog: Catalog) -> None:
    keys = [version_key(row.l4t) for row in catalog.releases]
    assert keys == sorted(set(keys))


def test_releases_reach_from_r32_1_to_r39_2_1(catalog: Catalog) -> None:
    assert catalog.releases[0].l4t == "32.1.0"
    assert catalog.releases[-1].l4t == "39.2.1"
    assert Counter(row.l4t.split(".")[0] for row in catalog.releases) == {
        "32": 18,
        "34": 3,
        "35": 11,
        "36": 10,
        "38": 5,
        "39": 3,
    }


@pytest.mark.parametrize(("l4t", "jetpack"), JETPACK_OF.items())
def test_jetpack_of_a_release(catalog: Catalog, l4t: str, jetpack: str) -> None:
    assert _row(catalog, l4t).jetpack == jetpack


def test_every_listed_release_names_jetpack_ubuntu_cuda_and_source(catalog: Catalog) -> None:
    for row in catalog.releases:
        assert row.jetpack, row.l4t
        assert row.ubuntu, row.l4t
        assert row.cuda, row.l4t
        assert len(row.source) >= 3, row.l4t
        assert row.families, row.l4t


def test_what_never_existed_is_not_listed(catalog: Catalog) -> None:
    assert not [row.l4t for row in catalog.releases if row.listed and row.l4t == "39.1.0"]
    assert not [row.l4t for row in catalog.releases if row.l4t.startswith("37.")]


@pytest.mark.parametrize(("l4t", "field"), CONFLICTED.items())
def test_disputed_facts_keep_the_other_value(catalog: Catalog, l4t: str, field: str) -> None:
    row = _row(catalog, l4t)
    (conflict,) = row.conflicts
    assert conflict.field == field
    assert conflict.value != getattr(row, field)
    assert conflict.source


@pytest.mark.parametrize(
    ("major", "families"),
    [
        ("32", {"nano", "tx2", "xavier"}),
        ("36", {"agx-orin", "orin-nx", "orin-nano"}),
        ("38", {"thor"}),
    ],
)
def test_a_major_belongs_to_its_families(catalog: Catalog, major: str, families: set[str]) -> None:
    rows = [row for row in catalog.releases if row.l4t.startswith(f"{major}.")]
    assert {family for row in rows for family in row.families} == families


def test_l4t_39_serves_orin_and_thor(catalog: Catalog) -> None:
    assert set(_row(catalog, "39.2.0").families) == {"agx-orin", "orin-nx", "orin-nano", "thor"}


def test_host_cuda_by_major(catalog: Catalog) -> None:
    since_36_4 = {r.cuda for r in catalog.releases if within(r.l4t, "36.4.0", "37.0.0")}
    assert since_36_4 == {"12.6"}
    assert {r.cuda for r in catalog.releases if within(r.l4t, "38.0.0", "39.0.0")} == {"13.0"}
    assert {r.cuda for r in catalog.releases if within(r.l4t, "39.2.0", None)} == {"13.2"}


def test_kernels_are_full_numbers_and_never_go_back(catalog: Catalog) -> None:
    kernels = [row.kernel for row in catalog.releases if row.kernel]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+(-\d+)?", kernel) for kernel in kernels)
    keys = [version_key(kernel) for kernel in kernels]
    assert keys == sorted(keys)
