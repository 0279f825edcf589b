"""The on-board program of a release becomes the board's own, which units and timers call.

Layer: device (standard library, Python 3.8). Each release carries the program of the speccompose
that rendered it; the board-wide units need one that stays, and the newest one, because state files
of a newer version are not an older one's to read. It is one file, replaced in one step.
"""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path
from typing import NamedTuple, Optional, Tuple, Union

from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.small_file import read_small
from speccompose.device.state import write_atomic

PROGRAM = Path("/usr/local/lib/speccompose/check")
VERSION_ENTRY = "VERSION"
"""A file in the zip: its version, as text."""

_MODE = 0o755
_VERSION = re.compile(r"^(\d+(?:\.\d+)*)(.*)$")
Order = Tuple[Tuple[int, ...], int, str]


class Installed(NamedTuple):
    """What was done with the board's program: its versions before and after."""

    changed: bool
    version: Optional[str]
    before: Optional[str]

    @property
    def kept_newer(self) -> bool:
        """Whether the one that was there is newer, and stayed."""
        return not self.changed and self.version != self.before


def program_version(path: Path) -> Optional[str]:
    """The version that an on-board program says it has; None when it is none, or says none."""
    try:
        with zipfile.ZipFile(str(path)) as archive:
            return archive.read(VERSION_ENTRY).decode("ascii").strip() or None
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, UnicodeDecodeError):
        return None


def install_program(source: Path, target: Path = PROGRAM, *, force: bool = False) -> Installed:
    """Put a program where units look for it, unless a newer one is there.

    One of the same version is replaced when its bytes differ. ``force`` takes an older one too.

    Raises:
        DeviceError: status 15 when it cannot be read or written.
    """
    version, before = program_version(source), program_version(target)
    try:
        content = read_small(source)
        if _same(target, content):
            return Installed(False, version, version)
        if not force and version_order(before) > version_order(version):
            return Installed(False, version, before)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, content, _MODE)
    except OSError as error:
        raise DeviceError(
            PREFLIGHT,
            f"cannot install the on-board program at {target}",
            [str(error)],
            hint="run as root",
            code="program_unwritable",
        ) from error
    return Installed(True, version, before)


def version_order(version: Optional[str]) -> Order:
    """Versions in order: none, '0.2.0.dev1', '0.2.0rc1', '0.2.0', '0.2.0.post1', '0.10.0'."""
    found = _VERSION.match(version or "")
    if found is None:
        return (), 0, ""
    numbers = [int(part) for part in found.group(1).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    rest = found.group(2).lstrip(".-")
    after = 2 if rest.startswith(("post", "+")) else 0 if rest else 1
    return tuple(numbers), after, rest


def _same(target: Path, content: bytes) -> bool:
    try:
        mode: Union[int, None] = os.stat(str(target)).st_mode & 0o777
        return mode == _MODE and not target.is_symlink() and read_small(target) == content
    except OSError:
        return False
