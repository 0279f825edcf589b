"""speccompose.lock: text -> what it pins, and back.

Layer: catalog. JSON, because every plan reads it and must not wait for a YAML parser.
"""

from pathlib import Path

import msgspec

from speccompose.catalog.text_file import read_regular
from speccompose.errors import DataError
from speccompose.vocab.lock import Lock

NAME = "speccompose.lock"
_LARGEST = 64 * 1024 * 1024


def read_lock(path: Path) -> Lock:
    """What a lock file pins.

    Raises:
        DataError: status 3; it cannot be read, or is none.
    """
    try:
        return msgspec.json.decode(read_regular(path, _LARGEST), type=Lock)
    except OSError as error:
        raise DataError(
            f"cannot read {path}: {error.strerror}",
            hint="name a lock file with SPECCOMPOSE_LOCK, or unset it",
            code="bad_lock",
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} is no lock file",
            [str(error)],
            hint="`speccompose lock` writes it; do not edit it by hand",
            code="bad_lock",
        ) from None


def write_lock(lock: Lock) -> str:
    """The file's text; the same content is the same text."""
    text = msgspec.json.format(msgspec.json.encode(lock, order="sorted"), indent=2)
    return text.decode("utf-8") + "\n"
