"""What is installed: two links and state.json, each switched in one step.

Layer: device (standard library, Python 3.8). The links decide which release is current; state.json
says how the last transaction stands, so that one that was cut short is seen by the next. A
state.json that cannot be read is set aside and rebuilt from the links.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Dict, NamedTuple, Optional, Tuple, Union

from speccompose.device.paths import StackPaths, digest_hex
from speccompose.device.small_file import read_small_text

IDLE = "idle"
SWITCHING = "switching"
COMMITTED = "committed"
STOPPED = "stopped"
FAILED = "failed"
STUCK = "stuck"
PHASES = (IDLE, SWITCHING, COMMITTED, STOPPED, FAILED, STUCK)

JsonValue = Union[None, bool, int, str, Dict[str, "JsonValue"]]


class Before(NamedTuple):
    """What stood before a switch: the digests linked, and whether the current one was running."""

    current: Optional[str]
    previous: Optional[str]
    running: bool


class Record(NamedTuple):
    """state.json.

    ``before`` is kept while a switch is unconfirmed; ``notice`` says what a rebuild found.
    """

    phase: str
    digest: Optional[str] = None
    before: Optional[Before] = None
    container: Optional[str] = None
    since: str = ""
    notice: Optional[str] = None


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
        return _parse(text)
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
    body: Dict[str, JsonValue] = {
        "version": 1,
        "stack": paths.name,
        "phase": record.phase,
        "digest": record.digest,
        "container": record.container,
        "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "before": None if record.before is None else dict(record.before._asdict()),
    }
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
    if not (link.parent / target).is_dir():
        return None
    return "sha256:" + os.path.basename(target)


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
    _sync_folder(link.parent)


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
    _sync_folder(path.parent)


def _parse(text: str) -> Record:
    body = json.loads(text)
    if body["version"] != 1 or body["phase"] not in PHASES:
        raise ValueError(f"version {body['version']}, phase {body['phase']}")
    before = body["before"]
    if before is not None:
        current, previous = _digest(before["current"]), _digest(before["previous"])
        before = Before(current, previous, bool(before["running"]))
    container = body["container"]
    return Record(
        phase=body["phase"],
        digest=_digest(body["digest"]),
        before=before,
        container=None if container is None else str(container),
        since=str(body["since"]),
    )


def _digest(value: JsonValue) -> Optional[str]:
    """A digest becomes a folder's name, so it is one or the file is damaged."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError(f"no digest: {value!r}")
    digest_hex(value)
    return value


def _from_links(paths: StackPaths, fault: Optional[str]) -> Record:
    digest = linked_digest(paths.current)
    notice = None if fault is None else f"{fault}; rebuilt from the links"
    return Record(phase=IDLE if digest is None else COMMITTED, digest=digest, notice=notice)


def _sync_folder(folder: Path) -> None:
    """A rename is only safe from a power cut once its folder is on the disk."""
    descriptor = os.open(str(folder), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
