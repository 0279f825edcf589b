"""A stream becomes the members of a plain tar, one after the other, never more than announced.

Layer: device (standard library, Python 3.8). Only what `speccompose bundle` writes is read: regular
files in headers of one block. Links, devices, folders and the extension headers of tar, through
which a file that nobody has vouched for yet could ask for any amount of memory, are refused.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import BinaryIO, Callable, NamedTuple, Optional

from speccompose.device.errors import DATA, DeviceError

BLOCK = 512
_CHUNK = 1 << 20
_REGULAR = (b"0", b"\0")
_HINT = "copy it again; compare its size and sha256 with the original's"


class Member(NamedTuple):
    """A regular file: its name, and how many bytes follow."""

    name: str
    size: int


class TarReader:
    """Reads a stream once, from front to back."""

    def __init__(self, source: BinaryIO, heard: Callable[[int], None] = lambda count: None) -> None:
        self._source = source
        self._heard = heard
        self._left = 0
        self._padding = 0

    def next(self) -> Optional[Member]:
        """The next member; None at the archive's end. What was not read is skipped.

        Raises:
            DeviceError: status 3 for what is no such archive, or ends too early.
        """
        while self._left:
            self._read(min(self._left, _CHUNK))
        self._exactly(self._padding)
        self._padding = 0
        header = self._exactly(BLOCK)
        if not header.strip(b"\0"):
            return None
        member = _parse(header)
        self._left, self._padding = member.size, -member.size % BLOCK
        return member

    def content(self, member: Member, most: int) -> bytes:
        """The whole of a small member.

        Raises:
            DeviceError: status 3; it is larger, or ends too early.
        """
        if member.size > most:
            raise bad_bundle(f"{member.name} has {member.size} bytes; at most {most} are taken")
        return b"".join(iter(lambda: self._read(_CHUNK), b""))

    def copy(self, target: Optional[Path]) -> str:
        """The sha256 of the current member, which is written to ``target`` when that is given.

        Raises:
            DeviceError: status 3; it ends too early.
            OSError: it cannot be written.
        """
        digest = hashlib.sha256()
        if target is None:
            for block in iter(lambda: self._read(_CHUNK), b""):
                digest.update(block)
            return digest.hexdigest()
        with target.open("xb") as file:
            for block in iter(lambda: self._read(_CHUNK), b""):
                digest.update(block)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        return digest.hexdigest()

    def _read(self, most: int) -> bytes:
        """The next bytes of the current member; none at its end."""
        if not self._left:
            return b""
        block = self._source.read(min(most, self._left))
        if not block:
            raise bad_bundle("it ends too early")
        self._left -= len(block)
        self._heard(len(block))
        return block

    def _exactly(self, count: int) -> bytes:
        data = self._source.read(count) if count else b""
        while len(data) < count:
            more = self._source.read(count - len(data))
            if not more:
                raise bad_bundle("it ends too early")
            data += more
        return data


def bad_bundle(*facts: str) -> DeviceError:
    """Status 3: it cannot be read as what it should be."""
    return DeviceError(DATA, "this is no bundle, or a damaged one", facts, _HINT, "bad_bundle")


def _parse(header: bytes) -> Member:
    stated = _octal(header[148:156])
    if stated != sum(header[:148]) + 8 * 0x20 + sum(header[156:]):
        raise bad_bundle("a header of the archive is damaged")
    name = header[:100].split(b"\0", 1)[0].decode("utf-8", "replace")
    if header[156:157] not in _REGULAR:
        raise bad_bundle(f"{name!r} is no plain file")
    return Member(name, _size(header[124:136]))


def _size(field: bytes) -> int:
    if field[0] == 0x80:  # beyond 8 GiB a tar counts in binary
        return int.from_bytes(field[4:], "big")
    return _octal(field)


def _octal(field: bytes) -> int:
    text = field.strip(b" \0")
    if not text.isdigit() or b"8" in text or b"9" in text:
        raise bad_bundle("a header of the archive is damaged")
    return int(text, 8)
