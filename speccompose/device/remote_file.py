"""What a hub lists becomes files with the facts by which their content is checked.

Layer: device (standard library, Python 3.8). A hub gives the sha256 of large files; for all others
it gives git's blob id: sha1 of 'blob <size>', a NUL, and the content.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

_COMMIT = re.compile(r"[0-9A-Za-z]{4,64}")
_BLOB = re.compile(r"[0-9a-f]{40}")


class RemoteFile(NamedTuple):
    """One file of a repo. ``sha256`` is known for large files only, ``blob_id`` for the others."""

    name: str
    size: Optional[int]
    sha256: Optional[str]
    blob_id: Optional[str] = None


class Listing(NamedTuple):
    """A repo at one commit."""

    commit: str
    files: List[RemoteFile]


def parse_listing(text: str) -> Listing:
    """Read a hub's answer.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    body = json.loads(text)
    commit = str(body["sha"])
    if _COMMIT.fullmatch(commit) is None:
        raise ValueError(f"no commit: {commit[:80]!r}")
    return Listing(commit, [_remote_file(item) for item in body["siblings"]])


def blob_id(path: Path) -> str:
    """Git's name for a file's content."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as source:
        for block in iter(lambda: source.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _remote_file(item: Dict[str, object]) -> RemoteFile:
    lfs = item.get("lfs")
    size = item.get("size")
    sha256 = lfs.get("sha256") if isinstance(lfs, dict) else None
    if size is None and isinstance(lfs, dict):
        size = lfs.get("size")
    return RemoteFile(
        name=str(item["rfilename"]),
        size=size if isinstance(size, int) else None,
        sha256=sha256 if isinstance(sha256, str) else None,
        blob_id=None if lfs else _blob_id(item),  # a large file's is that of its pointer
    )


def _blob_id(item: Dict[str, object]) -> Optional[str]:
    for key in ("blobId", "oid"):
        value = item.get(key)
        if isinstance(value, str) and _BLOB.fullmatch(value):
            return value
    return None
