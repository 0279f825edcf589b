"""What long work says while it runs: one moving line on a terminal, plain lines elsewhere.

Layer: cli.
"""

import contextlib
import sys
import time
from types import TracebackType

import click

from speccompose.cli.streams import shown
from speccompose.device.ports import Progress

PLAIN_EVERY_S = 10.0
WIDTH = 79


class ProgressLine:
    """Shows Progress on standard error. Use as a context manager; call it per event."""

    def __init__(self) -> None:
        self._moving = sys.stderr.isatty()
        self._shown: tuple[str, str] | None = None
        self._last = 0.0

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._finish()

    def __call__(self, event: Progress) -> None:
        """Show one event; a plain log gets each new message, and repeats at most every 10 s.

        Work does not end because nobody can be told of it: a full or closed log is no fault.
        """
        with contextlib.suppress(OSError):
            self._show(event)

    def _show(self, event: Progress) -> None:
        text = f"{event.step}: {event.message}"
        if event.elapsed_s >= 1:
            text += f" ({event.elapsed_s:.0f} s)"
        if self._moving:
            self._move(event, text)
        elif (event.step, event.message) != self._shown and self._due(event):
            click.echo(shown(text), err=True)
            self._shown, self._last = (event.step, event.message), time.monotonic()

    def _move(self, event: Progress, text: str) -> None:
        if self._shown is not None and self._shown[0] != event.step:
            click.echo(err=True)
        click.echo("\r" + shown(text)[:WIDTH].ljust(WIDTH), err=True, nl=False)
        self._shown = (event.step, event.message)

    def _due(self, event: Progress) -> bool:
        new_step = self._shown is None or self._shown[0] != event.step
        return new_step or time.monotonic() - self._last >= PLAIN_EVERY_S

    def _finish(self) -> None:
        if self._moving and self._shown is not None:
            click.echo(err=True)
