"""A checkpoint's folder -> the repository that it is a copy of, and the one it was made from.

Layer: checkpoint. A folder called <org>--<name>, the hub cache's models--<org>--<name>, the
marker that `pull` leaves, `_name_or_path`, and `base_model` in the model card say so. They are
claims: a pair is also compared by its numbers.
"""

import re
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from speccompose.checkpoint.bounded import CONFIG_LIMIT, read_bounded, read_json
from speccompose.checkpoint.folder import Folder
from speccompose.checkpoint.table import Table
from speccompose.errors import DataError

_REPO = re.compile(r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")
_FOLDER = re.compile(r"^(?:models--)?([A-Za-z0-9][\w.-]*?)--([A-Za-z0-9][\w.-]*)$")
_CARD = ("README.md", "model_card.md")
_BASE_ITEM = re.compile(r"^\s*-\s*['\"]?([\w.-]+/[\w.-]+)['\"]?\s*$")
_BASE_LINE = re.compile(r"^base_model:\s*['\"]?([\w.-]+/[\w.-]+)?['\"]?\s*$")
_MARKER = ".complete"


class Claims(NamedTuple):
    """Repositories: what it is, and what it was made from; most trusted first."""

    names: tuple[str, ...]
    bases: tuple[str, ...]


class _Marker(Struct):
    repo: str | None = None


def folder_claims(folder: Folder, root: Table) -> Claims:
    """What folder and files say; nothing in them is needed, so nothing is refused."""
    names = [
        _marker(folder),
        *(repo_of_folder(part) for part in reversed(folder.path.absolute().parts[-3:])),
    ]
    inner = root.raw("_name_or_path")
    if isinstance(inner, str):
        names.append(inner if is_repo(inner) else None)
    return Claims(_unique(names), card_bases(folder))


def repo_of_folder(name: str) -> str | None:
    """'Qwen--Qwen3-8B' and 'models--Qwen--Qwen3-8B' name Qwen/Qwen3-8B."""
    found = _FOLDER.match(name)
    return f"{found[1]}/{found[2]}" if found else None


def is_repo(text: str) -> bool:
    """Whether a text can be a repository: owner/name."""
    return _REPO.match(text) is not None


def card_bases(folder: Folder) -> tuple[str, ...]:
    """`base_model` in the front matter of the model card, read line by line."""
    for name in _CARD:
        if folder.has(name):
            try:
                content = read_bounded(folder.path / name, CONFIG_LIMIT)
            except DataError:
                continue
            return _front_matter_bases(content.decode("utf-8", "replace"))
    return ()


def _front_matter_bases(text: str) -> tuple[str, ...]:
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return ()
    found: list[str | None] = []
    listing = False
    for line in lines[1:500]:
        if line.strip() == "---":
            break
        start = _BASE_LINE.match(line)
        item = _BASE_ITEM.match(line) if listing else None
        if start:
            found.append(start[1])
            listing = start[1] is None
        elif item:
            found.append(item[1])
        else:
            listing = False
    return _unique(found)


def _marker(folder: Folder) -> str | None:
    if not folder.has(_MARKER):
        return None
    try:
        repo = read_json(Path(folder.path / _MARKER), CONFIG_LIMIT, _Marker).repo
    except DataError:
        return None
    return repo if repo and is_repo(repo) else None


def _unique(names: list[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))
