"""Which weights are on this board, complete and checked: the `.complete` marker of each folder.

Layer: device (standard library, Python 3.8). `pull` writes the marker last, so a folder without
it, or a file of another size than the marker says, is not there. One folder holds one repo at one
revision; several GGUF files of it may come one after the other.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

from speccompose.device.plan_file import Download
from speccompose.device.state import write_atomic

MARKER = ".complete"

_SPLIT_GGUF = re.compile(r"^(.*)-\d{5}-of-(\d{5})\.gguf$")


class StoredFile(NamedTuple):
    """A file as it was checked when it came."""

    size: int
    sha256: Optional[str]


class Marker(NamedTuple):
    """What `.complete` says. ``whole``: every file that a server of this repo needs."""

    repo: str
    revision: str
    whole: bool
    files: Dict[str, StoredFile]


def read_marker(folder: Path) -> Optional[Marker]:
    """The marker of a weights folder; None when there is none that can be read."""
    try:
        body = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        files = {
            str(name): StoredFile(int(item["size"]), item["sha256"])
            for name, item in body["files"].items()
        }
        return Marker(str(body["repo"]), str(body["revision"]), bool(body["whole"]), files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_marker(folder: Path, marker: Marker) -> None:
    """Say that these files are complete; the last step of every pull."""
    body = {
        "repo": marker.repo,
        "revision": marker.revision,
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
        elif path.stat().st_size != stored.size:
            size = path.stat().st_size
            faults.append(f"{download.repo}: {name} has {size} bytes, {stored.size} were pulled")
    return faults


def gguf_parts(name: str) -> List[str]:
    """All parts of a split GGUF ('x-00001-of-00003.gguf'), or the one name."""
    match = _SPLIT_GGUF.match(name)
    if match is None:
        return [name]
    count = int(match.group(2))
    return [f"{match.group(1)}-{part:05d}-of-{count:05d}.gguf" for part in range(1, count + 1)]
