"""A resolved board -> its class (SoC x memory x L4T major) and the memory its class plans with.

Layer: fleet. Pure. The one place that says what two boards must share to stand for each other.
"""

from typing import Final

import msgspec

from speccompose.plan.memory_class import agrees_with_label, memory_class
from speccompose.vocab.facts import RawFacts, ResolvedDevice
from speccompose.vocab.rollout_plan import BoardClass

_MIB_PER_GIB: Final = 1024
_STEP_MIB: Final = 256


def board_class(device: ResolvedDevice) -> BoardClass:
    """The class. Memory is MemTotal, never a label: the module's size only where both agree."""
    nominal = memory_class(device.profile)
    if nominal and agrees_with_label(device.profile, device.memory_mib):
        gib = nominal // _MIB_PER_GIB
    else:
        gib = -(-device.memory_mib // _MIB_PER_GIB)
    major = int(device.l4t.split(".")[0]) if device.l4t else None
    return BoardClass(soc=device.soc.id, memory_gib=gib, l4t_major=major)


def class_facts(facts: RawFacts, device: ResolvedDevice, class_id: str) -> RawFacts:
    """The facts that a stack for the class is planned from: those of one board without what
    differs between two boards of a class, and between two readings of one board."""
    if device.profile.memory is None or device.from_profile:
        return facts
    total = f"MemTotal: {device.memory_mib * _MIB_PER_GIB} kB\n"
    files = {**facts.files, "/proc/meminfo": total}
    return msgspec.structs.replace(facts, origin=f"class {class_id}", files=files)


def class_available_mib(device: ResolvedDevice) -> int | None:
    """What every board of a class is planned with, in MiB: MemTotal less the module's OS reserve,
    rounded down to 256 MiB, as with --device (rules section 4). It is what planning from
    ``class_facts`` comes to.

    MemAvailable of a board that serves already is what its own stack left over, and differs from
    board to board by a little; planning with it would give every board a stack of its own. It
    stays a gate: a board that has less at start refuses (15). None for a machine whose module
    has no reserve in the catalog: there the facts file's own figure is all that is known.
    """
    memory = device.profile.memory
    if memory is None:
        return None
    return max(device.memory_mib - memory.os_reserve_mib, 0) // _STEP_MIB * _STEP_MIB
