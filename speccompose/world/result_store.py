"""Results as lines of <state>/results.jsonl: what was measured here is not measured twice.

Layer: world. One line per verdict or chosen depth, appended whole and synced; of several with one
key the last counts. A line that cannot be read is skipped and a file that cannot be is set aside:
results are a help to planning, and never stop it.
"""

import os
from pathlib import Path

import msgspec

from speccompose.catalog.text_file import read_regular, read_start
from speccompose.errors import DataError
from speccompose.vocab.measured import (
    MeasuredKey,
    MeasuredResult,
    StoredResult,
    TunedKey,
    TunedResult,
)

NAME = "results.jsonl"
ASIDE = "results.jsonl.unreadable"
_LARGEST = 256 * 1024 * 1024


def read_results(state_root: Path) -> tuple[StoredResult, ...]:
    """The last result of every key; none where there is no file that can be read."""
    try:
        data = read_regular(state_root / NAME, _LARGEST)
    except OSError:
        return ()
    found: dict[MeasuredKey | TunedKey, StoredResult] = {}
    for line in data.splitlines():
        result = _decoded(line)
        if isinstance(result, MeasuredResult):
            found[result.key] = result
        elif isinstance(result, TunedResult):
            found[result.tuned] = result
    return tuple(found.values())


_VERDICTS = msgspec.json.Decoder(MeasuredResult)
_TUNINGS = msgspec.json.Decoder(TunedResult)


def _decoded(line: bytes) -> StoredResult | None:
    """A line as what it is; None when it is neither."""
    for decoder in (_VERDICTS, _TUNINGS):
        try:
            return decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return None


def add_result(state_root: Path, result: StoredResult) -> None:
    """Append a result; on disk when this returns.

    Raises:
        DataError: it cannot be written; what stood there before is as it was.
    """
    file = state_root / NAME
    line = msgspec.json.encode(result) + b"\n"
    try:
        state_root.mkdir(parents=True, exist_ok=True)
        _set_aside(file)
        # One write: two acceptances at once give two whole lines, in whatever order.
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, _line_break(descriptor) + line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _sync_folder(state_root)
    except OSError as error:
        raise DataError(
            f"cannot keep the result in {file}: {error.strerror}",
            hint="the next plan will not know of this measurement",
            code="result_not_kept",
        ) from None


def _set_aside(file: Path) -> None:
    """What is no readable file makes room; it is kept for whoever wants to look."""
    if file.is_symlink() or file.exists():
        try:
            read_start(file, 0)
            return
        except OSError:
            file.rename(file.with_name(ASIDE))


def _line_break(descriptor: int) -> bytes:
    """A line that a power cut left half written must not swallow the next one."""
    size = os.fstat(descriptor).st_size
    return b"" if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n" else b"\n"


def _sync_folder(folder: Path) -> None:
    """The new file's name must survive a power cut too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
