"""This board's hub token, where it has one.

Layer: device (standard library, Python 3.8). One file, root's, put there once; a token never
travels in a bundle, an argument or a unit. Nor does it go to an address that somebody else
chose: who deploys names the hub, and need not be root.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from speccompose.device.small_file import read_small_text

USUAL_HUB = "https://huggingface.co"
TOKEN_FILE = Path("/etc/speccompose/hub-token")


def board_token(file: Path = TOKEN_FILE) -> Optional[str]:
    """The token; None without a readable file."""
    try:
        return read_small_text(file, 65536).strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def token_for(hub: str, file: Path = TOKEN_FILE) -> Optional[str]:
    """The token where the hub is the one that it is of; a site's mirror is asked without it."""
    return board_token(file) if hub.rstrip("/") == USUAL_HUB else None
