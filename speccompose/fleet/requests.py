"""What another process asks of a running controller: pause, abort, skip; files in its folder.

Layer: fleet. Written whole and renamed into place, read in the order of their names, deleted when
taken. No daemon, no socket: it works over whatever shares the folder, and survives a crash.
"""

import os
import time
from pathlib import Path

import msgspec

from speccompose.catalog.text_file import read_regular
from speccompose.errors import DataError
from speccompose.vocab.rollout_journal import Entry

FOLDER = "requests"


def ask(rollout_folder: Path, entry: Entry) -> Path:
    """Leave a request for whoever runs this rollout; returns its file.

    Raises:
        DataError: the folder cannot be written.
    """
    folder = rollout_folder / FOLDER
    name = f"{time.time_ns():020d}-{os.getpid()}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".{name}"
        draft.write_bytes(msgspec.json.encode(entry))
        return draft.replace(folder / name)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be written: {error.strerror}", code="request_unwritable"
        ) from error


class Requests:
    """The controller's end: each request once."""

    def __init__(self, rollout_folder: Path) -> None:
        self._folder = rollout_folder / FOLDER

    def __call__(self) -> tuple[Entry, ...]:
        """Take what is there. A file that is no request is set aside as .rejected."""
        try:
            paths = sorted(path for path in self._folder.iterdir() if path.suffix == ".json")
        except (FileNotFoundError, NotADirectoryError):
            return ()
        taken = []
        for path in paths:
            if path.name.startswith("."):
                continue
            try:
                taken.append(msgspec.json.decode(read_regular(path), type=Entry))
                path.unlink()
            except FileNotFoundError:
                continue
            except (msgspec.MsgspecError, OSError):
                path.replace(path.with_suffix(".rejected"))
        return tuple(taken)


def pause_request(actor: str, reason: str = "operator") -> Entry:
    """Start nothing new, let what runs end."""
    return Entry(event="pausing", actor=actor, reason=reason)


def abort_request(actor: str, reason: str = "operator") -> Entry:
    """Stop, and take back what the policy says."""
    return Entry(event="aborting", actor=actor, reason=reason)


def skip_request(actor: str, board: str, reason: str = "operator") -> Entry:
    """Leave one board out: it counts neither as done nor as failed."""
    return Entry(event="board", actor=actor, board=board, phase="skipped", reason=reason)
