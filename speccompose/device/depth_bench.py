"""One depth after the other of an installed stack becomes runs that are kept.

Layer: device (standard library, Python 3.8). Which depth comes next is decided elsewhere; this
measures it and writes it down. Every depth has a folder of its own below one session, and a
session is known by what its figures hold for: build, weights, prompts, pace, power mode. So
whoever is killed goes on where it was: a depth whose file says 'finished' is not measured again,
one that was cut short is.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from speccompose.device.accept import Arms
from speccompose.device.artifacts import Artifacts, write_whole
from speccompose.device.compose_cli import COMPOSE_FAILED
from speccompose.device.conditions import Conditions, changes, read_conditions
from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.ports import Progress, Say
from speccompose.device.result_document import conditions_document, run_document
from speccompose.device.runner import Runner
from speccompose.device.runs import BASELINE, SPECULATIVE
from speccompose.device.small_file import read_small_text
from speccompose.device.window import Order, Served

Json = Dict[str, object]

DEPTH_FILE = "depth.json"
IDENTITY_FILE = "session.json"
_LARGEST = 64 * 1024 * 1024


class Sweep(NamedTuple):
    """How every depth is measured. ``levels``: the concurrencies, each so many ``repeats``;
    ``commands``: what each depth runs, so that figures of another command are not taken for its.
    """

    levels: Tuple[int, ...]
    repeats: int
    mark: str
    runner: Runner
    commands: Mapping[int, Tuple[str, ...]]


class DepthRuns(NamedTuple):
    """What one depth gave. ``runs`` are as results keep them.

    ``refused``: why the engine did not start with it. ``faults``: why its figures do not count.
    """

    depth: int
    runs: Tuple[Json, ...] = ()
    conditions: Optional[Json] = None
    folder: Optional[str] = None
    reused: bool = False
    refused: Optional[str] = None
    faults: Tuple[str, ...] = ()


class DepthBench:
    """A stack under a depth search.

    ``arm_of`` names the arm that serves a depth, and whether the depth is said per request.
    """

    def __init__(
        self,
        arms: Arms,
        sweep: Sweep,
        folder: Path,
        *,
        arm_of: Callable[[int], Tuple[str, bool]],
        say: Say,
        conditions: Callable[[], Conditions] = read_conditions,
    ) -> None:
        self._arms = arms
        self._sweep = sweep
        self._folder = folder
        self._arm_of = arm_of
        self._say = say
        self._conditions = conditions
        self.readings: List[Conditions] = []
        self.touched = False

    def measure(self, depth: int) -> DepthRuns:
        """Measure one depth, or take what an earlier search has finished of it.

        Raises:
            DeviceError: docker does not answer, or does not start what it is given: that says
                nothing of the depth.
            KeyboardInterrupt: passed on; what was measured of this depth is on the disk.
        """
        folder = self._folder / f"depth-{depth}"
        kept = _finished(folder, depth, self._sweep.commands[depth])
        if kept is not None:
            self._tell(f"depth {depth}: measured before, {len(kept.runs)} runs are taken over")
            return kept
        arm, per_request = self._arm_of(depth)
        self._tell(f"depth {depth}: {'asking for it' if per_request else 'starting'}")
        self.touched = True
        try:
            served = self._arms.start(arm)
        except DeviceError as error:
            if error.status == PREFLIGHT or error.code == COMPOSE_FAILED:
                raise
            return DepthRuns(depth, refused="; ".join([error.brief, *error.details]))
        return self._run_all(depth, served, folder, depth if per_request else None)

    def _run_all(
        self, depth: int, served: Served, folder: Path, draft_tokens: Optional[int]
    ) -> DepthRuns:
        clear(folder)
        artifacts = Artifacts(folder)
        runs: List[Json] = []
        readings = [self._read()]
        faults: List[str] = []
        # One server for several depths must not find a depth's prompts in its cache.
        mark = self._sweep.mark if draft_tokens is None else f"{self._sweep.mark}/{depth}"
        for repeat in range(1, self._sweep.repeats + 1):
            for level in self._sweep.levels:
                order = Order(
                    SPECULATIVE if depth else BASELINE,
                    level,
                    repeat,
                    mark,
                    draft_tokens,
                    f"depth-{depth}",
                )
                window = self._sweep.runner.run(served, order)
                readings.append(self._read())
                artifacts.add_run(window, readings[-1])
                runs.append(run_document(window))
                faults = [f"depth {depth}, {window.run.label}: {e}" for e in window.run.errors]
                faults += [*changes(self.readings), *_kept_fault(artifacts)]
                if faults:
                    return self._done(depth, runs, readings, folder, faults)
                self._tell(
                    f"depth {depth}, {level} at once, repeat {repeat}: "
                    f"{window.run.output_tokens_s:.1f} tokens/s"
                )
        return self._done(depth, runs, readings, folder, [])

    def _done(
        self,
        depth: int,
        runs: Sequence[Json],
        readings: Sequence[Conditions],
        folder: Path,
        faults: Sequence[str],
    ) -> DepthRuns:
        told = conditions_document(readings)
        body = {
            "depth": depth,
            "command": list(self._sweep.commands[depth]),
            "finished": not faults,
            "faults": list(faults),
            "runs": list(runs),
            "conditions": told,
        }
        fault = write_whole(folder / DEPTH_FILE, json.dumps(body, indent=2) + "\n")
        return DepthRuns(
            depth,
            tuple(runs),
            told,
            str(folder),
            faults=tuple(dict.fromkeys([*faults, *([fault] if fault else [])])),
        )

    def _read(self) -> Conditions:
        self.readings.append(self._conditions())
        return self.readings[-1]

    def _tell(self, message: str) -> None:
        self._say(Progress("tune", message))


def session_folder(home: Path, identity: Mapping[str, object], *, fresh: bool) -> Path:
    """The folder of a session: the same for the same identity. ``fresh`` sets the old one aside.

    Raises:
        OSError: it cannot be set aside or written.
    """
    text = json.dumps(identity, sort_keys=True, default=str)
    folder = home / "tune" / hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
    if fresh and folder.exists():
        folder.rename(folder.with_name(f"{folder.name}.{time.strftime('%Y%m%dT%H%M%SZ')}"))
    folder.mkdir(parents=True, exist_ok=True)
    fault = write_whole(folder / IDENTITY_FILE, json.dumps(identity, indent=2, default=str) + "\n")
    if fault is not None:
        raise OSError(fault)
    return folder


def clear(folder: Path) -> None:
    """Runs of a depth that was cut short make room for new ones; nothing else lies there."""
    for name in ("runs.jsonl", DEPTH_FILE):
        path = folder / name
        if path.is_file() and not path.is_symlink():
            path.unlink()


def _finished(folder: Path, depth: int, command: Tuple[str, ...]) -> Optional[DepthRuns]:
    """What an earlier search has finished of a depth; None when it has not, with another command,
    or it cannot be read.
    """
    try:
        body: object = json.loads(read_small_text(folder / DEPTH_FILE, _LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or body.get("finished") is not True:
        return None
    runs, told = body.get("runs"), body.get("conditions")
    same = body.get("depth") == depth and body.get("command") == list(command)
    if not same or not isinstance(runs, list) or not runs:
        return None
    conditions = told if isinstance(told, dict) else None
    return DepthRuns(depth, tuple(runs), conditions, str(folder), reused=True)


def _kept_fault(artifacts: Artifacts) -> List[str]:
    return [] if artifacts.fault is None else [artifacts.fault]
