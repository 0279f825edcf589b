"""This host's files, folders, disks, clock and rights, as they are read: the real thing for doctor.

Layer: device (standard library, Python 3.8). Nothing is judged and nothing raises: what cannot be
read is None. One small class, so that tests can stand in for it.
"""

from __future__ import annotations

import http.client
import os
import socket
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import NamedTuple, Optional, Sequence, Tuple

from speccompose.device import command
from speccompose.device.conditions import Conditions, read_conditions
from speccompose.device.small_file import read_small

MOST_BYTES = 262144
_RATE_BYTES = 64 * 1024 * 1024
_CHUNK = 4 * 1024 * 1024
_ADMINISTRATORS = ("/usr/sbin/", "/sbin/")  # not in the PATH of most users


class Disk(NamedTuple):
    """The file system where a path lies or would lie. ``inodes`` is 0 where it counts none."""

    free_mib: int
    total_mib: int
    free_inodes: int
    inodes: int


class Reached(NamedTuple):
    """Whether a source on the network answered; ``date_s`` is its clock."""

    fault: Optional[str]
    date_s: Optional[float]


class HostReader:
    """Reads this machine. Sizes in MiB, times in seconds."""

    def run(self, argv: Sequence[str], timeout_s: float) -> command.Completed:
        """Run a program, the administrator's too; that it is missing or slow is a result."""
        done = command.run(argv, timeout_s)
        for folder in _ADMINISTRATORS:
            if done.returncode == command.NOT_FOUND and "/" not in argv[0]:
                done = command.run((folder + argv[0], *argv[1:]), timeout_s)
        return done

    def text(self, path: str, most: int = MOST_BYTES) -> Optional[str]:
        """A small file's text; None when it is absent, unreadable, larger, or no file."""
        try:
            return read_small(Path(path), most).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

    def lines_with(self, path: str, words: Sequence[str]) -> Optional[str]:
        """Only the lines of a large text file that hold one of ``words``."""
        try:
            with open(path, encoding="utf-8", errors="replace") as source:
                return "".join(line for line in source if any(word in line for word in words))
        except (OSError, ValueError):
            return None

    def names(self, path: str) -> Optional[Tuple[str, ...]]:
        """Names in a folder; None when it cannot be listed."""
        try:
            return tuple(sorted(os.listdir(path)))
        except (OSError, ValueError):
            return None

    def exists(self, path: str) -> bool:
        """Whether something is there."""
        try:
            return os.path.exists(path)
        except ValueError:
            return False

    def real(self, path: str) -> str:
        """The path without links."""
        return os.path.realpath(path)

    def disk(self, path: str) -> Optional[Disk]:
        """Room where the path lies or would lie."""
        here = Path(path)
        while not here.exists() and here != here.parent:
            here = here.parent
        try:
            found = os.statvfs(str(here))
        except OSError:
            return None
        unit = found.f_frsize or 1
        return Disk(
            found.f_bavail * unit >> 20, found.f_blocks * unit >> 20, found.f_favail, found.f_files
        )

    def writable(self, path: str) -> Optional[bool]:
        """Whether a folder can be written, or made where it is not."""
        here = Path(path)
        while not here.exists() and here != here.parent:
            here = here.parent
        return os.access(str(here), os.W_OK | os.X_OK)

    def user_id(self) -> Optional[int]:
        """The user who runs this."""
        return os.geteuid()

    def host_name(self) -> Optional[str]:
        """As the kernel says."""
        return socket.gethostname() or None

    def wall_clock_s(self) -> float:
        """Seconds since 1970, as this host believes."""
        return time.time()

    def modified_s(self, path: str) -> Optional[float]:
        """When a file was last written."""
        try:
            return os.stat(path).st_mtime
        except (OSError, ValueError):
            return None

    def conditions(self) -> Optional[Conditions]:
        """Clock limits and throttling."""
        try:
            return read_conditions()
        except OSError:
            return None

    def reach(self, url: str, timeout_s: float) -> Reached:
        """Ask for a page's head; any answer at all is an answer."""
        try:
            request = urllib.request.Request(url, method="HEAD")
            opener = urllib.request.build_opener()  # the proxies of now, not of the first call
            with opener.open(request, timeout=timeout_s) as reply:
                return Reached(None, _date(reply.headers.get("Date")))
        except urllib.error.HTTPError as reply:
            return Reached(None, _date(reply.headers.get("Date")))
        except (OSError, ValueError, http.client.HTTPException) as fault:
            return Reached(str(getattr(fault, "reason", fault)) or type(fault).__name__, None)

    def large_file(self, folder: str) -> Optional[str]:
        """Some file of at least ``_RATE_BYTES`` two levels below a folder."""
        for path in sorted(Path(folder).glob("*/*")):
            try:
                if path.is_file() and path.stat().st_size >= _RATE_BYTES:
                    return str(path)
            except OSError:
                continue
        return None

    def read_rate_mib_s(self, path: str) -> Optional[float]:
        """How fast the first part of a large file comes from its disk, past the page cache."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            os.posix_fadvise(descriptor, 0, _RATE_BYTES, os.POSIX_FADV_DONTNEED)
            began, done = time.monotonic(), 0
            while done < _RATE_BYTES:
                part = os.read(descriptor, _CHUNK)
                if not part:
                    break
                done += len(part)
            took_s = time.monotonic() - began
        except OSError:
            return None
        finally:
            os.close(descriptor)
        return done / (1024 * 1024) / took_s if done == _RATE_BYTES and took_s > 0 else None


def _date(text: Optional[str]) -> Optional[float]:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (TypeError, ValueError, OverflowError):
        return None
