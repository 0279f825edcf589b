"""What is installed: two links and state.json, each switched in one step.

Layer: device (standard library, Python 3.8). The links decide which release is current; state.json
(``record``) says how the last transaction stands, so that one that was cut short is seen by the
next. A state.json that cannot be read is set aside and rebuilt from the links.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Optional, Tuple

from speccompose.device.on_disk import to_disk
from speccompose.device.paths import StackPaths
from speccompose.device.record import CHECKING as CHECKING
from speccompose.device.record import COMMITTED as COMMITTED
from speccompose.device.record import DEGRADED as DEGRADED
from speccompose.device.record import FAILED as FAILED
from speccompose.device.record import IDLE as IDLE
from speccompose.device.record import OPEN as OPEN
from speccompose.device.record import PHASES as PHASES
from speccompose.device.record import ROLLED_BACK as ROLLED_BACK
from speccompose.device.record import ROLLING_BACK as ROLLING_BACK
from speccompose.device.record import SERVING as SERVING
from speccompose.device.record import STAGED as STAGED
from speccompose.device.record import STOPPED as STOPPED
from speccompose.device.record import STUCK as STUCK
from speccompose.device.record import SWITCHING as SWITCHING
from speccompose.device.record import UNCONFIRMED as UNCONFIRMED
from speccompose.device.record import Before as Before
from speccompose.device.record import KnownImage as KnownImage
from speccompose.device.record import Last as Last
from speccompose.device.record import Owner as Owner
from speccompose.device.record import Record as Record
from speccompose.device.record import as_body, parse_record
from speccompose.device.small_file import read_small_text

_RELEASE = re.compile("[0-9a-f]{64}")


def load(paths: StackPaths) -> Record:
    """Read state.json, or rebuild it from the links when it is missing or no readable file.

    A rebuilt record says so in ``notice``; nothing is written.
    """
    try:
        text = read_small_text(paths.state_file)
    except FileNotFoundError:
        return _from_links(paths, None)
    except (OSError, UnicodeDecodeError) as error:
        return _from_links(paths, f"state.json could not be read ({error})")
    try:
        return parse_record(text)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return _from_links(paths, f"state.json was damaged ({error})")


def set_damaged_aside(paths: StackPaths, record: Record) -> Record:
    """Keep a damaged state.json under another name and save the rebuilt record in its place."""
    if record.notice is None:
        return record
    aside = paths.state_file.with_name(f"state.json.damaged-{int(time.time())}")
    os.replace(str(paths.state_file), str(aside))
    save(paths, record)
    return record._replace(notice=f"{record.notice}; kept as {aside.name}")


def save(paths: StackPaths, record: Record) -> None:
    """Replace state.json in one step; it is on the disk when this returns."""
    write_atomic(paths.state_file, _as_json(paths, record), 0o644)


def _as_json(paths: StackPaths, record: Record) -> bytes:
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    body = as_body(record._replace(since=since), paths.name)
    return (json.dumps(body, indent=2) + "\n").encode("utf-8")


def save_on_full_disk(paths: StackPaths, record: Record) -> None:
    """As ``save``, and where there is no room for a second file the old one is overwritten.

    That is not one step: a power cut meanwhile leaves a damaged file, rebuilt from the links.

    Raises:
        OSError: it cannot be written either way.
    """
    try:
        save(paths, record)
    except OSError:
        with paths.state_file.open("r+b") as target:
            target.write(_as_json(paths, record))
            target.truncate()
            target.flush()
            os.fsync(target.fileno())


def linked_digest(link: Path) -> Optional[str]:
    """The digest that `current` or `previous` points to; None without a link or its release."""
    try:
        target = os.readlink(str(link))
    except OSError:
        return None
    name = os.path.basename(target)
    if _RELEASE.fullmatch(name) is None or not (link.parent / target).is_dir():
        return None
    return "sha256:" + name


def point(link: Path, digest: Optional[str]) -> None:
    """Let a link point to a release, by one rename; None takes the link away."""
    if digest is None:
        if link.is_symlink():
            link.unlink()
        return
    draft = link.with_name(f".{link.name}.new")
    if draft.is_symlink():
        draft.unlink()
    draft.symlink_to(os.path.join("releases", digest.split(":", 1)[1]))
    os.replace(str(draft), str(link))
    to_disk(link.parent)  # a rename is only safe from a power cut once its folder is on the disk


def write_atomic(
    path: Path, content: bytes, mode: int, owner: Optional[Tuple[int, int]] = None
) -> None:
    """Write a file beside its place, sync it, and rename it into place.

    The mode (and owner, as user and group id) is set before a byte is written.
    """
    draft = path.with_name(f".{path.name}.new")
    if draft.exists():
        draft.unlink()
    descriptor = os.open(str(draft), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        os.fchmod(descriptor, mode)
        if owner is not None:
            os.fchown(descriptor, owner[0], owner[1])
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):  # half a file helps nobody, least of all on a full disk
            draft.unlink()
        raise
    finally:
        os.close(descriptor)
    os.replace(str(draft), str(path))
    to_disk(path.parent)


def _from_links(paths: StackPaths, fault: Optional[str]) -> Record:
    digest = linked_digest(paths.current)
    notice = None if fault is None else f"{fault}; rebuilt from the links"
    return Record(phase=IDLE if digest is None else COMMITTED, digest=digest, notice=notice)
