"""A name that somebody else gave becomes a place inside one folder, or is refused.

Layer: device (standard library, Python 3.8). Hubs, mirrors and plans name files; we write them as
root. So a name is checked before it is used, and a folder before it is written in: a link inside
the models folder must not lead out of it. (The models folder itself may be a link, to another
disk.)
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from speccompose.device.errors import MISMATCH, DeviceError


def name_fault(name: str) -> Optional[str]:
    """Why a relative file name cannot be used as one; None when it can."""
    if not name.isprintable():
        return "it holds characters that cannot be shown"
    if "\\" in name:
        return "it holds a backslash"
    if name.startswith("/"):
        return "it is absolute"
    if any(part in ("", ".", "..") for part in name.split("/")):
        return "it has an empty part, '.' or '..'"
    return None


def must_lie_below(top: Path, path: Path) -> None:
    """Refuse a place that links take out of ``top``.

    Raises:
        DeviceError: status 19.
    """
    real_top, real = top.resolve(), path.resolve()
    if real_top != real and real_top not in real.parents:
        raise DeviceError(
            MISMATCH,
            f"{path} leads out of {top}",
            [f"it is {real}"],
            hint="remove the link; the models folder as a whole may lie on another disk",
            code="unsafe_name",
        )
