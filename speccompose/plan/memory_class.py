"""Modules and MemTotal: which nominal size does a reading belong to, and does it fit the label.

Part of stage 2 of 7. Pure. Memory is MemTotal, never a label (rules section 1).
"""

from collections.abc import Iterable

from speccompose.vocab.device import DeviceProfile

_LEAST_SHARE_PCT = 80


def memory_class(profile: DeviceProfile) -> int:
    """Nominal MiB of a module; 0 where the catalog has no memory for it."""
    return profile.memory.nominal_mib if profile.memory is not None else 0


def fits_class(profiles: Iterable[DeviceProfile], total_mib: int) -> tuple[DeviceProfile, ...]:
    """Profiles of the smallest size that MemTotal fits into; of the largest if it fits none."""
    known = [profile for profile in profiles if profile.memory is not None]
    sizes = sorted({memory_class(profile) for profile in known})
    if not sizes:
        return ()
    wanted = next((size for size in sizes if size >= total_mib), sizes[-1])
    return tuple(profile for profile in known if memory_class(profile) == wanted)


def agrees_with_label(profile: DeviceProfile, total_mib: int) -> bool:
    """Whether MemTotal is what a module of this size shows.

    Firmware and carve-outs take 4 to 11 % on the boards of the catalog, so anything from 80 % of
    the nominal size up to all of it agrees.
    """
    nominal = memory_class(profile)
    return not nominal or _LEAST_SHARE_PCT * nominal <= 100 * total_mib <= 100 * nominal
