"""What two boards must share to stand for each other, and the memory that both plan with."""

import pytest

from speccompose.catalog.facts_file import read_facts
from speccompose.fleet.board_class import board_class, class_available_mib, class_facts
from speccompose.plan.detect import detect_device
from speccompose.plan.resolve import resolve_device, resolve_named
from tests.fleet.fleets import ROOT


def resolved(name, catalog):
    facts = read_facts((ROOT / f"tests/facts/{name}.yaml").read_text(), name)
    return facts, resolve_device(detect_device(facts), catalog)


@pytest.mark.parametrize(
    ("device", "l4t", "expected"),
    [
        ("agx-thor-t5000", "38.4.0", "tegra264-128g-r38"),
        ("agx-orin-64gb", "36.4.7", "tegra234-64g-r36"),
        ("agx-orin-industrial", "36.4.7", "tegra234-64g-r36"),
        ("orin-nano-4gb", "36.4.7", "tegra234-4g-r36"),
        ("dgx-spark", None, "gb10-128g"),
    ],
)
def test_the_class_is_soc_memory_and_l4t_major(catalog, device, l4t, expected):
    assert board_class(resolve_named(device, l4t, catalog)).id == expected


def test_memory_is_memtotal_where_the_label_says_otherwise(catalog):
    facts, _ = resolved("agx-orin-64-r36.4.3", catalog)
    import msgspec

    files = {**facts.files, "/proc/meminfo": "MemTotal: 31000000 kB\nMemAvailable: 1 kB\n"}
    smaller = msgspec.structs.replace(facts, files=files)
    assert board_class(resolve_device(detect_device(smaller), catalog)).memory_gib == 30


@pytest.mark.parametrize("name", ["agx-orin-64-r36.4.3", "dgx-spark", "d-05", "i-01"])
def test_the_class_figure_is_what_planning_from_class_facts_comes_to(catalog, name):
    facts, device = resolved(name, catalog)
    bare = class_facts(facts, device, "c")
    again = resolve_device(detect_device(bare), catalog)
    if not device.from_profile:
        assert again.available_mib == class_available_mib(device)
    assert again.memory_mib == device.memory_mib


def test_a_machine_without_a_reserve_in_the_catalog_plans_with_its_own_facts(catalog):
    facts, device = resolved("generic-x86-64", catalog)
    assert class_available_mib(device) is None
    assert class_facts(facts, device, "c") is facts
