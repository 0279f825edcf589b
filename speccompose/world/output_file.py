"""Text -> a file that the user named, all of it or nothing, and only where a file may stand.

Layer: world.
"""

import os
import stat
from pathlib import Path

from speccompose.errors import UsageError

HINT = "name a file in a folder that you may write to, on a disk with room"


def write_output(text: str, file: Path) -> None:
    """Write the file whole; a link is followed, so that what it points at gets the text.

    Raises:
        UsageError: something else than a regular file is there, or it cannot be written.
    """
    place = Path(os.path.realpath(file))
    try:
        mode = _mode_of(place, file)
        part = place.with_name(f".{place.name}.{os.getpid()}.part")
        try:
            _write_new(part, text, mode)
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


def _write_new(part: Path, text: str, mode: int | None) -> None:
    """A new file only: what another user put under this name is never followed."""
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with open(descriptor, "w", encoding="utf-8") as file:
        if mode is not None:
            os.fchmod(descriptor, mode)
        file.write(text)
        file.flush()
        os.fsync(descriptor)
