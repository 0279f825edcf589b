"""One operation at a time per stack: an advisory lock that names who holds it.

Layer: device (standard library, Python 3.8). The kernel drops the lock when the process ends,
however it ends, so there is no stale lock to judge; the text in the file only says who.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator

from speccompose.device.errors import LOCKED, PREFLIGHT, DeviceError
from speccompose.device.paths import StackPaths


@contextmanager
def hold(paths: StackPaths, verb: str) -> Iterator[None]:
    """Hold a stack's lock while the block runs.

    Raises:
        DeviceError: status 12 when another process holds it, 15 when the state tree cannot be
            written.
    """
    with hold_file(paths.lock_file, f"stack {paths.name}", verb):
        yield


@contextmanager
def hold_file(path: Path, subject: str, verb: str) -> Iterator[None]:
    """Hold a lock file while the block runs; ``subject`` names what it guards.

    Raises:
        DeviceError: as ``hold``.
    """
    descriptor = _open(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise _held(subject, descriptor) from None
        holder = {
            "pid": os.getpid(),
            "user": _user(),
            "verb": verb,
            "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        with suppress(OSError):  # on a full disk the lock holds without saying who
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(holder).encode("utf-8"), 0)
        yield
    finally:
        os.close(descriptor)


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


def _held(subject: str, descriptor: int) -> DeviceError:
    try:
        text = os.pread(descriptor, 4096, 0).decode("utf-8", "replace")
        holder = json.loads(text)
        who = "{verb} by {user}, process {pid}, since {since}".format(**holder)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        who = "another process, which has not said who it is"
    return DeviceError(
        LOCKED,
        f"{subject} is being changed by somebody else",
        [who],
        hint="wait until it has ended, then try again",
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        return str(os.getuid())
