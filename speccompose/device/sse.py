"""Bytes of a server-sent event stream become the payloads of its events.

Layer: device (standard library, Python 3.8). Pure. Pieces may be cut anywhere, even inside a
character or between CR and LF; an event is given out when its blank line has come.
"""

from __future__ import annotations

from typing import List

_DATA = b"data:"


class EventReader:
    """Collects bytes and gives out the data of whole events, in order."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: List[bytes] = []

    def feed(self, piece: bytes) -> List[bytes]:
        """Take the next bytes; return the payloads of the events that they complete.

        Lines that carry no data (comments, ids, names) are skipped; several data lines of one
        event are joined by a line feed, as the format says.
        """
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        events: List[bytes] = []
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if line.startswith(_DATA):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line and self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data = []
        return events

    @property
    def unfinished(self) -> bytes:
        """What came after the last whole event: an error page, or half an event."""
        return b"\n".join(self._data + ([self._rest] if self._rest else []))
