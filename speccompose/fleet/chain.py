"""Journal lines and their hash chain: bytes of one line -> entry, and back. Pure.

Layer: fleet. Every line ends with the hash over the previous line's hash and its own bytes, so a
changed, missing or reordered line is found. A last line without its end was torn by a crash and
never counted.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from speccompose.errors import MismatchError
from speccompose.vocab.base import Frozen
from speccompose.vocab.rollout_journal import Entry

START: Final = "0" * 64
_TAIL: Final = len(',"hash":""}\n') + 64
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Entry)


class ReadJournal(Frozen, frozen=True, kw_only=True):
    """What a journal's bytes hold; ``size`` is where the last whole line ends."""

    entries: tuple[Entry, ...]
    head: str
    size: int
    torn: bool


def line_of(entry: Entry, head: str) -> tuple[bytes, str]:
    """One line with its newline, and the hash that the next one hangs on."""
    body = _ENCODER.encode(entry)
    link = hashlib.sha256(head.encode() + body).hexdigest()
    return _with_link(body, link), link


def _with_link(body: bytes, link: str) -> bytes:
    return body[:-1] + b',"hash":"' + link.encode() + b'"}\n'


def read_chain(content: bytes, origin: str) -> ReadJournal:
    """All entries of a journal.

    Raises:
        MismatchError: a line was changed, is missing, or is no line of a journal (status 19).
    """
    end = content.rfind(b"\n") + 1
    entries: list[Entry] = []
    head = START
    for number, raw in enumerate(_lines(content[:end]), start=1):
        body = raw[:-_TAIL] + b"}"
        head = hashlib.sha256(head.encode() + body).hexdigest()
        if raw != _with_link(body, head):
            raise _broken(origin, number, "it was changed, or a line before it is missing")
        try:
            entries.append(_DECODER.decode(body))
        except msgspec.MsgspecError as error:
            raise _broken(origin, number, str(error)) from error
    return ReadJournal(entries=tuple(entries), head=head, size=end, torn=len(content) > end)


def _lines(content: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(content):
        end = content.index(b"\n", start) + 1
        yield content[start:end]
        start = end


def _broken(origin: str, number: int, why: str) -> MismatchError:
    return MismatchError(
        f"{origin} line {number} does not hold",
        [why],
        hint="nothing was started; keep the file, and probe the boards for what is true",
        code="journal_tampered",
    )
