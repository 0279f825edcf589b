import pytest

from speccompose.plan.memory_class import agrees_with_label, fits_class, memory_class


@pytest.mark.parametrize(
    ("family", "total_mib", "ids"),
    [
        ("agx-orin", 30697, ["agx-orin-32gb"]),
        ("agx-orin", 62841, ["agx-orin-64gb", "agx-orin-industrial"]),
        ("orin-nx", 7620, ["orin-nx-8gb"]),
        ("orin-nx", 15643, ["orin-nx-16gb"]),
        ("orin-nx", 99999, ["orin-nx-16gb"]),
        ("thor", 60236, ["agx-thor-t4000"]),
        ("thor", 30000, ["agx-thor-t4000"]),
        ("generic", 30000, []),
    ],
)
def test_the_smallest_size_that_memory_fits_into(catalog, family, total_mib, ids):
    profiles = [p for p in catalog.devices.values() if p.family == family]
    assert sorted(p.id for p in fits_class(profiles, total_mib)) == ids


def test_what_boards_show_agrees_with_their_label(catalog):
    supported = [p for p in catalog.devices.values() if p.memory is not None]
    assert supported
    for profile in supported:
        assert agrees_with_label(profile, profile.memory.usable_mib), profile.id
        assert not agrees_with_label(profile, profile.memory.nominal_mib // 2), profile.id
        assert not agrees_with_label(profile, profile.memory.nominal_mib + 1), profile.id


def test_a_device_without_memory_agrees_with_anything(catalog):
    generic = catalog.devices["generic-arm64"]
    assert memory_class(generic) == 0
    assert agrees_with_label(generic, 1)
