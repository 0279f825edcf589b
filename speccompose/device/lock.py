"""One operation at a time per stack: an advisory lock that names who holds it.

Layer: device (standard library, Python 3.8). The kernel drops the lock when the process ends,
however it ends, so there is no stale lock to judge; the text in the file only says who. What a
rollout holds between two of its processes is its open transaction (``claim``).
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator, Optional

from speccompose.device.claim import owner_here
from speccompose.device.errors import LOCKED, PREFLIGHT, DeviceError
from speccompose.device.machine import Machine
from speccompose.device.paths import StackPaths
from speccompose.device.record import Owner

POLL_S = 0.2


@contextmanager
def hold(
    paths: StackPaths,
    verb: str,
    *,
    rollout: Optional[str] = None,
    machine: Optional[Machine] = None,
    patience_s: float = 0.0,
) -> Iterator[Owner]:
    """Hold a stack's lock while the block runs; whoever else holds it is waited for so long.

    Raises:
        DeviceError: status 12 when another process holds it, 15 when the state tree cannot be
            written, 2 for a rollout id that is none.
    """
    owner = owner_here(verb, rollout, machine or Machine())
    with _held_file(paths.lock_file, f"stack {paths.name}", owner, patience_s):
        yield owner


@contextmanager
def hold_file(path: Path, subject: str, verb: str) -> Iterator[None]:
    """Hold a lock file while the block runs; ``subject`` names what it guards.

    Raises:
        DeviceError: as ``hold``.
    """
    with _held_file(path, subject, owner_here(verb, None, Machine()), 0.0):
        yield


def holder(paths: StackPaths) -> Optional[str]:
    """Who holds a stack's lock, in words; None when nobody does. It is not taken by asking."""
    try:
        descriptor = os.open(str(paths.lock_file), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _who(descriptor)
    finally:
        os.close(descriptor)
    return None


@contextmanager
def _held_file(path: Path, subject: str, owner: Owner, patience_s: float) -> Iterator[None]:
    descriptor = _open(path)
    until = time.monotonic() + patience_s
    try:
        while not (_locked(descriptor) and _is_at(path, descriptor)):
            if not _is_at(path, descriptor):  # `remove` took it away: it guards nothing
                fresh = _open(path)
                os.close(descriptor)
                descriptor = fresh
                continue
            if time.monotonic() >= until:
                raise _held(subject, descriptor)
            time.sleep(POLL_S)
        with suppress(OSError):  # on a full disk the lock holds without saying who
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(owner._asdict()).encode("utf-8"), 0)
        yield
    finally:
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(str(path)))
    except FileNotFoundError:
        return False


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(str(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise DeviceError(
            PREFLIGHT,
            f"cannot write below {path.parent}",
            [str(error)],
            hint="run as root, or let SPECCOMPOSE_STATE name a folder that you own",
            code="state_unwritable",
        ) from None


def _who(descriptor: int) -> str:
    try:
        text = os.pread(descriptor, 4096, 0).decode("utf-8", "replace")
        return str(Owner(**json.loads(text)).who)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process, which has not said who it is"


def _held(subject: str, descriptor: int) -> DeviceError:
    return DeviceError(
        LOCKED,
        f"{subject} is being changed by somebody else",
        [_who(descriptor)],
        hint="wait until it has ended, then try again",
    )
