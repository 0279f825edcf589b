"""What was measured becomes files, line by line while it is measured.

Layer: device (standard library, Python 3.8). runs.jsonl grows by one line per run, so that a
crash or Ctrl-C loses nothing; result.json comes at the end. A full disk is a fault of the
measurement, not a crash.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Dict, List, Mapping, Optional

from speccompose.device.answer_reader import Sample
from speccompose.device.conditions import Conditions
from speccompose.device.result_document import run_document
from speccompose.device.window import Window


class Artifacts:
    """A folder for one measurement; without a folder nothing is written."""

    def __init__(self, folder: Optional[Path] = None) -> None:
        self.folder = folder
        self.fault: Optional[str] = None

    def add_run(self, window: Window, conditions: Conditions) -> None:
        """Append one run, with every request of it."""
        line: Dict[str, object] = {
            **run_document(window),
            "conditions": conditions.as_dict(),
            "samples": [_sample(sample) for sample in window.load.samples],
        }
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / "runs.jsonl").open("a", encoding="utf-8") as target:
                target.write(json.dumps(line) + "\n")
                target.flush()
                os.fsync(target.fileno())
        except OSError as error:
            self.fault = unkept(self.folder, error)

    def finish(self, result: Mapping[str, object]) -> None:
        """Write the result, whole or not at all."""
        if self.folder is None:
            return
        fault = write_whole(self.folder / "result.json", json.dumps(result, indent=2) + "\n")
        self.fault = fault or self.fault


def write_whole(path: Path, text: str) -> Optional[str]:
    """Write a file that is never seen half written; why it could not be, None when it was."""
    new = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new.open("w", encoding="utf-8") as target:
            target.write(text)
            target.flush()
            os.fsync(target.fileno())
        os.replace(str(new), str(path))
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        return unkept(path.parent, error)
    return None


def unkept(folder: Path, error: OSError) -> str:
    """The fault of a measurement that could not be written down."""
    return f"the measurements cannot be kept in {folder}: {error.strerror}"


def _sample(sample: Sample) -> List[Optional[float]]:
    """One request as [ttft, tpot, end to end in ms, tokens, pieces]; short, there are many."""
    return [
        _milliseconds(sample.ttft_s),
        _milliseconds(sample.tpot_s),
        _milliseconds(sample.e2e_s),
        sample.tokens,
        len(sample.arrivals),
    ]


def _milliseconds(seconds: Optional[float]) -> Optional[float]:
    return None if seconds is None else round(seconds * 1000, 3)
