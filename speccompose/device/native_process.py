"""What systemd says of a unit that serves becomes what docker would say of a container.

Layer: device (standard library, Python 3.8). Which release a process was started from stands in
its working folder: nothing else tells it reliably (vLLM renames its processes, and the unit's file
may be the next release's already).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable, NamedTuple, Optional, Sequence, Tuple

from speccompose.device.command import Completed
from speccompose.device.docker_answers import ContainerInfo

_KEYS = (
    *("LoadState", "ActiveState", "SubState", "Result", "MainPID", "NRestarts"),
    *("ExecMainStatus", "ExecMainStartTimestampMonotonic", "InvocationID"),
)
_STATUS = {
    "active": "running",
    "reloading": "running",
    "activating": "created",
    "deactivating": "removing",
}

Ask = Callable[[Sequence[str]], Completed]
PlanOf = Callable[[Path], "Optional[Tuple[str, Tuple[str, ...], Tuple[str, ...]]]"]


class NativeProcess(NamedTuple):
    """One run of a unit. ``release`` is the folder that it was started from, if it runs."""

    status: str
    run: str
    started: str
    restarts: int
    exit_code: int
    out_of_memory: bool
    release: Optional[Path]
    image: str = ""
    entrypoint: Tuple[str, ...] = ()
    command: Tuple[str, ...] = ()

    @property
    def is_vllm(self) -> bool:
        """Whether a server runs that is the unit's own process."""
        return self.release is not None

    def as_container(self) -> Optional[ContainerInfo]:
        """The same in docker's words; None where the unit was never loaded."""
        if not self.status:
            return None
        return ContainerInfo(
            id=self.run,
            status=self.status,
            health=None,
            health_exit=None,
            health_output="",
            restarts=self.restarts,
            exit_code=self.exit_code,
            out_of_memory=self.out_of_memory,
            started_at=self.started,
            image=self.image,
            image_id=self.image,
            entrypoint=self.entrypoint,
            command=self.command,
            runtime="",
            error="",
        )


def read_process(unit: str, ask: Ask, plan_of: PlanOf, proc: Path = Path("/proc")) -> NativeProcess:
    """Ask systemd, and the kernel where the process works."""
    answer = ask(("systemctl", "show", f"--property={','.join(_KEYS)}", unit))
    found = dict(line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)
    if found.get("LoadState", "not-found") == "not-found":
        return NativeProcess("", "", "", 0, 0, False, None)
    status = _status(found)
    release = _release(found, proc) if status == "running" else None
    known = None if release is None else plan_of(release)
    image, entrypoint, command = known or ("", (), ())
    return NativeProcess(
        status=status,
        run=found.get("InvocationID", ""),
        started=found.get("ExecMainStartTimestampMonotonic", ""),
        restarts=_whole(found.get("NRestarts")),
        exit_code=_whole(found.get("ExecMainStatus")),
        out_of_memory=found.get("Result") == "oom-kill",
        release=release,
        image=image,
        entrypoint=entrypoint,
        command=command,
    )


def same_release(process: NativeProcess, folder: Path) -> bool:
    """Whether it runs, started from just this release."""
    if process.status != "running" or process.release is None:
        return False
    return os.path.realpath(str(process.release)) == os.path.realpath(str(folder))


def _status(found: "dict[str, str]") -> str:
    active, sub = found.get("ActiveState", ""), found.get("SubState", "")
    if active == "activating" and sub == "auto-restart":
        return "restarting"
    if active == "active" and _whole(found.get("MainPID")) == 0:
        return "exited"
    return _STATUS.get(active, "exited")


def _release(found: "dict[str, str]", proc: Path) -> Optional[Path]:
    """The working folder of the main process; None where there is none to see."""
    try:
        return Path(os.readlink(str(proc / str(_whole(found.get("MainPID"))) / "cwd")))
    except OSError:
        return None


def _whole(text: Optional[str]) -> int:
    return int(text) if text and text.isdigit() else 0
