"""A file or a folder is on the disk, and not only in the kernel's memory.

Layer: device (standard library, Python 3.8). A power cut takes what was written in the last half
minute; a name may then stand on the disk before the bytes that it names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable

Sync = Callable[[Path], None]


def to_disk(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on the disk.

    Raises:
        OSError: the disk does not take them.
    """
    descriptor = os.open(str(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def tree_to_disk(folder: Path, sync: Sync = to_disk) -> None:
    """The same for a folder with all that is in it, the folder itself last."""
    for path in folder.rglob("*"):
        sync(path)
    sync(folder)
