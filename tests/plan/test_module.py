import pytest

from speccompose.errors import BoardError
from speccompose.plan.detect import detect_device
from speccompose.plan.module import match_module
from speccompose.vocab.facts import RawFacts

TREE = "/sys/firmware/devicetree/base/"


def match(catalog, files=None, commands=None, memory_mib=None):
    texts = dict(files or {})
    if memory_mib is not None:
        texts["/proc/meminfo"] = f"MemTotal: {memory_mib * 1024} kB\n"
    facts = RawFacts(
        origin="test", files=texts, commands={"uname -m": "aarch64\n"} | (commands or {})
    )
    return match_module(detect_device(facts), catalog)


@pytest.mark.parametrize(
    ("soc", "memory_mib", "device"),
    [
        ("nvidia,tegra234", 62841, "agx-orin-64gb"),
        ("nvidia,tegra234", 30697, "agx-orin-32gb"),
        ("nvidia,tegra23x", 15643, "orin-nx-16gb"),
        ("nvidia,tegra234", 3390, "orin-nano-4gb"),
        ("nvidia,tegra264", 125772, "agx-thor-t5000"),
        ("nvidia,tegra264", None, "agx-thor-t4000"),
    ],
)
def test_a_soc_is_enough_where_memory_leaves_one_family(catalog, soc, memory_mib, device):
    found = match(catalog, {TREE + "compatible": soc}, memory_mib=memory_mib)
    assert found.profile.id == device


@pytest.mark.parametrize("memory_mib", [None, 7620])
def test_a_soc_of_several_families_is_asked_about(catalog, memory_mib):
    with pytest.raises(BoardError, match="not certain") as refused:
        match(catalog, {TREE + "compatible": "nvidia,tegra234"}, memory_mib=memory_mib)
    assert "compatible" in (refused.value.hint or "")


def test_a_chip_id_names_the_soc(catalog):
    found = match(catalog, {"/etc/nv_boot_control.conf": "TEGRA_CHIPID 0x26\n"}, memory_mib=125772)
    assert found.profile.id == "agx-thor-t5000"


def test_the_gpu_name_names_the_soc(catalog):
    found = match(
        catalog, commands={"nvidia-smi -L": "GPU 0: Orin (nvgpu) (UUID: 1)"}, memory_mib=62841
    )
    assert found.profile.id == "agx-orin-64gb"


@pytest.mark.parametrize("soc", ["tegra999", "tegra99x"])
def test_a_soc_that_is_not_listed_is_refused_whatever_the_model_says(catalog, soc):
    files = {TREE + "compatible": f"nvidia,{soc}", TREE + "model": "NVIDIA Jetson AGX Orin"}
    with pytest.raises(BoardError, match=soc):
        match(catalog, files, memory_mib=62841)


def test_the_smaller_memory_class_is_taken_with_a_warning(catalog):
    found = match(catalog, {TREE + "compatible": "nvidia,p3767-0000\0nvidia,p3767-0001"})
    assert found.profile.id == "orin-nx-8gb"
    assert [finding.code for finding in found.findings] == ["several_skus"]


def test_the_more_careful_family_is_taken_at_equal_memory(catalog):
    files = {TREE + "compatible": "nvidia,p3767-0003\0nvidia,p3767-0001"}
    assert match(catalog, files, memory_mib=7620).profile.id == "orin-nano-8gb"


def test_the_model_text_decides_between_part_numbers(catalog):
    files = {
        TREE + "compatible": "nvidia,p3767-0003\0nvidia,p3767-0001",
        TREE + "model": "NVIDIA Jetson Orin NX Developer Kit",
    }
    found = match(catalog, files, memory_mib=7620)
    assert (found.profile.id, found.findings) == ("orin-nx-8gb", ())


def test_every_module_is_refused_or_named_with_its_reason(catalog):
    for profile in catalog.devices.values():
        for part in profile.part_numbers:
            found = match(catalog, {TREE + "compatible": f"nvidia,{part}\0"})
            assert found.profile.family == profile.family
            assert part in found.decision.rule


@pytest.mark.parametrize("architecture", ["aarch64", "x86_64"])
def test_a_machine_that_is_neither_is_generic_and_named_as_such(catalog, architecture):
    found = match(catalog, commands={"uname -m": architecture})
    assert found.profile.family == "generic"
    assert found.profile.architecture == architecture
    assert [finding.code for finding in found.findings] == ["generic_device"]


@pytest.mark.parametrize("architecture", ["", "riscv64", "armv7l"])
def test_another_architecture_is_refused(catalog, architecture):
    with pytest.raises(BoardError, match="unknown board"):
        match(catalog, commands={"uname -m": architecture})
