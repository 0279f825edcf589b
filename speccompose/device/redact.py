"""Text becomes text without secrets, before anybody prints or stores it.

Layer: device (standard library, Python 3.8). Hub tokens are known by their form, API keys by
their value.
"""

from __future__ import annotations

import re
from typing import Callable, Sequence

_HUB_TOKEN = re.compile(r"hf_[A-Za-z0-9]{6,}")
_BEARER = re.compile(r"(?i)(authorization: *bearer +|--api-key[ =]+)\S+")
_SHORTEST_KEY = 4


def redact(text: str, keys: Sequence[str] = ()) -> str:
    """Replace tokens, bearer headers and the given keys by stars."""
    text = _HUB_TOKEN.sub("hf_***", text)
    text = _BEARER.sub(r"\1***", text)
    for key in keys:
        if len(key) >= _SHORTEST_KEY:
            text = text.replace(key, "***")
    return text


class RedactedLines:
    """Text in pieces becomes whole lines without secrets: one that is cut in two is seen too."""

    def __init__(self, on_text: Callable[[str], None], keys: Sequence[str] = ()) -> None:
        self._on_text = on_text
        self._keys = keys
        self._rest = ""

    def feed(self, text: str) -> None:
        """Take the next piece and hand on all lines that it completes."""
        whole, newline, self._rest = (self._rest + text).rpartition("\n")
        if newline:
            self._on_text(redact(whole + newline, self._keys))

    def finish(self) -> None:
        """Hand on a last line without an end."""
        if self._rest:
            self._on_text(redact(self._rest, self._keys))
            self._rest = ""
