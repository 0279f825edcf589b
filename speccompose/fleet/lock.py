"""The operator lock: at most one controller per fleet on this control machine (S20).

Layer: fleet. A file that says who, since when and why. Whether its owner still lives is judged by
boot id, process id and the process's start; a lock whose owner is gone is taken only when asked.
"""

import contextlib
import fcntl
import os
import platform
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from speccompose.catalog.text_file import read_regular
from speccompose.errors import DataError, LockedError
from speccompose.vocab.base import Frozen

LOCK: Final = "lock.json"
_GUARD: Final = ".lock.guard"
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class Owner(Frozen, frozen=True, kw_only=True):
    """Who holds the lock. ``started``: the process's start in clock ticks since boot."""

    user: str
    host: str
    pid: int
    boot: str
    started: str
    rollout: str
    reason: str
    since: str

    @property
    def label(self) -> str:
        """'ana@control (pid 4711)'."""
        return f"{self.user}@{self.host} (pid {self.pid})"


def this_process(rollout: str, reason: str, since: str) -> Owner:
    """This process as an owner."""
    pid = os.getpid()
    return Owner(
        user=current_user(),
        host=platform.node() or "unknown",
        pid=pid,
        boot=_boot_id(),
        started=_started(pid) or "",
        rollout=rollout,
        reason=reason,
        since=since,
    )


def current_user() -> str:
    """Name of the user; the number where it has none (containers)."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


@contextlib.contextmanager
def operator_lock(folder: Path, owner: Owner, *, take_over: bool = False) -> Iterator[Owner | None]:
    """Hold the lock of a fleet's rollout folder; yields the owner whose dead lock was taken.

    Raises:
        LockedError: somebody else holds it (status 12), or held it when dying and nobody said
            --take-over.
        DataError: the folder cannot be written.
    """
    before = _acquire(folder, owner, take_over=take_over)
    try:
        yield before
    finally:
        with _guarded(folder):
            if holder(folder) == owner:
                (folder / LOCK).unlink(missing_ok=True)


def holder(folder: Path) -> Owner | None:
    """Who holds the lock, dead or alive; None when nobody does.

    Raises:
        DataError: the lock file is there and cannot be understood.
    """
    path = folder / LOCK
    try:
        return msgspec.json.decode(read_regular(path), type=Owner)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(
            f"the lock {path} cannot be read: {error}",
            hint="make sure that no rollout of this fleet runs, then remove the file",
            code="lock_unreadable",
        ) from error


def is_alive(owner: Owner) -> bool | None:
    """Whether the owner's process lives; None when it is on another machine."""
    if owner.host != (platform.node() or "unknown"):
        return None
    if owner.boot != _boot_id():
        return False
    started = _started(owner.pid)
    return started is not None and started == owner.started


def _acquire(folder: Path, owner: Owner, *, take_over: bool) -> Owner | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _guarded(folder):
            before = holder(folder)
            if before is not None:
                _refuse_unless_free(before, take_over=take_over)
            draft = folder / f".{LOCK}.{owner.pid}"
            draft.write_bytes(msgspec.json.encode(owner) + b"\n")
            draft.replace(folder / LOCK)
            return before
    except OSError as error:
        raise DataError(
            f"{folder} cannot be locked: {error.strerror}",
            hint="the folder beside the fleet file must be writable for you",
            code="lock_unwritable",
        ) from error


def _refuse_unless_free(before: Owner, *, take_over: bool) -> None:
    """A living owner keeps the lock whatever was asked."""
    alive = is_alive(before)
    if take_over and not alive:
        return
    brief = f"this fleet is locked by {before.label}"
    facts = (f"rollout {before.rollout}: {before.reason}", f"since {before.since}")
    if alive is False:
        hint = "its process is gone: `speccompose fleet resume --take-over` goes on with it"
        raise LockedError(brief, facts, hint=hint, code="lock_stale")
    hint = "wait, or stop that one: `speccompose fleet pause`"
    if alive is None:
        hint = f"make sure on {before.host} that it does not run, then --take-over"
    raise LockedError(brief, facts, hint=hint, code="locked")


@contextlib.contextmanager
def _guarded(folder: Path) -> Iterator[None]:
    """Nobody else looks at the lock meanwhile."""
    fd = os.open(folder / _GUARD, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def _started(pid: int) -> str | None:
    """When a process started, in clock ticks since boot; None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat[stat.rfind(")") + 2 :].split()
    return fields[19] if fields[0] not in ("Z", "X") else None
