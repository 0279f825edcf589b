"""What a control machine started on this board, and how that ended.

Layer: device (standard library, Python 3.8). One small file per stack, written by the transient
unit itself: before it begins, and when it has ended. state.json tells how the stack stands; this
tells whose work led there, also where it ended before it touched the stack.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, Optional

from speccompose.device.errors import DeviceError
from speccompose.device.paths import Roots
from speccompose.device.small_file import read_small_text
from speccompose.device.state import write_atomic

STAGE, APPLY, ROLLBACK = "stage", "apply", "rollback"
ACTIONS = (STAGE, APPLY, ROLLBACK)


class Work(NamedTuple):
    """One action. ``ended`` is False while it runs, or when the power was cut meanwhile.

    Where it measured: the ``verdict``, and output tokens/s of both arms at concurrency 1.
    """

    action: str
    rollout: str
    digest: Optional[str]
    boot: str
    ended: bool = False
    code: Optional[str] = None
    message: Optional[str] = None
    verdict: Optional[str] = None
    baseline_tokens_s: Optional[float] = None
    speculative_tokens_s: Optional[float] = None

    def failed(self, error: DeviceError) -> Work:
        """The same, ended by an error."""
        said = "; ".join([error.brief, *error.details])[:300]
        return self._replace(ended=True, code=error.code or f"status_{error.status}", message=said)


def load_work(name: str, roots: Roots) -> Optional[Work]:
    """The last action on a stack; None when there was none, or nobody can read it."""
    try:
        body = json.loads(read_small_text(_file(name, roots)))
        work = Work(**body)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return work if work.action in ACTIONS else None


def save_work(name: str, work: Work, roots: Roots) -> None:
    """Write it down; on disk when this returns.

    Raises:
        OSError: it cannot be written.
    """
    roots.stacks.mkdir(parents=True, exist_ok=True)
    text = json.dumps(work._asdict(), indent=2) + "\n"
    write_atomic(_file(name, roots), text.encode("utf-8"), 0o644)


def _file(name: str, roots: Roots) -> Path:
    return roots.stacks / f".{name}.work.json"
