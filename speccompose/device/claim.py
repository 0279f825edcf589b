"""A transaction's owner becomes the answer whether another rollout may touch the stack.

Layer: device (standard library, Python 3.8). The lock (``lock``) keeps processes apart and ends
with them; a rollout goes on between two of its processes, so its transaction is its claim. Only a
claim whose process has died may be taken over, and never one that still waits for its
confirmation: that one ends by itself.
"""

from __future__ import annotations

import getpass
import os
import re
import time
from typing import Optional

from speccompose.device.errors import LOCKED, USAGE, DeviceError
from speccompose.device.machine import Machine
from speccompose.device.record import UNCONFIRMED, Owner, Record

_ROLLOUT = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")


def owner_here(verb: str, rollout: Optional[str], machine: Machine) -> Owner:
    """This process, as others shall see it.

    Raises:
        DeviceError: status 2, when the rollout's id could be something else.
    """
    refuse_bad_id(rollout)
    return Owner(
        verb=verb,
        rollout=rollout,
        user=_user(),
        host=machine.host_name(),
        pid=os.getpid(),
        boot=machine.boot_id(),
        since=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(machine.wall_s())),
    )


def refuse_bad_id(rollout: Optional[str]) -> None:
    """A rollout's id stands in argument lists and units.

    Raises:
        DeviceError: status 2, when it could be something else.
    """
    if rollout is not None and _ROLLOUT.fullmatch(rollout) is None:
        raise DeviceError(
            USAGE,
            f"{rollout[:40]!r} is no rollout id",
            ["wanted: letters, digits and . _ : -, at most 128"],
            code="bad_rollout_id",
        )


def refuse_other(
    name: str, record: Record, rollout: Optional[str], machine: Machine, *, take_over: bool = False
) -> Optional[str]:
    """Refuse another rollout's open transaction; called with the stack's lock held.

    So its process has ended: whoever lives holds the lock. Returns what was taken over, in words;
    None when there was nothing to take over.

    Raises:
        DeviceError: status 12.
    """
    owner = record.owner
    if not record.is_open or owner is None or owner.rollout in (None, rollout):
        return None
    waits_s = _waits_s(record, machine)
    if waits_s > 0:
        raise _claimed(name, owner, f"confirm or roll it back, or wait {waits_s:.0f} s")
    if not take_over:
        raise _claimed(name, owner, "its process has died: --take-over ends it and goes on")
    return f"taken over from {owner.who}, which had died while {record.phase}"


def _waits_s(record: Record, machine: Machine) -> float:
    if record.phase != UNCONFIRMED or record.confirm_by is None:
        return 0.0
    return record.confirm_by.left_s(machine)


def _claimed(name: str, owner: Owner, hint: str) -> DeviceError:
    brief = f"stack {name} is in the middle of another rollout"
    return DeviceError(LOCKED, brief, [owner.who], hint, "claimed")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        return str(os.getuid())
