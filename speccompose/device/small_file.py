"""A path becomes the bytes of a small regular file, or an OSError that says why not.

Layer: device (standard library, Python 3.8). A pipe or a device in the place of a file would hold
up whoever reads it for ever, and a huge file would eat the board's memory: neither is read.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

SMALL_BYTES = 16 * 1024 * 1024
"""More than any plan, state file or list of sums has."""


def read_small(path: Path, most: int = SMALL_BYTES) -> bytes:
    """Read a regular file (links are followed) of at most ``most`` bytes.

    Raises:
        OSError: it cannot be read, is no regular file (EINVAL), or is larger (EFBIG).
    """
    descriptor = os.open(str(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as source:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        content = source.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
    return content


def read_small_text(path: Path, most: int = SMALL_BYTES) -> str:
    """The same as text.

    Raises:
        OSError: as ``read_small``.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_small(path, most).decode("utf-8")
