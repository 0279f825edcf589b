"""Writes a rendered stack to a folder, all of it or nothing.

Layer: world.
"""

import os
import shutil
import tempfile
from pathlib import Path

from speccompose.catalog.text_file import read_text
from speccompose.errors import UsageError
from speccompose.vocab.rendered import RenderedStack

SUMS = "SHA256SUMS"
_SHOWN = 8


def write_stack(stack: RenderedStack, folder: Path) -> None:
    """Replace the folder's content by the stack; a half-written folder never appears.

    A link is followed: the folder that it points at is replaced, the link stays.

    Raises:
        UsageError: the folder holds something that is not of a stack, or cannot be written; what
            was there is there still.
    """
    place = Path(os.path.realpath(folder))  # "." has no name and cannot be moved
    try:
        _require_replaceable(place, folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        try:
            _write_files(stack, beside / "new")
            _swap(beside / "new", place, beside / "old")
        finally:
            if place.exists() or not (beside / "old").exists():
                shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise UsageError(
            f"cannot write {folder}: {error.strerror or error}",
            hint="name a folder with -o that you may write beside, on a disk with room",
            code="output_unwritable",
        ) from None


def _write_files(stack: RenderedStack, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    for item in stack.files:
        path = folder / item.path
        path.write_bytes(item.content)
        path.chmod(item.mode)


def _swap(new: Path, place: Path, old: Path) -> None:
    """Let the new folder stand where the old one did; when that fails, the old one again."""
    if not place.exists():
        new.rename(place)
        return
    place.rename(old)
    try:
        new.rename(place)
    finally:
        if not place.exists():
            old.rename(place)


def _require_replaceable(place: Path, named: Path) -> None:
    """Refuse a folder whose content is not all from a stack that was rendered there.

    Raises:
        UsageError: what is there is no folder, no stack, or holds files of the user's own.
        OSError: it cannot be listed.
    """
    if not place.exists():
        return
    names = {path.name for path in place.iterdir()} if place.is_dir() else {place.name}
    if not names:
        return
    if not {"plan.json", SUMS} <= names:
        raise UsageError(
            f"{named} is not empty and holds no stack",
            hint="name a new folder with -o",
            code="output_not_empty",
        )
    own = sorted(names - _rendered_names(place))
    if own:
        shown = own[:_SHOWN] + ([f"and {len(own) - _SHOWN} more"] if len(own) > _SHOWN else [])
        raise UsageError(
            f"{named} holds files that are not of the stack",
            [*shown, f"they are not in its {SUMS} and would be lost"],
            hint="move them away, or name a new folder with -o",
            code="output_not_empty",
        )


def _rendered_names(place: Path) -> set[str]:
    """What the stack's own list names; nothing counts as rendered that is a folder."""
    lines = read_text(place / SUMS).splitlines()
    listed = {SUMS, *(line.partition("  ")[2] for line in lines)}
    return {name for name in listed if name and not (place / name).is_dir()}
