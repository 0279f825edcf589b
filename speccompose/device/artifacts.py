"""What was measured becomes files, line by line while it is measured.

Layer: device (standard library, Python 3.8). runs.jsonl grows by one line per run, so that a
crash or Ctrl-C loses nothing; result.json comes at the end. A full disk is a fault of the
measurement, not a crash.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Dict, List, Mapping, Optional

from speccompose.device.answer_reader import Sample
from speccompose.device.conditions import Conditions
from speccompose.device.window import Window


class Artifacts:
    """A folder for one measurement; without a folder nothing is written."""

    def __init__(self, folder: Optional[Path] = None) -> None:
        self.folder = folder
        self.fault: Optional[str] = None

    def add_run(self, window: Window, conditions: Conditions) -> None:
        """Append one run, with every request of it."""
        line: Dict[str, object] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **window.run.as_dict(),
            "errors": list(window.run.errors),
            "window_s": round(window.load.window_s, 4),
            "latency_ms": _latency(window),
            "counters": None if window.counted is None else dict(window.counted._asdict()),
            "conditions": conditions.as_dict(),
            "requests": [_request(sample) for sample in window.load.samples],
        }
        self._write("runs.jsonl", json.dumps(line) + "\n", append=True)

    def finish(self, result: Mapping[str, object]) -> None:
        """Write the result."""
        self._write("result.json", json.dumps(result, indent=2) + "\n", append=False)

    def _write(self, name: str, text: str, append: bool) -> None:
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / name).open("a" if append else "w", encoding="utf-8") as target:
                target.write(text)
                target.flush()
                os.fsync(target.fileno())
        except OSError as error:
            self.fault = f"the measurements cannot be kept in {self.folder}: {error.strerror}"


def _latency(window: Window) -> Dict[str, Dict[str, Optional[float]]]:
    load = window.load
    measures = {
        "ttft": load.ttft_ms,
        "tpot": load.tpot_ms,
        "inter_token": load.gap_ms,
        "end_to_end": load.e2e_ms,
    }
    return {
        name: {f"p{share:.0%}"[:-1]: _rounded(of(share)) for share in (0.5, 0.9, 0.99)}
        for name, of in measures.items()
    }


def _request(sample: Sample) -> List[Optional[float]]:
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


def _rounded(value: Optional[float]) -> Optional[float]:
    return None if value is None else round(value, 3)
