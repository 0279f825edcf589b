import pytest

from speccompose.plan.candidates import by_parts, named_by_model
from speccompose.plan.detect import detect_device
from speccompose.vocab.facts import RawFacts

TREE = "/sys/firmware/devicetree/base/compatible"
BOOT = "/etc/nv_boot_control.conf"


def detected(compatible="", tnspec="", eeprom=""):
    files = {TREE: compatible}
    if tnspec:
        files[BOOT] = f"TNSPEC {tnspec}\n"
    return detect_device(
        RawFacts(origin="test", files=files, commands={"eeprom part number": eeprom})
    )


def ids(candidates):
    return sorted(profile.id for profile in candidates.profiles)


@pytest.mark.parametrize(
    ("compatible", "eeprom", "tnspec", "expected"),
    [
        ("p3767-0000", "", "", ["orin-nx-16gb"]),
        ("p3767-0003 p3767-0005", "", "", ["orin-nano-8gb"]),
        ("p3767-0000 p3767-0001", "", "", ["orin-nx-16gb", "orin-nx-8gb"]),
        ("p3767-0000 p3767-0001", "699-13767-0001", "", ["orin-nx-8gb"]),
        ("p3767-0000 p3767-0001", "", "3767-300-0000-A-", ["orin-nx-16gb"]),
        ("p3767-0000 p3767-0001", "699-13767-0001", "3767-300-0000-A-", ["orin-nx-8gb"]),
        ("p3767-0000", "699-13767-0001", "3767-300-0005-A-", ["orin-nx-16gb"]),
        ("", "699-13767-0001", "3767-300-0005-A-", ["orin-nx-8gb"]),
        ("", "", "3767-300-0005-A-", ["orin-nano-8gb"]),
        ("p3701-0000", "", "", ["agx-orin-32gb", "agx-orin-64gb"]),
        ("p3701-0000", "699-13701-0005", "", ["agx-orin-64gb"]),
        ("p3767-0099", "699-13767-0001", "", ["orin-nx-8gb"]),
        ("p3767-0099", "699-13701-0005", "", "all of p3767"),
        ("p9999-0000", "699-13701-0005", "", ["agx-orin-64gb"]),
    ],
)
def test_order_of_trust(catalog, compatible, eeprom, tnspec, expected):
    found = by_parts(detected(compatible, tnspec, eeprom), catalog)
    if expected == "all of p3767":
        expected = sorted(p.id for p in catalog.devices.values() if "p3767" in p.boards)
    assert ids(found) == expected


def test_nothing_known_is_none(catalog):
    assert by_parts(detected("nvidia,p9999-0000"), catalog) is None
    assert by_parts(detected(), catalog) is None


def test_every_part_number_of_the_catalog_finds_its_device(catalog):
    for profile in catalog.devices.values():
        for part in profile.part_numbers:
            assert profile in by_parts(detected(f"nvidia,{part}"), catalog).profiles


@pytest.mark.parametrize(
    ("text", "families"),
    [
        ("NVIDIA Jetson AGX Thor Developer Kit", {"thor"}),
        ("NVIDIA Jetson AGX Orin Developer Kit", {"agx-orin"}),
        ("Jetson AGX Orin", {"agx-orin"}),
        ("NVIDIA IGX Orin Developer Kit", {"agx-orin"}),
        ("NVIDIA Jetson Orin NX Engineering Reference Developer Kit Super", {"orin-nx"}),
        ("NVIDIA Orin NX Developer Kit", {"orin-nx"}),
        ("nvidia orin nano developer kit", {"orin-nano"}),
        ("NVIDIA Jetson Orin Nano Developer Kit Super", {"orin-nano"}),
        ("NVIDIA Jetson Nano Developer Kit", {"nano"}),
        ("NVIDIA Jetson Xavier NX Developer Kit", {"xavier"}),
        ("NVIDIA Jetson AGX Xavier Developer Kit", {"xavier"}),
        ("Advantech MIC-733", set()),
        ("NanoPi R6S", set()),
        ("", set()),
        (None, set()),
    ],
)
def test_model_text(catalog, text, families):
    found = named_by_model(text, tuple(catalog.devices.values()))
    assert {profile.family for profile in found} == families
