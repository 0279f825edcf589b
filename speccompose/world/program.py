"""The on-board program: speccompose/device/ as one executable zip file, the same bytes each time.

Layer: world. Every rendered stack carries it as `check`. Stored, not compressed, because zlib's
output differs between Python builds and a stack must be byte-identical.
"""

import io
import zipfile
from functools import lru_cache
from pathlib import Path

import speccompose
from speccompose.device.program import VERSION_ENTRY

_SHEBANG = b"#!/usr/bin/env python3\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MAIN = b"from speccompose.device.__main__ import main\n\nmain()\n"


@lru_cache(maxsize=1)
def onboard_program() -> bytes:
    """The zipapp's bytes: the device layer and nothing else, runnable by any Python >= 3.8."""
    folder = Path(__file__).resolve().parent.parent / "device"
    files = {
        "__main__.py": _MAIN,
        "speccompose/__init__.py": b"",
        VERSION_ENTRY: speccompose.__version__.encode("ascii"),
    }
    for path in (*sorted(folder.glob("*.py")), *sorted(folder.glob("*.json"))):
        files[f"speccompose/device/{path.name}"] = path.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return _SHEBANG + buffer.getvalue()
