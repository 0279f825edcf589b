"""Signals become one kind of interruption, and a moment without any.

Layer: device (standard library, Python 3.8). A lost SSH session (SIGHUP) and a stopping service
(SIGTERM) must undo a deploy just as Ctrl-C does; the undoing itself must not be cut short, so only
the first signal counts.
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
    """While the block runs, SIGTERM and SIGHUP raise KeyboardInterrupt as Ctrl-C does.

    The first of them does; what comes after it, until the block has ended, changes nothing.
    """

    def interrupt(number: int, frame: Optional[FrameType]) -> None:
        for each in _SIGNALS:
            signal.signal(each, _ignore)
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


def _ignore(number: int, frame: Optional[FrameType]) -> None:
    """A handler rather than SIG_IGN, because a signal may be under way already."""


def _may_set_handlers() -> bool:
    return threading.current_thread() is threading.main_thread()
