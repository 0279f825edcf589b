"""What a lock says of a repo's files, held against what a hub lists.

Layer: device (standard library, Python 3.8). Pure. A plan made with a lock carries the hashes that
were there when somebody looked; a hub or mirror that lists others is not believed, whatever its
own figures say of what it sends.
"""

from __future__ import annotations

import re
from typing import List, Mapping, NamedTuple, Optional

from speccompose.device.errors import MISMATCH, DeviceError
from speccompose.device.remote_file import Listing, RemoteFile

_SHA256 = re.compile(r"[0-9a-f]{64}")
_BLOB = re.compile(r"[0-9a-f]{40}")


class LockedFile(NamedTuple):
    """One file at the locked commit; None where nothing is known."""

    size: Optional[int]
    sha256: Optional[str]
    blob_id: Optional[str]


LockedFiles = Mapping[str, LockedFile]


def parse_locked(body: object) -> LockedFiles:
    """`files` of a download in plan.json; empty where the plan has no lock.

    Raises:
        ValueError: it is none.
    """
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise ValueError("files: wanted a table of names")
    return {str(name): _parse(str(name), value) for name, value in body.items()}


def must_be_locked(repo: str, locked: LockedFiles, listing: Listing, commit: str) -> None:
    """Refuse a listing that differs from the lock in its commit, or in a file's hash or size.

    Raises:
        DeviceError: status 19, with both.
    """
    if not locked:
        return
    if listing.commit != commit:
        raise _differs(repo, [f"locked: commit {commit}", f"listed: commit {listing.commit}"])
    faults: List[str] = []
    for file in listing.files:
        known = locked.get(file.name)
        if known is None:
            faults.append(f"{file.name} is not in the lock")
        else:
            faults += _compared(file, known)
    if faults:
        raise _differs(repo, faults[:5])


def _compared(file: RemoteFile, known: LockedFile) -> List[str]:
    pairs = (
        ("sha256", file.sha256, known.sha256),
        ("blob", file.blob_id, known.blob_id),
        ("size", file.size, known.size),
    )
    return [
        f"{file.name}: locked {what} {wanted}, listed {found or 'none'}"
        for what, found, wanted in pairs
        if wanted is not None and found != wanted
    ]


def _parse(name: str, value: object) -> LockedFile:
    if not isinstance(value, dict):
        raise ValueError(f"files: {name}: wanted a table")
    size, sha256, blob = value.get("size"), value.get("sha256"), value.get("blob_id")
    if not (size is None or (isinstance(size, int) and size >= 0)):
        raise ValueError(f"files: {name}: size {size!r}")
    for text, pattern in ((sha256, _SHA256), (blob, _BLOB)):
        if not (text is None or (isinstance(text, str) and pattern.fullmatch(text))):
            raise ValueError(f"files: {name}: no hash: {text!r}")
    return LockedFile(size, sha256, blob)


def _differs(repo: str, faults: List[str]) -> DeviceError:
    return DeviceError(
        MISMATCH,
        f"the hub has another {repo} than was locked",
        faults,
        hint="do not use this hub; or, if the change is meant: speccompose lock --update",
        code="not_as_locked",
    )
