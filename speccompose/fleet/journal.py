"""A rollout's journal on disk: append one line, fsync, fold; read it all and go on.

Layer: fleet. Append-only JSON lines, one file per rollout, the only state there is (S19).
"""

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Final, Protocol

import msgspec

from speccompose.catalog.text_file import read_regular
from speccompose.errors import DataError
from speccompose.fleet.actions import Now
from speccompose.fleet.chain import START, line_of, read_chain
from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import FleetPlan

_MODE = 0o600
_LARGEST: Final = 1 << 30


class Journal(Protocol):
    """Where decisions are written down before anything follows from them."""

    state: RolloutState

    def record(self, draft: Entry, now: Now) -> Entry:
        """Stamp, keep and fold one entry; it is safe on disk when this returns."""
        ...


class MemoryJournal:
    """A journal that nobody reads after the process: simulations and tests."""

    def __init__(self, plan: FleetPlan, actor: str = "simulation") -> None:
        self.state = RolloutState(plan)
        self.actor = actor
        self.entries: list[Entry] = []

    def record(self, draft: Entry, now: Now) -> Entry:
        """Keep and fold one entry, with its rollout time; nobody asks for the hour."""
        entry = msgspec.structs.replace(draft, t=now.t, actor=draft.actor or self.actor)
        self.entries.append(entry)
        self.state.apply(entry)
        return entry


def journal_bytes(path: Path) -> bytes:
    """What a journal holds; nothing where there is none yet.

    Raises:
        DataError: it is no regular file, or cannot be read.
    """
    try:
        return read_regular(path, _LARGEST)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise _unusable(path, error) from error


class FileJournal:
    """The journal of one rollout. Opening it replays what is there; a torn last line is cut off.

    Raises:
        MismatchError: the journal was tampered with (status 19).
        DataError: it cannot be read or written.
    """

    def __init__(self, path: Path, plan: FleetPlan, actor: str) -> None:
        self.path, self.actor = path, actor
        self.state = RolloutState(plan)
        try:
            content = journal_bytes(path)
            read = read_chain(content, str(path))
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _MODE)
            _fsync_folder(path.parent)
            if read.torn:
                os.ftruncate(self._fd, read.size)
                os.fsync(self._fd)
        except OSError as error:
            raise _unusable(path, error) from error
        self._head, self._seq = read.head if read.entries else START, len(read.entries)
        for entry in read.entries:
            self.state.apply(entry)

    def record(self, draft: Entry, now: Now) -> Entry:
        """Stamp, write, fsync and fold one entry.

        Raises:
            DataError: it could not be written: nothing may follow from it.
        """
        entry = stamped(draft, now, self.actor, self._seq)
        line, head = line_of(entry, self._head)
        try:
            _write_all(self._fd, line)
            os.fsync(self._fd)
        except OSError as error:
            raise _unusable(self.path, error) from error
        self._head, self._seq = head, self._seq + 1
        self.state.apply(entry)
        return entry

    def close(self) -> None:
        """Give the file back."""
        os.close(self._fd)


def stamped(draft: Entry, now: Now, actor: str, seq: int) -> Entry:
    """A draft with who and when: rollout time, and UTC for people."""
    at = datetime.fromtimestamp(now.wall, timezone.utc).isoformat(timespec="milliseconds")
    return msgspec.structs.replace(draft, t=now.t, at=at, actor=draft.actor or actor, seq=seq)


def _fsync_folder(folder: Path) -> None:
    """A new file's name is safe only when its folder is."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _unusable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"the journal {path} cannot be used: {error.strerror}",
        hint="without a journal nothing is started; mend it, then `speccompose fleet resume`",
        code="journal_unusable",
    )
