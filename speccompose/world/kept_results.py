"""result.json of an acceptance or a tuning becomes its type, wherever it lies.

Layer: world. For reports and comparisons; nothing is judged here.
"""

from pathlib import Path
from typing import TypeVar

import msgspec

from speccompose.catalog.text_file import read_regular
from speccompose.errors import DataError, UsageError
from speccompose.vocab.acceptance_result import AcceptanceResult
from speccompose.vocab.tuning_result import TuningResult

RESULT = "result.json"
ACCEPT, TUNE = "accept", "tune"
_LARGEST = 64 * 1024 * 1024

Result = TypeVar("Result", AcceptanceResult, TuningResult)


def load_acceptance(path: Path) -> AcceptanceResult:
    """An acceptance's result: the file, or the folder that holds it.

    Raises:
        DataError: status 3; it cannot be read, or is no such result.
    """
    return _load(path, AcceptanceResult)


def load_tuning(path: Path) -> TuningResult:
    """A tuning's result: the file, or the folder that holds it.

    Raises:
        DataError: as ``load_acceptance``.
    """
    return _load(path, TuningResult)


def newest_tuning(stack: str, state_root: Path) -> TuningResult | None:
    """The newest search of depths of a stack that counts; None without one.

    Its folders are named by what was searched, so only the result says when.

    Raises:
        DataError: one cannot be read.
    """
    files = (state_root / "stacks" / stack / TUNE).glob(f"*/{RESULT}")
    found = [result for result in map(load_tuning, files) if result.outcome != "invalid"]
    return max(found, key=lambda result: result.started_at or "", default=None)


def find_acceptance(what: str, state_root: Path) -> AcceptanceResult:
    """What a command line means: a file, a folder, or the newest acceptance of a stack.

    Raises:
        UsageError: there is none of that name.
        DataError: it cannot be read.
    """
    path = Path(what)
    if path.exists():
        return load_acceptance(path)
    kept = state_root / "stacks" / what / ACCEPT
    found = sorted(kept.glob(f"*/{RESULT}")) if "/" not in what else []
    if not found:
        raise UsageError(
            f"{what} is no result file, no folder with one, and no stack with an acceptance",
            hint=f"speccompose accept {what} keeps one; {kept.parent.parent} holds the stacks",
            code="no_result",
        )
    return load_acceptance(found[-1])


def _load(path: Path, kind: type[Result]) -> Result:
    file = path / RESULT if path.is_dir() else path
    try:
        return msgspec.json.decode(read_regular(file, _LARGEST), type=kind)
    except OSError as error:
        raise DataError(
            f"cannot read the result {file}: {error.strerror or error}", code="bad_result"
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(
            f"{file} is no result of {'accept' if kind is AcceptanceResult else 'tune'}",
            [str(error)],
            hint="name the result.json of a measurement",
            code="bad_result",
        ) from None
