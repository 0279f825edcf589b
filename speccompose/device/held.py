"""A hold file on the board becomes the answer that a deploy has to wait.

Layer: device (standard library, Python 3.8). Whoever needs the board undisturbed (an application
in the middle of its work, a person with a probe on it) makes the file ``<state>/hold``, or
``<state>/stacks/<name>.hold`` for one stack; what stands in it is the reason. Nothing that serves
is touched meanwhile. Going back, recovering and what serves already are not held.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from speccompose.device.errors import PENDING, DeviceError
from speccompose.device.paths import StackPaths
from speccompose.device.small_file import read_small_text

_SHOWN = 200


def hold_reason(paths: StackPaths) -> Optional[str]:
    """Why nothing may be deployed now, with the file that says so; None when it may."""
    board = paths.roots.state / "hold"
    for file in (board, paths.roots.stacks / f"{paths.name}.hold"):
        if file.exists() or file.is_symlink():
            return f"{file}: {_text(file)}"
    return None


def refuse_held(paths: StackPaths) -> None:
    """Put a deploy off while the board is held.

    Raises:
        DeviceError: status 13.
    """
    reason = hold_reason(paths)
    if reason is not None:
        raise DeviceError(
            PENDING,
            f"{paths.name} is deferred: this board is held",
            [reason],
            hint="deploy again when the file has gone",
            code="deferred",
        )


def _text(file: Path) -> str:
    try:
        words = read_small_text(file, 65536).split()
    except (OSError, UnicodeDecodeError):
        words = []
    return " ".join(words)[:_SHOWN] or "no reason given"
