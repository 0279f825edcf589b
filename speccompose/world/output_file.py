"""Text or bytes -> a file that the user named: all of it or nothing, where a file may stand.

Layer: world.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from speccompose.errors import UsageError

HINT = "name a file in a folder that you may write to, on a disk with room"


def write_output(text: str, file: Path) -> None:
    """Write the file whole; a link is followed, so that what it points at gets the text.

    Raises:
        UsageError: something else than a regular file is there, or it cannot be written.
    """
    with open_output(file) as target:
        target.write(text.encode("utf-8"))


@contextmanager
def open_output(file: Path) -> Iterator[BinaryIO]:
    """The same for what does not fit into memory: it gets its name once the block has ended.

    Raises:
        UsageError: as ``write_output``.
    """
    place = Path(os.path.realpath(file))
    try:
        mode = _mode_of(place, file)
        part = place.with_name(f".{place.name}.{os.getpid()}.part")
        try:
            with _new(part, mode) as target:
                yield target
                target.flush()
                os.fsync(target.fileno())
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write {file}: {error.strerror}", hint=HINT, code="save_failed"
        ) from None


def _mode_of(place: Path, named: Path) -> int | None:
    """Permissions of the file that is replaced; None when there is none yet."""
    try:
        found = place.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise UsageError(
            f"cannot write {named}: it is {kind}",
            hint="name a file; to see the text instead, leave the option out",
            code="save_failed",
        )
    return stat.S_IMODE(found.st_mode)


def _new(part: Path, mode: int | None) -> BinaryIO:
    """A new file only: what another user put under this name is never followed."""
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    if mode is not None:
        os.fchmod(descriptor, mode)
    return open(descriptor, "wb")
