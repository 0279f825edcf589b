"""watch.json: what the watch saw of a stack, what it did, and why it gave up.

Layer: device (standard library, Python 3.8). Written at every pass, so without waiting for the
disk (eMMC wears); a mark that must outlive a power cut is synced. What cannot be read is nothing:
the next pass begins anew, and state.json still says that a stack was given up.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

from speccompose.device import state
from speccompose.device.paths import StackPaths
from speccompose.device.small_file import read_small_text
from speccompose.device.watch_decision import Memory
from speccompose.device.watch_quality import Note, Window

VERSION = 1
_LARGEST = 256 * 1024


class Mark(NamedTuple):
    """Why and when the watch gave a stack up; ``last_lines`` are of its log, without secrets."""

    reason: str
    since: str
    last_lines: Tuple[str, ...] = ()


class Watched(NamedTuple):
    """watch.json. ``deployed`` names the state it is about: another one begins anew.

    ``checked`` is the start of which the GPU was checked.
    """

    boot: str
    deployed: str
    state: str = ""
    reason: str = ""
    looked_at: str = ""
    memory: Memory = Memory()
    window: Optional[Window] = None
    checked: str = ""
    notes: Tuple[Note, ...] = ()
    mark: Optional[Mark] = None


def watch_path(paths: StackPaths) -> Path:
    """Where a stack's watch.json is."""
    return paths.home / "watch.json"


def load_watched(paths: StackPaths) -> Optional[Watched]:
    """What the last pass left; None when there is nothing that can be read."""
    try:
        body = json.loads(read_small_text(watch_path(paths), _LARGEST))
        return _parse(body)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def save_watched(paths: StackPaths, watched: Watched) -> None:
    """Replace watch.json in one step; a mark is on the disk when this returns.

    Raises:
        OSError: it cannot be written.
    """
    content = (json.dumps(_as_body(watched), indent=1) + "\n").encode("utf-8")
    if watched.mark is not None:
        state.write_atomic(watch_path(paths), content, 0o644)
        return
    draft = watch_path(paths).with_name(".watch.json.new")
    draft.write_bytes(content)
    os.replace(str(draft), str(watch_path(paths)))


def watch_notices(paths: StackPaths, record: state.Record) -> List[str]:
    """What `status` adds: why a stack was given up and what to do, or what was noticed of it."""
    watched = load_watched(paths)
    if record.phase == state.DEGRADED:
        mark = None if watched is None else watched.mark
        why = "watch.json does not say why" if mark is None else f"{mark.reason} ({mark.since})"
        return [
            f"degraded: {why}; mend the cause, then: speccompose deploy {paths.name}",
        ]
    if watched is None or watched.deployed != deployed_mark(record):
        return []
    return [f"{note.code}: {note.message}" for note in watched.notes]


def deployed_mark(record: state.Record) -> str:
    """What a deploy, a stop or an acceptance changes: the watch counts anew after it."""
    return f"{record.digest} {record.phase} {record.since}"


def _as_body(watched: Watched) -> Dict[str, object]:
    body: Dict[str, object] = {"version": VERSION, **watched._asdict()}
    body["memory"] = dict(watched.memory._asdict())
    body["window"] = None if watched.window is None else dict(watched.window._asdict())
    body["notes"] = [dict(note._asdict()) for note in watched.notes]
    body["mark"] = None if watched.mark is None else dict(watched.mark._asdict())
    return body


def _parse(body: "Dict[str, object]") -> Watched:
    """Raises ValueError, KeyError, TypeError or AttributeError when it is none."""
    if body["version"] != VERSION:
        raise ValueError(f"version {body['version']}")
    window, mark, notes = body["window"], body["mark"], body["notes"]
    if not isinstance(notes, list):
        raise ValueError("notes: wanted a list")
    return Watched(
        boot=str(body["boot"]),
        deployed=str(body["deployed"]),
        state=str(body["state"]),
        reason=str(body["reason"]),
        looked_at=str(body["looked_at"]),
        memory=_memory(_object(body["memory"])),
        window=None if window is None else _window(_object(window)),
        checked=str(body["checked"]),
        notes=tuple(Note(str(_object(n)["code"]), str(_object(n)["message"])) for n in notes),
        mark=None if mark is None else _mark(_object(mark)),
    )


def _memory(body: "Dict[str, object]") -> Memory:
    restarts = body["restarts"]
    if not isinstance(restarts, list):
        raise ValueError("restarts: wanted a list")
    return Memory(
        start=str(body["start"]),
        first_seen_s=_number(body["first_seen_s"]),
        was_ready=body["was_ready"] is True,
        progress=_number_or_none(body["progress"]),
        token_at_s=_number_or_none(body["token_at_s"]),
        strikes=int(_number(body["strikes"])),
        docker_restarts=int(_number(body["docker_restarts"])),
        restarts=tuple(_number(at) for at in restarts),
        in_vain=int(_number(body["in_vain"])),
        by_hand=body["by_hand"] is True,
        restarting=body.get("restarting") is True,
    )


def _window(body: "Dict[str, object]") -> Window:
    return Window(
        drafts=_number(body["drafts"]),
        draft_tokens=_number(body["draft_tokens"]),
        accepted=_number(body["accepted"]),
        generated=_number_or_none(body["generated"]),
    )


def _mark(body: "Dict[str, object]") -> Mark:
    lines = body["last_lines"]
    kept = tuple(str(line) for line in lines) if isinstance(lines, list) else ()
    return Mark(str(body["reason"]), str(body["since"]), kept)


def _object(value: object) -> "Dict[str, object]":
    if not isinstance(value, dict):
        raise ValueError(f"wanted an object, found {value!r}")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"wanted a number, found {value!r}")
    return float(value)


def _number_or_none(value: object) -> Optional[float]:
    return None if value is None else _number(value)
