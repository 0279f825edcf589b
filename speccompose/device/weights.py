"""Which weights are on this board, complete and checked: the `.complete` marker of each folder.

Layer: device (standard library, Python 3.8). `pull` writes the marker last, so a folder without
it, or a file of another size than the marker says, is not there. One folder holds one repo at one
commit; several GGUF files of it may come one after the other.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

from speccompose.device.plan_file import Download
from speccompose.device.small_file import read_small_text
from speccompose.device.stack_folder import file_sha256
from speccompose.device.state import write_atomic

MARKER = ".complete"
INDEX = "model.safetensors.index.json"

_SPLIT_GGUF = re.compile(r"^(.*)-\d{5}-of-(\d{5})\.gguf$")


class StoredFile(NamedTuple):
    """A file as it was checked when it came."""

    size: int
    sha256: Optional[str]


class Marker(NamedTuple):
    """What `.complete` says.

    ``revision`` is the commit (or 'bundled:...'), ``requested`` what was asked for, as 'main'.
    ``whole``: every file that a server of this repo needs.
    """

    repo: str
    revision: str
    whole: bool
    files: Dict[str, StoredFile]
    requested: str = "main"


def read_marker(folder: Path) -> Optional[Marker]:
    """The marker of a weights folder; None when there is none that can be read."""
    try:
        body = json.loads(read_small_text(folder / MARKER))
        files = {
            str(name): StoredFile(int(item["size"]), item["sha256"])
            for name, item in body["files"].items()
        }
        repo, revision, requested = (str(body[key]) for key in ("repo", "revision", "requested"))
        return Marker(repo, revision, bool(body["whole"]), files, requested)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def write_marker(folder: Path, marker: Marker) -> None:
    """Say that these files are complete; the last step of every pull."""
    body = {
        "repo": marker.repo,
        "revision": marker.revision,
        "requested": marker.requested,
        "whole": marker.whole,
        "files": {
            name: {"size": item.size, "sha256": item.sha256}
            for name, item in sorted(marker.files.items())
        },
    }
    write_atomic(folder / MARKER, (json.dumps(body, indent=2) + "\n").encode("utf-8"), 0o644)


def missing_weights(download: Download, models: Path) -> List[str]:
    """Why a download is not complete on this board, one fact each; empty when it is."""
    folder = models / download.directory
    marker = read_marker(folder)
    if marker is None:
        return [f"{download.repo}: not pulled ({folder})"]
    other = _other_revision(download, marker)
    if other is not None:
        return [f"{download.repo}: {other}"]
    wanted = gguf_parts(download.file) if download.file is not None else sorted(marker.files)
    if download.file is None and not marker.whole:
        return [f"{download.repo}: only single files of it were pulled"]
    faults = []
    for name in wanted:
        stored = marker.files.get(name)
        path = folder / name
        if stored is None:
            faults.append(f"{download.repo}: {name} not pulled")
        elif not path.is_file():
            faults.append(f"{download.repo}: {name} is gone from {folder}")
        elif not is_as_pulled(path, stored):
            size = path.stat().st_size
            faults.append(f"{download.repo}: {name} has {size} bytes, {stored.size} were pulled")
    return faults


def is_as_pulled(path: Path, stored: StoredFile) -> bool:
    """Whether a file has the size that came; a repaired index counts by its kept original.

    `inspect --repair-index` writes a new index and keeps the old one beside it, byte for byte.
    """
    if path.stat().st_size == stored.size:
        return True
    if path.name != INDEX or stored.sha256 is None:
        return False
    return any(
        kept.stat().st_size == stored.size and file_sha256(kept) == stored.sha256
        for kept in path.parent.glob(f"{INDEX}.original*")
    )


def _other_revision(download: Download, marker: Marker) -> Optional[str]:
    """Which other revision is there, in words; None when it is the planned one."""
    bundle = f"bundled:{download.bundled}"
    if download.bundled and marker.revision.startswith("bundled:") and marker.revision != bundle:
        return f"{bundle} is planned, {marker.revision} is there"
    if download.revision in (marker.requested, marker.revision):
        return None
    there = f"{marker.requested} ({marker.revision[:12]})"
    return f"revision {download.revision} is planned, {there} is there"


def gguf_parts(name: str) -> List[str]:
    """All parts of a split GGUF ('x-00001-of-00003.gguf'), or the one name."""
    match = _SPLIT_GGUF.match(name)
    if match is None:
        return [name]
    count = int(match.group(2))
    return [f"{match.group(1)}-{part:05d}-of-{count:05d}.gguf" for part in range(1, count + 1)]
