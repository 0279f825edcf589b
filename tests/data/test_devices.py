"""What must hold over the shipped boards, whatever board is added."""

from collections import Counter

import pytest

from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import DeviceProfile

CONTRACT_DEVICES = {
    "agx-thor-t5000": ("thor", "11.0", 4096, 0.75),
    "agx-thor-t4000": ("thor", "11.0", 4096, 0.75),
    "agx-orin-64gb": ("agx-orin", "8.7", 3072, 0.75),
    "agx-orin-32gb": ("agx-orin", "8.7", 3072, 0.75),
    "agx-orin-industrial": ("agx-orin", "8.7", 3072, 0.75),
    "orin-nx-16gb": ("orin-nx", "8.7", 2048, 0.60),
    "orin-nx-8gb": ("orin-nx", "8.7", 1280, 0.55),
    "orin-nano-8gb": ("orin-nano", "8.7", 1280, 0.55),
    "orin-nano-4gb": ("orin-nano", "8.7", 1024, 0.55),
    "dgx-spark": ("dgx-spark", "12.1", 8192, 0.80),
    "generic-x86-64": ("generic", None, None, None),
    "generic-arm64": ("generic", None, None, None),
}
"""Contract's device ids -> family, compute capability, OS reserve, ceiling (rules section 4)."""


REFUSED_FAMILIES = {"nano", "tx2", "xavier"}


def _supported(catalog: Catalog) -> list[DeviceProfile]:
    return [device for device in catalog.devices.values() if device.supported]


@pytest.mark.parametrize(("device_id", "facts"), CONTRACT_DEVICES.items())
def test_contract_device(
    catalog: Catalog,
    device_id: str,
    facts: tuple[str, str | None, int | None, float | None],
) -> None:
    family, capability, reserve, ceiling = facts
    device = catalog.devices[device_id]
    assert device.supported
    assert device.family == family
    assert catalog.socs[device.soc].compute_capability == capability
    assert (device.memory.os_reserve_mib if device.memory else None) == reserve
    assert device.serving.utilization_ceiling == ceiling


def test_file_names_are_ids_and_socs_exist(catalog: Catalog) -> None:
    for device_id, device in catalog.devices.items():
        assert device.id == device_id
        assert device.soc in catalog.socs, device_id


def test_only_contract_devices_are_supported(catalog: Catalog) -> None:
    assert {device.id for device in _supported(catalog)} == set(CONTRACT_DEVICES)


def test_refused_devices_say_what_to_do(catalog: Catalog) -> None:
    refused = [device for device in catalog.devices.values() if not device.supported]
    assert {device.family for device in refused} == REFUSED_FAMILIES
    for device in refused:
        assert device.refusal, device.id
        assert "Orin" in device.refusal, device.id
        assert device.part_numbers, device.id
        assert device.model_words, device.id


def test_supported_devices_have_memory_or_are_generic(catalog: Catalog) -> None:
    for device in _supported(catalog):
        if device.family == "generic":
            assert device.memory is None
            assert device.serving.start_floor_s == 60
            continue
        memory = device.memory
        assert memory is not None, device.id
        assert memory.os_reserve_mib < memory.usable_mib < memory.nominal_mib, device.id
        assert memory.usable_mib > 0.8 * memory.nominal_mib, device.id
        assert memory.bandwidth_gb_s, device.id
        assert device.serving.start_floor_s == 600, device.id
        if memory.usable_evidence == "inferred":
            assert "no MemTotal" in memory.source, device.id


def test_two_gib_of_headroom_remain_below_the_ceiling(catalog: Catalog) -> None:
    """With --device: ceiling x total fits into what is left after the OS and 2 GiB headroom."""
    for device in _supported(catalog):
        if device.memory is None or device.memory.nominal_mib <= 4096:
            continue
        total = device.memory.usable_mib
        bound = (total - device.memory.os_reserve_mib - 2048) / total
        assert device.serving.utilization_ceiling is not None
        assert device.serving.utilization_ceiling <= bound, device.id


def test_small_boards_take_no_separate_draft_and_no_vllm_by_default(catalog: Catalog) -> None:
    for device in _supported(catalog):
        small = device.family in ("orin-nx", "orin-nano")
        assert device.serving.separate_drafts is not small, device.id
        assert device.serving.context_tokens == (4096 if small else 8192), device.id
        sequences = 2 if device.family == "orin-nano" else 8
        assert device.serving.min_sequences == sequences, device.id
        tiny = device.memory is not None and device.memory.nominal_mib <= 8192
        assert device.serving.vllm_by_default is not tiny, device.id


def test_part_numbers_name_one_device_but_p3701_0000(catalog: Catalog) -> None:
    owners: dict[str, set[str]] = {}
    for device in catalog.devices.values():
        for part in device.part_numbers:
            owners.setdefault(part, set()).add(device.id)
    shared = {part: ids for part, ids in owners.items() if len(ids) > 1}
    assert shared == {"p3701-0000": {"agx-orin-64gb", "agx-orin-32gb"}}


def test_part_numbers_belong_to_the_boards_of_their_device(catalog: Catalog) -> None:
    for device in catalog.devices.values():
        assert {part[:5] for part in device.part_numbers} == set(device.boards), device.id


def test_a_board_id_names_one_soc(catalog: Catalog) -> None:
    socs: dict[str, set[str]] = {}
    for device in catalog.devices.values():
        for board in device.boards:
            socs.setdefault(board, set()).add(device.soc)
    assert all(len(names) == 1 for names in socs.values()), socs


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("NVIDIA Jetson AGX Thor Developer Kit", "thor"),
        ("Jetson AGX Orin", "agx-orin"),
        ("NVIDIA IGX Orin Developer Kit", "agx-orin"),
        ("NVIDIA Orin NX Developer Kit", "orin-nx"),
        ("NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super", "orin-nano"),
        ("NVIDIA Jetson Orin Nano Developer Kit", "orin-nano"),
        ("NVIDIA Jetson Nano Developer Kit", "nano"),
        ("NVIDIA Jetson Xavier NX Developer Kit", "xavier"),
    ],
)
def test_model_words_name_exactly_one_family(catalog: Catalog, text: str, family: str) -> None:
    found = {
        device.family
        for device in catalog.devices.values()
        for words in device.model_words
        if all(word in text.lower() for word in words)
    }
    assert found == {family}


def test_model_words_are_lower_case(catalog: Catalog) -> None:
    for device in catalog.devices.values():
        for words in device.model_words:
            assert words, device.id
            assert all(word == word.lower() for word in words), device.id


def test_power_modes_are_unique_with_one_boot_default(catalog: Catalog) -> None:
    for device in catalog.devices.values():
        keys = Counter((mode.profile, mode.id) for mode in device.power_modes)
        assert all(count == 1 for count in keys.values()), device.id
        defaults = Counter(mode.profile for mode in device.power_modes if mode.boot_default)
        assert all(count == 1 for count in defaults.values()), device.id
        assert not device.power_modes or device.power_source, device.id


def test_mode_0_is_the_top_mode_but_on_orin_nano(catalog: Catalog) -> None:
    for device in catalog.devices.values():
        for mode in device.power_modes:
            if mode.id == 0:
                is_top = mode.name.startswith("MAXN")
                assert is_top is (device.family != "orin-nano"), device.id
