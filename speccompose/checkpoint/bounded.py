"""A path somebody named -> its bytes or its JSON, within limits of size, or a clear refusal.

Layer: checkpoint. Every file of a checkpoint that is read whole passes through here: a 2 GB
config, a pipe, a loop of symbolic links or a file cut short ends in one `DataError` each.
"""

import stat
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from speccompose.catalog.plain_data import Plain
from speccompose.errors import DataError

MIB: Final = 1024 * 1024
CONFIG_LIMIT: Final = 8 * MIB
"""The largest real config.json (per-layer quantisation settings) is about 1 MiB."""
INDEX_LIMIT: Final = 32 * MIB
"""An index of 100000 tensors is about 10 MiB."""
TOKENIZER_LIMIT: Final = 48 * MIB
"""Gemma's tokenizer.json, the largest known, is 32 MiB."""
_POINTER = b"version https://git-lfs"

_Decoded = TypeVar("_Decoded")


def bad_checkpoint(brief: str, *details: str, hint: str | None = None) -> DataError:
    """Make the refusal of a checkpoint (status 3); files are named, ``inspect`` adds where.

    What comes out of a file is made printable: a name may hold anything.
    """
    told = tuple(printable(each) for each in details)
    return DataError(printable(brief), told, hint=hint, code="bad_checkpoint")


def printable(text: str) -> str:
    """The text with control characters spelled out."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def regular_size(path: Path) -> int:
    """Size in bytes of a regular file.

    Raises:
        DataError: it is not there, loops, may not be read, or is no regular file.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if not stat.S_ISREG(found.st_mode):
        raise bad_checkpoint(f"{path.name} is no regular file")
    return found.st_size


def read_bounded(path: Path, limit: int) -> bytes:
    """The whole file, at most ``limit`` bytes.

    Raises:
        DataError: it is larger, or cannot be read.
    """
    size = regular_size(path)
    if size > limit:
        raise bad_checkpoint(
            f"{path.name} is {size} bytes", f"at most {limit} are read of such a file: this is none"
        )
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    if len(content) > limit:
        raise bad_checkpoint(f"{path.name} grew beyond {limit} bytes while it was read")
    return content


def decode_json(content: bytes, path: Path, kind: type[_Decoded]) -> _Decoded:
    """JSON as the type that it must have.

    Raises:
        DataError: no JSON, of another shape, or nested without end.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        hint = "git-lfs has not fetched it" if is_pointer(content) else None
        raise bad_checkpoint(
            f"{path.name} is not usable JSON", str(error)[:200], hint=hint
        ) from None


def read_json(path: Path, limit: int, kind: type[_Decoded]) -> _Decoded:
    """``read_bounded``, then ``decode_json``.

    Raises:
        DataError: as they do.
    """
    return decode_json(read_bounded(path, limit), path, kind)


def decode_object(content: bytes, path: Path) -> dict[str, Plain]:
    """JSON as an object of whatever.

    Raises:
        DataError: no JSON, or no object.
    """
    data: Plain = decode_json(content, path, object)  # type: ignore[assignment]
    if not isinstance(data, dict):
        raise bad_checkpoint(f"{path.name} is not usable JSON", "wanted an object")
    return data


def read_object(path: Path, limit: int) -> dict[str, Plain]:
    """``read_bounded``, then ``decode_object``.

    Raises:
        DataError: as they do.
    """
    return decode_object(read_bounded(path, limit), path)


def is_pointer(content: bytes) -> bool:
    """Whether a file is the pointer that git leaves where git-lfs did not fetch."""
    return content.startswith(_POINTER)


def unreadable(path: Path, error: OSError | ValueError) -> DataError:
    """Make the refusal of a path that cannot be read."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return bad_checkpoint(f"cannot read {path.name}: {reason}")
