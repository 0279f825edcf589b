"""This board's clock, memory, disk and ports, read where they are.

Layer: device (standard library, Python 3.8). One small class, so that tests can stand in for it.
"""

from __future__ import annotations

import errno
import os
import platform
import shutil
import socket
import time
from pathlib import Path
from typing import Dict, Optional, Set

from speccompose.device.host_reader import HostReader

_LISTEN = "0A"
_START_TIME = 19
"""Place of the start time in /proc/PID/stat, after the name (proc(5), field 22)."""


class Machine:
    """What preflight and waiting need to know of this board. Sizes in MiB, times in seconds."""

    def now_s(self) -> float:
        """Monotonic time."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def wall_s(self) -> float:
        """Seconds since 1970, as the clock says; it may be wrong and it may jump."""
        return time.time()

    def boot_s(self) -> float:
        """Seconds since boot, with the time that the board slept."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot_id(self) -> str:
        """Another word after every boot, also of a container that boots; '' where unreadable.

        The kernel's own id is that of the whole machine, so the start of process 1 counts too.
        """
        try:
            kernel = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
            first = Path("/proc/1/stat").read_text(encoding="utf-8", errors="replace")
            return f"{kernel}-{first.rpartition(')')[2].split()[_START_TIME]}"
        except (OSError, IndexError):
            return ""

    def host_name(self) -> str:
        """This machine's name."""
        return platform.node()

    def host(self) -> HostReader:
        """What of this board's files and programs doctor reads."""
        return HostReader()

    def architecture(self) -> str:
        """As `uname -m` says: x86_64, aarch64."""
        return platform.machine()

    def kernel(self) -> str:
        """As `uname -r` says."""
        return platform.release()

    def memory_mib(self) -> Dict[str, int]:
        """MemTotal, MemFree, MemAvailable and the rest of /proc/meminfo."""
        return read_meminfo(Path("/proc/meminfo").read_text(encoding="ascii", errors="replace"))

    def free_disk_mib(self, path: Path) -> int:
        """Free space where the path lies or would lie."""
        while not path.exists() and path != path.parent:
            path = path.parent
        return shutil.disk_usage(str(path)).free // (1024 * 1024)

    def has_raw_table(self) -> bool:
        """Whether this kernel has the iptables raw table, loaded, built in or as a module."""
        for name in ("/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"):
            try:
                if "raw" in Path(name).read_text(encoding="ascii").split():
                    return True
            except OSError:
                continue
        modules = Path("/lib/modules") / self.kernel()
        for listing in ("modules.dep", "modules.builtin"):
            try:
                if "/iptable_raw.ko" in (modules / listing).read_text(encoding="utf-8"):
                    return True
            except OSError:
                continue
        return False

    def bind_fault(self, host: str, port: int) -> Optional[str]:
        """Why a server could not listen there; None when it could."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    return f"{host} is no address of this machine"
                return os.strerror(error.errno) if error.errno else str(error)
        return None

    def port_holder(self, port: int) -> Optional[str]:
        """'name (process 123)' of who listens on a port; None when it cannot be seen."""
        inodes = _listening_inodes(port)
        if not inodes:
            return None
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and _owns_socket(entry, inodes):
                return f"{_process_name(entry)} (process {entry.name})"
        return None


def read_meminfo(text: str) -> Dict[str, int]:
    """The sizes of a /proc/meminfo, in MiB."""
    found: Dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words[1:] == ["kB"] and words[0].isascii() and words[0].isdigit() and len(words[0]) < 16:
            found[name] = int(words[0]) // 1024
    return found


def _listening_inodes(port: int) -> Set[str]:
    found: Set[str] = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(name).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[3] == _LISTEN and int(words[1].rsplit(":", 1)[1], 16) == port:
                found.add(words[9])
    return found


def _owns_socket(process: Path, inodes: Set[str]) -> bool:
    try:
        for descriptor in (process / "fd").iterdir():
            target = os.readlink(str(descriptor))
            if target.startswith("socket:[") and target[8:-1] in inodes:
                return True
    except OSError:  # ended meanwhile, or not ours to read
        return False
    return False


def _process_name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "a process"
