"""What the operating system says about files becomes a refusal with its status.

Layer: device (standard library, Python 3.8). A full disk is no bug of ours.
"""

from __future__ import annotations

from typing import Union

from speccompose.device.errors import DEPLOY, PREFLIGHT, DeviceError


def told(cause: Union[DeviceError, OSError]) -> DeviceError:
    """Status 8: the disk may fill up, or whoever listens may go, in the middle of a deploy."""
    if isinstance(cause, DeviceError):
        return cause
    return DeviceError(
        DEPLOY,
        "a file of this board cannot be read or written",
        [str(cause)],
        hint="free some disk, then deploy again",
        code="file_fault",
    )


def unwritable(brief: str, error: OSError) -> DeviceError:
    """Status 15: the state tree cannot be written, and nothing that serves has been changed."""
    return DeviceError(
        PREFLIGHT,
        brief,
        [str(error)],
        hint="free some disk, or run as root",
        code="state_unwritable",
    )
