"""A rendered folder's files, a counter and two times become a release that a board can check.

Layer: device (standard library, Python 3.8). release.json carries the counter, until when it holds,
and the hash of SHA256SUMS as it was rendered; SHA256SUMS then also lists release.json, so that
both are of the stack. Who signs release.json has thereby signed every file.

    release_files(files, counter=..., validity=...)    the control side adds it
    check_release(folder, trust, now_s)                the board checks it, with its signature
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Dict, Mapping, Optional, Tuple

from speccompose.device.counter import RELEASE_FILE, read_counter
from speccompose.device.errors import DATA, MISMATCH, DeviceError
from speccompose.device.signature import MOST_BYTES, Trust, signer_of
from speccompose.device.small_file import read_small
from speccompose.device.validity import Validity, parse_validity, refuse_outdated, told

SIGNATURE = f"{RELEASE_FILE}.sig"
SUMS = "SHA256SUMS"
_WHAT = "the release"
_OWN_LINE = re.compile(rb"[0-9a-f]{64}  release\.json\n\Z")


def release_files(
    files: Mapping[str, bytes], *, counter: int, validity: Validity
) -> Dict[str, bytes]:
    """The files of a rendered folder with release.json among them; the same in gives the same."""
    rendered = {name: text for name, text in files.items() if name not in (RELEASE_FILE, SIGNATURE)}
    sums = _without_release(rendered[SUMS])
    body = {
        "counter": counter,
        "made": told(validity.made_s),
        "expires": told(validity.expires_s),
        "sums": hashlib.sha256(sums).hexdigest(),
    }
    text = (json.dumps(body, indent=2) + "\n").encode("utf-8")
    line = f"{hashlib.sha256(text).hexdigest()}  {RELEASE_FILE}\n".encode("ascii")
    return {**rendered, RELEASE_FILE: text, SUMS: sums + line}


def check_release(folder: Path, files: Tuple[str, ...], trust: Trust, now_s: float) -> None:
    """Refuse a received folder whose release nobody vouches for; on a board without signers none.

    ``files``: what its (already checked) SHA256SUMS lists.

    Raises:
        DeviceError: 19 for signature and hashes, 15 when it has expired, 3 for a bad release.json.
    """
    if not trust.is_set:
        return
    content = _read(folder / RELEASE_FILE) or b""
    signer_of(content, _read(folder / SIGNATURE, MOST_BYTES), trust, _WHAT)
    if RELEASE_FILE not in files:
        raise _not_ours(f"{SUMS} does not list {RELEASE_FILE}")
    read_counter(folder, files)
    try:
        body = json.loads(content)
        validity, sums = parse_validity(body["made"], body["expires"]), body["sums"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DeviceError(
            DATA,
            f"{RELEASE_FILE} of what was sent is none",
            [repr(error)],
            hint="send it again from a control machine of the same version",
            code="bad_release_file",
        ) from None
    there = hashlib.sha256(_without_release(_read(folder / SUMS) or b"")).hexdigest()
    if there != sums:
        raise _not_ours(f"signed: {SUMS} {sums}", f"there: {SUMS} {there}")
    refuse_outdated(_WHAT, validity, now_s)


def same_release(one: Path, other: Path) -> bool:
    """Whether two folders of one stack are of the same release: the same file, or none in both."""
    return _read(one / RELEASE_FILE) == _read(other / RELEASE_FILE)


def _without_release(sums: bytes) -> bytes:
    return b"".join(line for line in sums.splitlines(keepends=True) if not _OWN_LINE.match(line))


def _read(file: Path, most: int = 1024 * 1024) -> Optional[bytes]:
    try:
        return read_small(file, most)
    except OSError:
        return None


def _not_ours(*facts: str) -> DeviceError:
    return DeviceError(
        MISMATCH,
        "the signed release is of other files than came with it",
        facts,
        hint="do not use it; send the release again from the control machine",
        code="other_release",
    )
