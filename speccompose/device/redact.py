"""Text becomes text without secrets, before anybody prints or stores it.

Layer: device (standard library, Python 3.8). Hub tokens are known by their form, API keys by
their value.
"""

from __future__ import annotations

import re
from typing import Sequence

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
