import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.plan.board_memory import memory_of_facts, memory_of_profile
from speccompose.plan.detect import detect_device
from speccompose.vocab.facts import RawFacts


def detected(**kib):
    text = "".join(f"{name}: {value} kB\n" for name, value in kib.items())
    files = {"/proc/meminfo": text} if kib else {}
    return detect_device(RawFacts(origin="test", files=files))


@given(total=st.integers(1024, 2**31), available=st.integers(0, 2**31))
def test_available_is_rounded_down_and_the_rest_is_reserve(catalog, total, available):
    facts = detected(MemTotal=total, MemAvailable=available)
    memory = memory_of_facts(facts, catalog.devices["agx-orin-64gb"])
    assert memory.total_mib == total // 1024
    assert memory.available_mib == min(available // 1024, total // 1024) // 256 * 256
    assert memory.os_reserve_mib == memory.total_mib - memory.available_mib >= 0


@pytest.mark.parametrize(
    ("device", "reserve"),
    [
        ("orin-nano-8gb", 1280),
        ("orin-nx-8gb", 1280),
        ("orin-nx-16gb", 2048),
        ("agx-orin-32gb", 3072),
        ("agx-orin-64gb", 3072),
        ("agx-thor-t5000", 4096),
        ("dgx-spark", 8192),
    ],
)
def test_a_named_device_keeps_the_rules_reserve(catalog, device, reserve):
    profile = catalog.devices[device]
    memory = memory_of_profile(profile)
    assert memory.total_mib == profile.memory.usable_mib
    assert memory.os_reserve_mib == reserve


def test_without_memavailable_the_reserve_is_kept(catalog):
    memory = memory_of_facts(detected(MemTotal=16018432), catalog.devices["orin-nx-16gb"])
    assert memory.available_mib == (15643 - 2048) // 256 * 256


def test_a_generic_machine_without_memavailable_has_what_is_free(catalog):
    generic = catalog.devices["generic-x86-64"]
    assert (
        memory_of_facts(detected(MemTotal=8388608, MemFree=4194304), generic).available_mib == 4096
    )
    assert memory_of_facts(detected(MemTotal=8388608), generic).available_mib == 0


def test_without_meminfo_the_profile_stands_in_with_a_warning(catalog):
    profile = catalog.devices["orin-nano-8gb"]
    memory = memory_of_facts(detected(), profile)
    assert memory.from_profile
    assert memory.total_mib == profile.memory.usable_mib
    assert [finding.code for finding in memory.findings] == ["memory_not_read"]
