import pytest

from speccompose.errors import UsageError
from speccompose.plan.release import derive_from_kernel, look_up, newest_release, parse_l4t


def test_every_listed_release_is_found_by_its_triple(catalog):
    for row in catalog.releases:
        match = look_up(row.l4t, "release file", catalog)
        assert (match.row, match.jetpack, match.cuda) == (row, row.jetpack, row.cuda)
        assert match.findings == ()


@pytest.mark.parametrize(
    ("l4t", "jetpack", "cuda"),
    [
        ("36.4.9", "unlisted (>= 6.2.1)", "12.6"),
        ("36.4.1", "unlisted (>= 6.1)", "12.6"),
        ("36.9.0", "unlisted (>= 6.2.3)", "12.6"),
        ("38.3.0", "unlisted (>= 7.0)", "13.0"),
        ("39.3.0", "unlisted (>= 7.2.1)", "13.2"),
        ("40.0.0", "unlisted (>= 7.2.1)", "13.2"),
        ("38.0.0", "unlisted", None),
        ("37.0.0", "unlisted", None),
    ],
)
def test_an_unlisted_release_borrows_no_jetpack(catalog, l4t, jetpack, cuda):
    match = look_up(l4t, "release file", catalog)
    assert (match.l4t, match.row, match.jetpack, match.cuda) == (l4t, None, jetpack, cuda)
    code = "l4t_untested" if l4t == "40.0.0" else "l4t_unlisted"
    assert [finding.code for finding in match.findings] == [code]


@pytest.mark.parametrize(
    ("kernel", "device", "l4t"),
    [
        ("5.15.148-tegra", "agx-orin-64gb", "36.4.0"),
        ("5.15.136-tegra", "agx-orin-64gb", "36.3.0"),
        ("5.15.185-tegra", "orin-nano-8gb", "36.5.0"),
        ("6.8.12-1021-tegra", "agx-orin-64gb", "39.2.0"),
        ("6.8.12-1021-tegra", "agx-thor-t5000", "39.2.0"),
        ("6.8.12-tegra", "agx-thor-t5000", "38.2.0"),
        ("6.8.12-tegra", "agx-orin-64gb", None),
        ("5.15.170-tegra", "agx-orin-64gb", None),
        ("5.15.148", "agx-orin-64gb", None),
        ("5.15.148-1-generic", "agx-orin-64gb", None),
        ("5.15-tegra", "agx-orin-64gb", None),
        ("-tegra", "agx-orin-64gb", None),
        (None, "agx-orin-64gb", None),
    ],
)
def test_a_kernel_means_the_lowest_release_that_ships_it(catalog, kernel, device, l4t):
    assert derive_from_kernel(kernel, catalog.devices[device], catalog) == l4t


@pytest.mark.parametrize(
    ("text", "l4t"),
    [("36.4.3", "36.4.3"), ("36.5", "36.5.0"), ("R39.2.1", "39.2.1"), ("38", "38.0.0")],
)
def test_a_typed_release(text, l4t):
    assert parse_l4t("--l4t", text) == l4t


@pytest.mark.parametrize(
    "text", ["", "jetpack 6", "36.4.3.1", "36,4", "latest", "36.4.x", "9" * 5000]
)
def test_a_malformed_release_is_a_usage_error(text):
    with pytest.raises(UsageError, match="no L4T release"):
        parse_l4t("--assume-l4t", text)


def test_the_newest_release_of_each_family(catalog):
    newest = {
        profile.family: newest_release(profile, catalog)
        for profile in catalog.devices.values()
        if profile.supported
    }
    assert {family: row.l4t if row else None for family, row in newest.items()} == {
        "thor": "39.2.1",
        "agx-orin": "39.2.1",
        "orin-nx": "39.2.1",
        "orin-nano": "39.2.1",
        "dgx-spark": None,
        "generic": None,
    }
