"""A folder -> its safetensors weights as an engine would find them, and those it would not.

Layer: checkpoint. Engines read the files that the index names, and all tensors in those; a file
beside them is not read. Without an index every safetensors file is read.
"""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from speccompose.checkpoint.bounded import (
    INDEX_LIMIT,
    bad_checkpoint,
    read_json,
    regular_size,
    unreadable,
)
from speccompose.checkpoint.safetensors_header import TENSORS_LIMIT, StoredTensor, read_header

INDEX: Final = "model.safetensors.index.json"
ENTRIES_LIMIT: Final = 2_500
FILES_LIMIT: Final = 2_000
_PICKLED = re.compile(r"\.(bin|pt|pth|ckpt)$")


class Folder(NamedTuple):
    """Names of what lies in a checkpoint's folder, sorted."""

    path: Path
    names: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Whether there is an entry of this name."""
        return name in self.names

    def ending(self, suffix: str) -> tuple[str, ...]:
        """The names that end so."""
        return tuple(name for name in self.names if name.endswith(suffix))


class Weights(NamedTuple):
    """``tensors``: what an engine finds. ``outside``: per file that the index does not name.

    ``lost``: names of the index that stand in no file that it names. ``bytes`` are file sizes of
    what an engine reads.
    """

    tensors: dict[str, StoredTensor]
    outside: dict[str, dict[str, StoredTensor]]
    lost: tuple[str, ...]
    files: int
    bytes: int


class _Index(Struct):
    weight_map: dict[str, str]


def list_folder(path: Path) -> Folder:
    """The names in a folder.

    Raises:
        DataError: it cannot be read, or holds far more than a checkpoint does.
    """
    names: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > ENTRIES_LIMIT:
                    raise bad_checkpoint(
                        f"{path.name} is no checkpoint: it holds more than {ENTRIES_LIMIT} entries"
                    )
    except OSError as error:
        raise unreadable(path, error) from None
    return Folder(path, tuple(sorted(names)))


def read_weights(folder: Folder) -> Weights:
    """Read the headers of every safetensors file in the folder.

    Raises:
        DataError: no weights, an index that names missing files, a broken file.
    """
    present = folder.ending(".safetensors")
    if not present:
        raise _no_weights(folder)
    if len(present) > FILES_LIMIT:
        raise bad_checkpoint(f"{folder.path.name} holds {len(present)} safetensors files")
    index = _read_index(folder) if folder.has(INDEX) else None
    named = present if index is None else tuple(sorted(set(index.values())))
    tensors: dict[str, StoredTensor] = {}
    total = 0
    for name in named:
        found = read_header(folder.path / name)
        if index is None:
            _refuse_double(folder.path / name, tensors, found)
        tensors.update(found)
        total += regular_size(folder.path / name)
        _refuse_too_many(folder.path, tensors)
    outside = {name: read_header(folder.path / name) for name in present if name not in named}
    lost = tuple(name for name in index or {} if name not in tensors)
    return Weights(tensors, outside, lost, len(named), total)


def _read_index(folder: Folder) -> dict[str, str]:
    path = folder.path / INDEX
    index = read_json(path, INDEX_LIMIT, _Index).weight_map
    if not index:
        raise bad_checkpoint(f"{path.name} names no tensor")
    files = sorted(set(index.values()))
    strange = [name for name in files if "/" in name or "\\" in name or name in ("", ".", "..")]
    if strange:
        raise bad_checkpoint(f"{path.name} names a file outside its folder: {strange[0][:80]!r}")
    missing = [name for name in files if not folder.has(name)]
    if missing:
        more = [f"and {len(missing) - 5} more"] if len(missing) > 5 else []
        raise bad_checkpoint(
            f"{path.name} names {len(missing)} of {len(files)} files that are not there",
            *missing[:5],
            *more,
            hint="pull the checkpoint again, it is incomplete",
        )
    return index


def _refuse_double(
    path: Path, known: dict[str, StoredTensor], found: dict[str, StoredTensor]
) -> None:
    double = known.keys() & found.keys()
    if double:
        raise bad_checkpoint(
            f"{path.name} holds {len(double)} tensors that another file of the folder has, too",
            f"for example {min(double)[:80]}; there is no {INDEX} to decide",
        )


def _refuse_too_many(path: Path, tensors: dict[str, StoredTensor]) -> None:
    if len(tensors) > TENSORS_LIMIT:
        raise bad_checkpoint(f"{path.name} lists more than {TENSORS_LIMIT} tensors")


def _no_weights(folder: Folder) -> Exception:
    pickled = [name for name in folder.names if _PICKLED.search(name)]
    if pickled:
        return bad_checkpoint(
            f"{folder.path.name} holds pickled weights only: {pickled[0]}",
            "safetensors and GGUF can be read without running them",
            hint="convert it to safetensors",
        )
    return bad_checkpoint(
        f"{folder.path.name} holds no weights",
        "no *.safetensors and no *.gguf",
        hint="pull it first",
    )
