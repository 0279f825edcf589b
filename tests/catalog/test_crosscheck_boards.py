"""Contradictions in releases, SoCs and devices."""

import pytest

from tests.catalog.small_catalog import SMALL

NANO = "profiles/devices/orin-nano-8gb.yaml"


def add_device(root, **changes):
    """Write a sibling of the small catalog's device, with lines replaced."""
    text = SMALL[NANO].replace("id: orin-nano-8gb", "id: sibling")
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    (root / "profiles/devices/sibling.yaml").write_text(text)


@pytest.mark.parametrize(
    ("file", "old", "new", "place", "path", "expected"),
    [
        (
            "profiles/releases.yaml",
            '"36.4.7"',
            '"36.4.3"',
            (4, 11),
            "releases[1].l4t",
            "each L4T once",
        ),
        (
            "profiles/releases.yaml",
            '"36.4.7"',
            '"36.4.0"',
            (4, 11),
            "releases[1].l4t",
            "oldest first",
        ),
        ("profiles/releases.yaml", '"36.4.7"', '"36.10.0"', None, None, None),
        (NANO, "soc: tegra234", "soc: tegra23", (4, 6), "soc", "expected a SoC, found 'tegra23'"),
        (
            NANO,
            "soc: tegra234",
            'soc: tegra234\nl4t_min: "36.4.0"\nl4t_below: "36.4.0"',
            (6, 12),
            "l4t_below",
            "above l4t_min 36.4.0",
        ),
        (
            NANO,
            "soc: tegra234",
            'soc: tegra234\nl4t_min: "38.0.0"',
            (2, 9),
            "family",
            "a listed release",
        ),
        (NANO, "soc: tegra234", "soc: tegra234\nsupported: false", (1, 1), "", "the key refusal"),
        (NANO, "soc: tegra234", "soc: tegra234\nrefusal: old", (5, 1), "refusal", "no refusal"),
        (NANO, "usable_mib: 7620", "usable_mib: 9000", (8, 15), "memory.usable_mib", "at most"),
        (
            NANO,
            "os_reserve_mib: 1280",
            "os_reserve_mib: 7620",
            (10, 19),
            "memory.os_reserve_mib",
            "less than usable_mib",
        ),
        (NANO, "{id: 1,", "{id: 0,", (15, 10), "power_modes[1].id", "each mode id once"),
        (
            NANO,
            "name: 15W}",
            "name: 15W, boot_default: true}",
            (15, 38),
            "power_modes[1].boot_default",
            "one boot default",
        ),
    ],
)
def test_contradictions(edit, mistakes, small_root, file, old, new, place, path, expected):
    from speccompose.catalog.load import load_catalog

    edit(file, old, new)
    if expected is None:
        assert load_catalog(small_root).releases[1].l4t == "36.10.0", "10 comes after 4"
        return
    ((name, found_place, found_path, found),) = mistakes()
    assert (name, found_place, found_path) == (file, place, path)
    assert expected in found


def test_each_soc_stands_once(edit, mistakes):
    row = '  - {id: tegra234, compute_capability: "8.7", source: a test, checked: 2026-11-30}\n'
    edit("profiles/socs.yaml", row, row + row)
    ((name, place, path, _),) = mistakes()
    assert (name, place, path) == ("profiles/socs.yaml", (3, 10), "socs[1].id")


def test_a_supported_device_has_memory_unless_it_is_a_generic_machine(edit, mistakes, small_root):
    text = SMALL[NANO]
    start, end = text.index("memory:"), text.index("power_modes:")
    edit(NANO, text[start:end], "")
    ((_, _, _, expected),) = mistakes()
    assert "the key memory" in expected


def test_a_part_number_belongs_to_one_device(small_root, mistakes):
    add_device(small_root)
    found = mistakes()
    assert [(name, path) for name, _, path, _ in found] == [
        ("profiles/devices/sibling.yaml", "part_numbers[0]"),
        ("profiles/devices/sibling.yaml", "part_numbers[1]"),
    ]


def test_memory_sizes_of_one_family_may_share_a_part_number(small_root):
    from speccompose.catalog.load import load_catalog

    add_device(small_root, size=("nominal_mib: 8192", "nominal_mib: 16384"))
    assert len(load_catalog(small_root).devices) == 2


def test_another_family_may_not_share_it(small_root, mistakes):
    add_device(
        small_root,
        size=("nominal_mib: 8192", "nominal_mib: 16384"),
        family=("family: orin-nano", "family: orin-nx"),
    )
    assert "orin-nano-8gb has it too" in mistakes()[-1][3]
