"""What was allowed on a board although something spoke against it, one line each, for good.

Layer: device (standard library, Python 3.8). Taking over another rollout's transaction, going below
the committed counter, switching without a way back: <state>/stacks/<name>/notebook.jsonl says who
did it and when. It never grows without end, and a full disk is no reason not to act.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from speccompose.device.paths import StackPaths
from speccompose.device.record import Owner

MOST_BYTES = 256 * 1024


def note_down(paths: StackPaths, owner: Owner, text: str) -> None:
    """Append one line and sync it; the file before goes when there are two full ones."""
    line = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "by": owner._asdict(),
        "note": text,
    }
    file = notebook_of(paths)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists() and file.stat().st_size >= MOST_BYTES:
            os.replace(str(file), str(file.with_name(f"{file.name}.1")))
        with file.open("a", encoding="utf-8") as target:
            target.write(json.dumps(line) + "\n")
            target.flush()
            os.fsync(target.fileno())


def notebook_of(paths: StackPaths) -> Path:
    """The file; there is none before the first line."""
    return paths.home / "notebook.jsonl"
