"""This board's hub token, where it has one.

Layer: device (standard library, Python 3.8). One file, root's, put there once; a token never
travels in a bundle, an argument or a unit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from speccompose.device.small_file import read_small_text

TOKEN_FILE = Path("/etc/speccompose/hub-token")


def board_token(file: Path = TOKEN_FILE) -> Optional[str]:
    """The token; None without a readable file."""
    try:
        return read_small_text(file, 65536).strip() or None
    except (OSError, UnicodeDecodeError):
        return None
