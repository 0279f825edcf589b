import pytest

from speccompose.plan.part_hints import read_module_hints
from speccompose.vocab.facts import RawFacts

TREE = "/sys/firmware/devicetree/base/"


def hints(files=None, commands=None):
    return read_module_hints(RawFacts(origin="test", files=files or {}, commands=commands or {}))


def test_sources_stand_in_the_order_of_trust():
    found = hints(
        {
            TREE + "compatible": "nvidia,p3767-0003\0",
            TREE + "nvidia,dtsfilename": "p3768-0000+p3767-0004.dts",
            "/etc/nv_boot_control.conf": "TNSPEC 3767-300-0005-W.1-1-0-devkit-\n",
        },
        {"eeprom part number": "699-13767-0001-300 L.3"},
    )
    assert [(hint.source, hint.parts) for hint in found.parts] == [
        ("compatible", ("p3767-0003",)),
        ("eeprom", ("p3767-0001",)),
        ("tnspec", ("p3767-0005",)),
        ("dtb", ("p3767-0004",)),
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("699-13834-0008-400 G.5", "p3834-0008"),
        ("699-63701-0001-CS2 B.0", "p3701-0001"),
        ("699-13767-0003-300 L.3\0\0\n", "p3767-0003"),
    ],
)
def test_eeprom_part_numbers(text, part):
    assert [hint.parts for hint in hints(commands={"eeprom part number": text}).parts] == [(part,)]


@pytest.mark.parametrize(
    "text", ["\xff699-13834-0008", "699-13834\x00-0008", "699-1\ufffd3834-0008"]
)
def test_an_eeprom_that_is_not_ascii_is_discarded(text):
    found = hints(commands={"eeprom part number": text})
    assert found.parts == ()
    assert [finding.code for finding in found.findings] == ["eeprom_discarded"]


@pytest.mark.parametrize("text", ["", "\0\0", " \n", "not a part number"])
def test_an_eeprom_that_says_nothing_is_no_finding(text):
    found = hints(commands={"eeprom part number": text})
    assert (found.parts, found.findings) == ((), ())


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ("TNSPEC 3767-300-0005-W.1-1-0-jetson-orin-nano-devkit-super-", "p3767-0005"),
        ("TNSPEC 3767-300-0005-S.1-1-1-jetson-orin-nano-devkit-super-", "p3767-0005"),
        ("TNSPEC 3767-300-0000-H.2-1-0-recomputer-orin-j401-", "p3767-0000"),
        ("TNSPEC 3701-500-0005-A.0-1-0-cti-orin-agx-agx201-00-", "p3701-0005"),
        ("TNSPEC 2888-400-0004-M.0-1-2-jetson-xavier-rqx580-", "p2888-0004"),
        ("COMPATIBLE_SPEC 3767--0005--1--jetson-orin-nano-devkit-", "p3767-0005"),
        ("TNSPEC=3834--0008--1--jetson-agx-thor-devkit-", "p3834-0008"),
    ],
)
def test_boot_control_names_the_module_and_not_the_carrier(spec, part):
    found = hints({"/etc/nv_boot_control.conf": f"# header\n{spec}\nTEGRA_CHIPID 0x23\n"})
    assert [(hint.source, hint.parts) for hint in found.parts] == [("tnspec", (part,))]
    assert found.soc == "0x23"


def test_the_soc_of_the_device_tree_goes_before_the_chip_id():
    files = {
        TREE + "compatible": "nvidia,tegra264\0",
        "/etc/nv_boot_control.conf": "TEGRA_CHIPID 0x23",
    }
    assert hints(files).soc == "tegra264"


def test_the_soc_of_compatible_goes_before_that_of_the_dtb_name():
    dtb = {TREE + "nvidia,dtsfilename": "tegra264-p4071-0000+p3834-0000-nv"}
    assert hints(dtb).soc == "tegra264"
    assert hints(dtb | {TREE + "compatible": "nvidia,tegra234\0"}).soc == "tegra234"
