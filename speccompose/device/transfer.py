"""A response becomes blocks of bytes: never more than was listed, never slower than is any use.

Layer: device (standard library, Python 3.8). A socket's timeout only notices silence. A server that
sends a byte a minute, or sends for ever, is as broken as one that says nothing; it is cut too.
"""

from __future__ import annotations

import errno
import time
from contextlib import suppress
from http.client import HTTPResponse
from pathlib import Path
from typing import Callable, Iterator, Optional

BLOCK = 1 << 18
LEAST_BYTES = 64 * 1024
"""Within the time after which silence counts as a stall: a kilobyte a second by default."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CutError(Exception):
    """A transfer ended early; what came is kept for the next attempt."""


class TooLongError(CutError):
    """More came than was listed: what came is of something else."""


def blocks(
    response: HTTPResponse, window_s: float, have: int = 0, wanted: Optional[int] = None
) -> Iterator[bytes]:
    """The body, cut once it is longer than ``wanted`` (with ``have`` bytes before it) or too slow.

    Raises:
        CutError: it is; TooLongError for the length.
    """
    until, came = time.monotonic() + window_s, 0
    for block in iter(lambda: response.read1(BLOCK), b""):
        have, came = have + len(block), came + len(block)
        if wanted is not None and have > wanted:
            raise TooLongError(f"more than the {wanted} bytes came that were listed")
        now = time.monotonic()
        if now >= until:
            if came < LEAST_BYTES:
                raise CutError(f"only {came} bytes came in {window_s:g} s")
            until, came = now + window_s, 0
        yield block


def append(
    part: Path, coming: Iterator[bytes], heard: Callable[[bytes], None], resumed: bool
) -> None:
    """Let a partial file grow; one that is too long, or has filled the disk, is thrown away.

    Raises:
        CutError: as ``blocks``.
        OSError: it cannot be written, or the connection broke.
    """
    try:
        with part.open("ab" if resumed else "wb") as out:
            for block in coming:
                out.write(block)
                heard(block)
    except (OSError, TooLongError) as error:
        if isinstance(error, TooLongError) or error.errno in _NO_ROOM:
            with suppress(OSError):  # what serves needs the room more than the next attempt
                part.unlink()
        raise


def announced(response: HTTPResponse, have: int) -> Optional[int]:
    """The whole size, from what this response says it will bring; None when it does not say."""
    length = response.headers.get("Content-Length")
    return have + int(length) if length is not None and length.isdigit() else None
