"""A file that somebody named -> its bytes or text: regular files only, and never without bound.

Layer: catalog, so that its own readers, world and cli share it. A FIFO would wait for ever, a
device like /dev/zero never ends, and opening some devices already does something.
"""

import errno
import os
import stat
from pathlib import Path
from typing import Final

from speccompose.catalog.plain_data import MAX_BYTES
from speccompose.errors import UsageError

_KINDS: Final = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISFIFO, "it is a pipe"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)


def expanded(name: str) -> Path:
    """The path that somebody wrote, with ~ and ~user as their homes.

    Raises:
        UsageError: there is no such user.
    """
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise UsageError(
            f"{name}: there is no such user here",
            hint="name the file from / on",
            code="no_such_home",
        ) from None


def read_regular(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file; links are followed.

    Raises:
        OSError: it is no regular file, is larger than ``limit`` bytes, or cannot be read;
            ``strerror`` says which.
    """
    return _whole(path, read_start(path, limit), limit)


def read_start(path: Path, limit: int = MAX_BYTES) -> bytes:
    """At most one byte more than ``limit`` of a regular file, for parsers that tell its size.

    Raises:
        OSError: it is no regular file, or cannot be read.
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "a file name holds no NUL", str(path).replace("\0", "\\0"))
    _require_regular(path, path.stat())
    # It may have been replaced since: not to block on a pipe, and look again at what was opened.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        _require_regular(path, os.fstat(descriptor))
        return file.read(limit + 1)


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """The text of a regular file, line ends as they are read by people: CR LF becomes LF.

    Raises:
        OSError: as ``read_regular``; also (EILSEQ) when it is not UTF-8.
    """
    content = read_regular(path, limit)
    try:
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "not UTF-8 text", str(path)) from None


def _require_regular(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((text for is_kind, text in _KINDS if is_kind(found.st_mode)), "it is special")
        raise OSError(errno.EINVAL, f"not a regular file, {kind}", str(path))


def _whole(path: Path, content: bytes, limit: int) -> bytes:
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes", str(path))
    return content
