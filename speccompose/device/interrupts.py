"""Signals become one kind of interruption, and a moment without any.

Layer: device (standard library, Python 3.8). A lost SSH session (SIGHUP) and a stopping service
(SIGTERM) must undo a deploy just as Ctrl-C does; the undoing itself must not be cut short.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from types import FrameType
from typing import Iterator, Optional

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """While the block runs, SIGTERM and SIGHUP raise KeyboardInterrupt as Ctrl-C does."""

    def interrupt(number: int, frame: Optional[FrameType]) -> None:
        raise KeyboardInterrupt

    if not _may_set_handlers():
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """While the block runs, the three signals are ignored; child processes do not get them."""
    if not _may_set_handlers():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _may_set_handlers() -> bool:
    return threading.current_thread() is threading.main_thread()
