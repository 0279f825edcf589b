"""What a bundle and this board say about where weights come from.

Layer: device (standard library, Python 3.8). release.json of a received folder may name its site's
model mirror; the hub token is the board's own (one file, root's), never a part of a bundle.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Optional

from speccompose.device.counter import RELEASE_FILE
from speccompose.device.errors import DATA, DeviceError
from speccompose.device.incoming import incoming_folder
from speccompose.device.paths import Roots
from speccompose.device.small_file import read_small_text

TOKEN_FILE = Path("/etc/speccompose/hub-token")


def hub_of(name: str, digest: Optional[str], roots: Roots) -> Optional[str]:
    """The model hub or mirror that the bundle names; None for the usual one.

    Raises:
        DeviceError: status 3 when release.json is none, or names something that is no address.
    """
    if digest is None:
        return None
    file = incoming_folder(name, digest, roots) / RELEASE_FILE
    try:
        hub = json.loads(read_small_text(file)).get("hub")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise DeviceError(DATA, f"cannot read {file}", [str(error)], code="bad_release") from None
    if hub is None:
        return None
    if not isinstance(hub, str) or not hub.startswith(("http://", "https://")):
        raise DeviceError(DATA, f"{file}: {hub!r} is no hub's address", code="bad_release")
    return hub


def board_token(file: Path = TOKEN_FILE) -> Optional[str]:
    """This board's hub token; None without one."""
    try:
        return read_small_text(file, 65536).strip() or None
    except (OSError, UnicodeDecodeError):
        return None
