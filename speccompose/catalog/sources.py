"""Data folders -> the bytes of every data file, users' files in place of shipped ones.

Layer: catalog. Finds and reads; parses nothing, so that a cached catalog costs no YAML. What does
not belong into a folder is a problem here: a file that nobody reads hides a typo.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from speccompose.catalog.layout import FOLDERS, IMAGE_FILE, TABLE_FILES, UNUSED_FOLDERS
from speccompose.catalog.problem import Problem, did_you_mean
from speccompose.catalog.text_file import read_start
from speccompose.vocab.base import Frozen

_SUFFIX = ".yaml"
_KNOWN = (*TABLE_FILES, *FOLDERS, *UNUSED_FOLDERS)


class SourceFile(Frozen, frozen=True, kw_only=True):
    """One data file: its kind, the id that its name gives it, and how messages name it."""

    kind: str
    id: str
    name: str
    content: bytes


class Sources(Frozen, frozen=True, kw_only=True):
    """Everything a catalog is made of, in a fixed order, and what could not be read."""

    files: tuple[SourceFile, ...]
    templates: dict[str, str]
    overlays: tuple[str, ...]
    problems: tuple[Problem, ...]


def read_sources(data_root: Path, overlays: tuple[Path, ...]) -> Sources:
    """Read all data files; a later overlay's file replaces one of the same kind and id.

    An overlay root that does not exist is nothing. Raises nothing: problems are collected.
    """
    problems: list[Problem] = []
    found: dict[tuple[str, str], SourceFile] = {}
    used: list[str] = []
    shipped = [
        *_profiles(data_root / "profiles", "profiles/", problems, shipped=True),
        *_images(data_root / "images", "images/", problems, shipped=True),
    ]
    for file in shipped:
        found[file.kind, file.id] = file
    for name, kind in TABLE_FILES.items():
        if (kind, name[: -len(_SUFFIX)]) not in found:
            problems.append(Problem(file=f"profiles/{name}", expected="expected this file"))
    for root in overlays:
        for file in (
            *_profiles(root, f"{root}/", problems, shipped=False),
            *_images(root / "images", f"{root}/images/", problems, shipped=False),
        ):
            found[file.kind, file.id] = file
            used.append(f"{file.name.removeprefix(f'{root}/')} from {root}")
    return Sources(
        files=tuple(found[key] for key in sorted(found)),
        templates=_templates(data_root / "compose", problems),
        overlays=tuple(used),
        problems=tuple(problems),
    )


def _profiles(
    root: Path, shown: str, problems: list[Problem], *, shipped: bool
) -> Iterator[SourceFile]:
    """Read a profiles folder: two tables and one file per entry in each known folder."""
    for entry in _entries(root, shown, problems, required=shipped):
        name = shown + entry.name
        if entry.name in TABLE_FILES:
            yield from _file(entry, TABLE_FILES[entry.name], name, problems)
        elif entry.name in FOLDERS:
            yield from _folder(entry, name, problems)
        elif entry.name in UNUSED_FOLDERS or (not shipped and entry.name == "images"):
            continue
        else:
            hint = did_you_mean(entry.name, (*_KNOWN, "images"))
            if shipped or hint:  # somebody's ./profiles may hold things that are not ours
                expected = f"expected one of {', '.join(_KNOWN)}"
                problems.append(Problem(file=name, expected=expected, hint=hint))


def _folder(
    folder: "os.DirEntry[str]", shown: str, problems: list[Problem]
) -> Iterator[SourceFile]:
    for entry in _entries(Path(folder.path), shown, problems, required=True):
        name = f"{shown}/{entry.name}"
        if entry.name.endswith(_SUFFIX):
            yield from _file(entry, FOLDERS[folder.name], name, problems)
        else:
            problems.append(Problem(file=name, expected=f"expected <id>{_SUFFIX}"))


def _images(
    root: Path, shown: str, problems: list[Problem], *, shipped: bool
) -> Iterator[SourceFile]:
    """Read images/<id>/image.yaml; other files beside it belong to the image's build."""
    for folder in _entries(root, shown, problems, required=shipped):
        name = f"{shown}{folder.name}/{IMAGE_FILE}"
        content = _read(Path(folder.path, IMAGE_FILE), name, problems)
        if content is not None:
            yield SourceFile(kind="image", id=folder.name, name=name, content=content)


def _file(
    entry: "os.DirEntry[str]", kind: str, name: str, problems: list[Problem]
) -> Iterator[SourceFile]:
    content = _read(Path(entry.path), name, problems)
    if content is not None:
        yield SourceFile(kind=kind, id=entry.name[: -len(_SUFFIX)], name=name, content=content)


def _templates(folder: Path, problems: list[Problem]) -> dict[str, str]:
    """Read the templates as text, by file name."""
    templates = {}
    for entry in _entries(folder, "compose/", problems, required=True):
        if entry.name.endswith(".j2"):
            name = f"compose/{entry.name}"
            content = _read(Path(entry.path), name, problems)
            try:
                templates[entry.name] = (content or b"").decode("utf-8")
            except UnicodeDecodeError:
                problems.append(Problem(file=name, expected="expected UTF-8 text"))
    return templates


def _entries(
    folder: Path, shown: str, problems: list[Problem], *, required: bool
) -> "list[os.DirEntry[str]]":
    """List a folder by name, without hidden files and editors' backups."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        if required:
            problems.append(Problem(file=shown, expected=f"expected the folder {folder}"))
        return []
    except OSError as error:
        reason = f"expected a readable folder: {error.strerror}"
        problems.append(Problem(file=shown, expected=reason))
        return []
    return [entry for entry in listed if not entry.name.startswith(".") and entry.name[-1] != "~"]


def _read(path: Path, name: str, problems: list[Problem]) -> bytes | None:
    """Read a file, one byte beyond the bound at most: the parser refuses what is larger."""
    try:
        return read_start(path)
    except OSError as error:
        reason = f"expected a readable file: {error.strerror}"
        problems.append(Problem(file=name, expected=reason))
        return None
