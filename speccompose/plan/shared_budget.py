"""What other stacks of the board were planned with is not there for this one.

Part of stage 2 of 7. Pure. Several stacks on one board share one budget (rules section 4): all
their plans together stay within MemTotal less the system's reserve, whatever MemAvailable says.
"""

import msgspec

from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision


def leave_to_others(device: ResolvedDevice, elsewhere_mib: int) -> ResolvedDevice:
    """The device with at most what is left beside ``elsewhere_mib`` of other stacks' plans."""
    memory = device.profile.memory
    reserve = memory.os_reserve_mib if memory is not None else 0
    left = max(device.memory_mib - reserve - elsewhere_mib, 0)
    if not elsewhere_mib or device.available_mib <= left:
        return device
    decision = Decision(
        subject="available memory",
        value=f"{left} MiB",
        rule=f"other stacks of this board were planned with {elsewhere_mib} MiB",
        source="rules section 4",
    )
    return msgspec.structs.replace(
        device,
        available_mib=left,
        os_reserve_mib=device.memory_mib - left,
        decisions=(*device.decisions, decision),
    )
