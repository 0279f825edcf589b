"""While a run lasts, the most memory that was in use, of the board and of the container.

Layer: device (standard library, Python 3.8). Jetson and DGX Spark have one memory for everything,
so the board's figure (MemTotal - MemAvailable) holds weights, caches and the GPU's share as well
as whatever else runs. The container's figure is what its control group counts: page cache is in
it, memory that a Jetson's driver gives the GPU is not. Both are sampled: a peak between two
samples is missed, and the source says so.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

_EVERY_S = 0.25
_KIB, _MIB = 1024, 1024 * 1024
_GROUP_FILES = (
    "sys/fs/cgroup/system.slice/docker-{id}.scope/memory.current",
    "sys/fs/cgroup/docker/{id}/memory.current",
    "sys/fs/cgroup/memory/docker/{id}/memory.usage_in_bytes",
    "sys/fs/cgroup/memory/system.slice/docker-{id}.scope/memory.usage_in_bytes",
)


class PeakMemory(NamedTuple):
    """The most that was in use, in MiB; None where nothing tells."""

    board_mib: Optional[int]
    container_mib: Optional[int]
    source: str

    def as_dict(self) -> Dict[str, object]:
        """The form that results keep."""
        return dict(self._asdict())


class MemoryWatch:
    """Samples from entering to leaving the block, and once at either end."""

    def __init__(self, container: Optional[str] = None, root: Path = Path("/")) -> None:
        self._meminfo = root / "proc/meminfo"
        self._group = _group_file(container, root) if container else None
        self._board: List[int] = []
        self._container: List[int] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample_on, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._sample()
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        self._thread.join()
        self._sample()

    def peak(self) -> PeakMemory:
        """What was seen."""
        told = [f"MemTotal - MemAvailable of the whole board, every {_EVERY_S:g} s"]
        if self._container:
            told.append("memory of the container's control group, page cache included")
        if not self._board:
            told = ["this machine has no /proc/meminfo that tells"]
        return PeakMemory(
            max(self._board, default=None), max(self._container, default=None), "; ".join(told)
        )

    def _sample_on(self) -> None:
        while not self._done.wait(_EVERY_S):
            self._sample()

    def _sample(self) -> None:
        used = _used_mib(self._meminfo)
        if used is not None:
            self._board.append(used)
        held = None if self._group is None else _number(self._group)
        if held is not None:
            self._container.append(held // _MIB)


def _used_mib(meminfo: Path) -> Optional[int]:
    found: Dict[str, int] = {}
    try:
        with meminfo.open(encoding="ascii", errors="replace") as lines:
            for line in lines:
                name, _, rest = line.partition(":")
                words = rest.split()
                if words and words[0].isdigit():
                    found[name] = int(words[0])
                if name == "MemAvailable":
                    break
    except OSError:
        return None
    if not {"MemTotal", "MemAvailable"} <= set(found):
        return None
    return (found["MemTotal"] - found["MemAvailable"]) // _KIB


def _group_file(container: str, root: Path) -> Optional[Path]:
    for pattern in _GROUP_FILES:
        path = root / pattern.format(id=container)
        if path.is_file():
            return path
    return None


def _number(path: Path) -> Optional[int]:
    try:
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
