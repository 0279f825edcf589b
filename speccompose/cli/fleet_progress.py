"""What a rollout says while it runs: a table that moves on a terminal, lines elsewhere, or JSON.

Layer: cli. Work does not end because nobody can be told of it: a full or closed log is no fault.
"""

import contextlib
import shutil
import sys
import time
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType

import click
import msgspec

from speccompose.cli.streams import shown
from speccompose.fleet.audit import verify
from speccompose.report.fleet_progress import Progress, lasting_line
from speccompose.report.fleet_text import entry_line
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import FleetPlan

EVERY_S = 1.0


class FleetProgress:
    """Shows a rollout on standard error. Use as a context manager; call it per journal line.

    ``journal``: what a terminal is shown begins where that one stands, if it is there.
    """

    def __init__(self, plan: FleetPlan, journal: Path, *, as_json: bool) -> None:
        self._as_json = as_json
        self._moving = sys.stderr.isatty() and not as_json
        self._progress = Progress(plan)
        if self._moving and journal.exists():
            for entry in verify(journal).entries:
                self._progress.take(entry)
        self._last, self._height = time.monotonic(), 0
        self._lock, self._ended = Lock(), Event()
        self._ticker = Thread(target=self._tick, daemon=True)

    def __enter__(self) -> "FleetProgress":
        if self._moving:
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._moving:
            self._ticker.join()
            self._draw([], [])

    def __call__(self, entry: Entry, plan: FleetPlan) -> None:
        """Show one line of the journal."""
        if self._as_json:
            self._say("", msgspec.json.encode(entry).decode() + "\n")
        elif self._moving:
            self._move(entry, plan)
        else:
            line = entry_line(entry, plan)
            self._say("", f"{line}\n" if line is not None else "")

    def _move(self, entry: Entry, plan: FleetPlan) -> None:
        with self._lock:
            self._progress.take(entry)
            self._last = time.monotonic()
            line = lasting_line(entry, plan)
            if line is not None:
                self._draw([line], self._progress.lines(0.0))

    def _tick(self) -> None:
        while not self._ended.wait(EVERY_S):
            with self._lock:
                self._draw([], self._progress.lines(time.monotonic() - self._last))

    def _draw(self, lasting: list[str], table: list[str]) -> None:
        """Put lines that stay where the table stands, and the table below them."""
        width = shutil.get_terminal_size().columns - 1
        back = f"\x1b[{self._height}F\x1b[J" if self._height else ""
        fitting = [line[:width] for line in table]  # a line that wraps would take two
        self._say(back, "".join(f"{line}\n" for line in (*lasting, *fitting)))
        self._height = len(fitting)

    def _say(self, back: str, text: str) -> None:
        """Move back, and print; what boards say moves nothing."""
        with contextlib.suppress(OSError):
            if back or text:
                click.echo(back + shown(text), err=True, nl=False)
