"""Releases, SoCs and devices -> what contradicts in them.

Layer: catalog. Part of ``crosscheck``.
"""

from collections.abc import Iterator
from itertools import pairwise

from speccompose.catalog.problem import Mistake
from speccompose.catalog.tables import Contradiction, Tables, bad_range, repeated, unknown
from speccompose.vocab.device import DeviceProfile
from speccompose.vocab.versions import version_key, within


def check_releases(tables: Tables) -> Iterator[Contradiction]:
    """L4T versions stand once, oldest first."""
    path = ("releases",)
    rows = tables.releases
    mistakes = [*repeated(path, rows, lambda row: row.l4t, "each L4T", "l4t")]
    for index, (row, after) in enumerate(pairwise(rows)):
        if version_key(row.l4t) > version_key(after.l4t):
            expected = f"expected rows oldest first, {after.l4t} stands after {row.l4t}"
            mistakes.append(Mistake((*path, index + 1, "l4t"), expected))
    for mistake in mistakes:
        yield Contradiction("release", "releases", mistake)


def check_socs(tables: Tables) -> Iterator[Contradiction]:
    """Each SoC stands once."""
    for mistake in repeated(("socs",), tables.socs, lambda soc: soc.id, "each SoC", "id"):
        yield Contradiction("soc", "socs", mistake)


def check_devices(tables: Tables) -> Iterator[Contradiction]:
    """Each device by itself, then part numbers across devices."""
    for device in tables.devices.values():
        for mistake in (
            *_references(device, tables),
            *_completeness(device),
            *_memory(device),
            *_power_modes(device),
        ):
            yield Contradiction("device", device.id, mistake)
    yield from _part_numbers(tables)


def _references(device: DeviceProfile, tables: Tables) -> Iterator[Mistake]:
    if tables.socs:
        yield from unknown(("soc",), device.soc, [soc.id for soc in tables.socs], "a SoC")
    empty = [*bad_range((), ("l4t_min", device.l4t_min), ("l4t_below", device.l4t_below))]
    yield from empty
    if empty or not device.supported or not device.soc.startswith("tegra") or not tables.releases:
        return
    listed = [row for row in tables.releases if row.listed and device.family in row.families]
    if not any(within(row.l4t, device.l4t_min, device.l4t_below) for row in listed):
        expected = f"expected a listed release that {device.id} runs, releases.yaml has none"
        yield Mistake(("family",), expected)


def _completeness(device: DeviceProfile) -> Iterator[Mistake]:
    """A supported board needs memory (a generic machine's is only known from it), a refused one
    the reason."""
    if device.supported and device.memory is None and device.family != "generic":
        yield Mistake((), "expected the key memory: a supported device is sized by it")
    if not device.supported and device.refusal is None:
        yield Mistake((), "expected the key refusal: what to tell owners of such a board")
    if device.supported and device.refusal is not None:
        yield Mistake(("refusal",), "expected no refusal, the device is supported", at_key=True)


def _memory(device: DeviceProfile) -> Iterator[Mistake]:
    memory = device.memory
    if memory is None:
        return
    if memory.usable_mib > memory.nominal_mib:
        expected = f"expected at most nominal_mib, {memory.nominal_mib}"
        yield Mistake(("memory", "usable_mib"), expected)
    if memory.os_reserve_mib >= memory.usable_mib:
        expected = f"expected less than usable_mib, {memory.usable_mib}"
        yield Mistake(("memory", "os_reserve_mib"), expected)


def _power_modes(device: DeviceProfile) -> Iterator[Mistake]:
    """Ids are unique within a profile (stock, super), and one mode at most is the boot default."""
    path = ("power_modes",)
    modes = device.power_modes
    yield from repeated(path, modes, lambda mode: (mode.profile, mode.id), "each mode id", "id")
    profiles: set[str] = set()
    for index, mode in enumerate(modes):
        if mode.boot_default and mode.profile in profiles:
            expected = f"expected one boot default in the profile {mode.profile}"
            yield Mistake((*path, index, "boot_default"), expected)
        if mode.boot_default:
            profiles.add(mode.profile)


def _part_numbers(tables: Tables) -> Iterator[Contradiction]:
    """A part number names one module; only memory sizes of one family may share it."""
    owners: dict[str, DeviceProfile] = {}
    for device in tables.devices.values():
        for index, part in enumerate(device.part_numbers):
            owner = owners.setdefault(part, device)
            if owner is not device and not _differ_by_memory(owner, device):
                expected = f"expected a part number of this device alone, {owner.id} has it too"
                hint = "devices of one family may share it when their memory differs"
                mistake = Mistake(("part_numbers", index), expected, hint)
                yield Contradiction("device", device.id, mistake)


def _differ_by_memory(one: DeviceProfile, other: DeviceProfile) -> bool:
    if one.family != other.family or one.memory is None or other.memory is None:
        return False
    return one.memory.nominal_mib != other.memory.nominal_mib
