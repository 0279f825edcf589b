"""Weights of another revision on this board become those of the one that is pulled, where equal.

Layer: device (standard library, Python 3.8). Each pinned revision has a folder of its own, so that
pulling the next one never changes what serves, nor what a rollback would need. Most files of two
revisions are the same: those are linked, not brought again. Files are only ever replaced as a
whole, so a second name for one does no harm.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Dict, List

from speccompose.device.remote_file import Listing, RemoteFile
from speccompose.device.weights import Marker, StoredFile, is_as_pulled, read_marker


def adopt(folder: Path, listing: Listing, wanted: List[RemoteFile]) -> Dict[str, StoredFile]:
    """Link what another revision's folder has already; returns what is there now because of it."""
    found: Dict[str, StoredFile] = {}
    for sibling in _siblings(folder):
        marker = read_marker(sibling)
        for file in wanted if marker is not None else ():
            stored = marker.files.get(file.name) if marker is not None else None
            place = folder / file.name
            if marker is None or stored is None or place.exists():
                continue
            if _is_same(file, stored, marker, listing) and _links(
                sibling / file.name, place, stored
            ):
                found[file.name] = stored
    return found


def _siblings(folder: Path) -> List[Path]:
    """Folders of the same repository: plain, or with a revision behind an @."""
    base = folder.name.partition("@")[0]
    return [
        other
        for other in sorted(folder.parent.glob(f"{base}*"))
        if other != folder and other.name.partition("@")[0] == base and not other.is_symlink()
    ]


def _is_same(file: RemoteFile, stored: StoredFile, marker: Marker, listing: Listing) -> bool:
    if marker.revision == listing.commit:
        return file.size in (None, stored.size)
    return file.sha256 is not None and (file.sha256, file.size) == (stored.sha256, stored.size)


def _links(source: Path, place: Path, stored: StoredFile) -> bool:
    """Give a file a second name; where that cannot be, it is brought like any other."""
    with suppress(OSError):
        if source.is_symlink() or not is_as_pulled(source, stored):
            return False
        place.parent.mkdir(parents=True, exist_ok=True)
        os.link(str(source), str(place))
        return True
    return False
