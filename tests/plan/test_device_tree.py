import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.plan.device_tree import read_dtb_name, read_names, readable, tree_text
from speccompose.vocab.facts import RawFacts

NAMES = ("nvidia,p3737-0000+p3701-0005", "nvidia,p3701-0005", "nvidia,tegra234", "nvidia,tegra23x")


@given(
    separator=st.sampled_from(["\0", "\n", "\r\n", " ", ", ", "\t", ""]),
    suffix=st.sampled_from(["", "-a00", "-a01", "-super", "-nv-super"]),
    tail=st.sampled_from(["", "\0", "\n\n", "\0\0garbage", "\x07"]),
)
def test_any_separator_form_names_the_same_module(separator, suffix, tail):
    first, second, *rest = NAMES
    text = separator.join((first + suffix, second + suffix, *rest)) + tail
    names = read_names(text)
    assert (names.parts, names.soc) == (("p3701-0005",), "tegra234")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("nvidia,p3509-0000-a00+p3668-0000-a01\0nvidia,p3509-0000-a00+p3668-0001-a01", 2),
        ("nvidia,p3768-0000+p3767-0003\0nvidia,p3768-0000+p3767-0005\0nvidia,p3767-0003", 2),
        ("kernel_tegra264-p4071-0000+p3834-0000-nv.dtb", 1),
        ("NVIDIA,P3737-0000+P3701-0005", 1),
        ("raspberrypi,5-model-b", 0),
        ("nvidia,p37-00+p1-2", 0),
        ("", 0),
    ],
)
def test_carriers_are_no_modules(text, parts):
    found = read_names(text).parts
    assert len(found) == parts
    assert not {"p3509-0000", "p3768-0000", "p4071-0000", "p3737-0000"} & set(found)


def test_an_exact_soc_is_preferred_to_a_family_name():
    assert read_names("nvidia,tegra23x\0nvidia,tegra234").soc == "tegra234"
    assert read_names("nvidia,tegra23x").soc == "tegra23x"
    assert read_names("brcm,bcm2712").soc is None


def test_both_paths_name_the_same_file():
    for folder in ("/proc/device-tree/", "/sys/firmware/devicetree/base/"):
        facts = RawFacts(origin="test", files={folder + "model": "Board\0"})
        assert tree_text(facts, "model") == "Board\0"
    assert tree_text(RawFacts(origin="test"), "model") is None


def test_dtb_name_of_the_tree_and_of_the_boot_loader():
    old = RawFacts(
        origin="test",
        files={"/proc/device-tree/nvidia,dtsfilename": "tegra194-p2888-0001-p2822-0000.dts\0"},
    )
    assert read_dtb_name(old) == "tegra194-p2888-0001-p2822-0000.dts"
    loader = "LABEL a\n  FDT /boot/x-p3767-0005.dtb\nLABEL b\n\tFDT /boot/x-p3767-0005.dtb\n"
    new = RawFacts(origin="test", files={"/boot/extlinux/extlinux.conf": loader})
    assert read_dtb_name(new) == "/boot/x-p3767-0005.dtb"
    assert read_dtb_name(RawFacts(origin="test")) is None


@given(st.text())
def test_readable_text_is_one_clean_line(text):
    clean = readable(text)
    assert clean.isprintable()
    assert clean == clean.strip()
    assert "  " not in clean
