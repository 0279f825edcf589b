"""A release's counter becomes the answer whether it may follow what was committed here.

Layer: device (standard library, Python 3.8). Anti-rollback: an old bundle that somebody kept, with
its good signature and its known holes, must not come back by itself. The counter stands in
release.json of a folder that has one and counts as 0 in one that has none; a file that SHA256SUMS
does not list is not the stack's. Going back to the previous release on the board is exempt.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Tuple

from speccompose.device.errors import DATA, PREFLIGHT, DeviceError
from speccompose.device.small_file import read_small_text

RELEASE_FILE = "release.json"
_MOST_BYTES = 1024 * 1024


def read_counter(folder: Path, files: Tuple[str, ...]) -> int:
    """The counter of a checked folder, whose own files are ``files``.

    Raises:
        DeviceError: status 3 when release.json is none.
    """
    if RELEASE_FILE not in files:
        return 0
    file = folder / RELEASE_FILE
    try:
        body = json.loads(read_small_text(file, _MOST_BYTES))
        counter = body["counter"]
        if not isinstance(counter, int) or isinstance(counter, bool) or counter < 0:
            raise ValueError(f"counter: wanted a whole number, found {counter!r}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = "it has no counter" if isinstance(error, KeyError) else str(error)
        raise DeviceError(
            DATA,
            f"{file} tells no release counter",
            [reason],
            hint="build the bundle again",
            code="bad_release_file",
        ) from None
    return int(counter)


def refuse_older(name: str, counter: int, committed: int) -> None:
    """Refuse a release that is older than what was committed.

    Raises:
        DeviceError: status 15.
    """
    if counter < committed:
        raise DeviceError(
            PREFLIGHT,
            f"this release of {name} is older than what this board has committed",
            [f"its counter: {counter}", f"committed: {committed}"],
            hint="--allow-downgrade, if that is meant; rollback goes to the previous one",
            code="downgrade",
        )
