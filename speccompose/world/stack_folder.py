"""Writes a rendered stack to a folder, all of it or nothing.

Layer: world.
"""

import shutil
import tempfile
from pathlib import Path

from speccompose.errors import UsageError
from speccompose.vocab.rendered import RenderedStack


def write_stack(stack: RenderedStack, folder: Path) -> None:
    """Replace the folder's content by the stack; a half-written folder never appears.

    Raises:
        UsageError: the folder holds something that is no stack, or cannot be written.
    """
    if folder.exists() and not _replaceable(folder):
        raise UsageError(
            f"{folder} is not empty and holds no stack",
            hint="name a new folder with -o",
            code="output_not_empty",
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            _write_files(stack, draft)
            if folder.exists():
                shutil.rmtree(folder)
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise UsageError(
            f"cannot write {folder}: {error.strerror}", code="output_unwritable"
        ) from None


def _write_files(stack: RenderedStack, folder: Path) -> None:
    folder.chmod(0o755)
    for item in stack.files:
        path = folder / item.path
        path.write_bytes(item.content)
        path.chmod(item.mode)


def _replaceable(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    return not names or {"plan.json", "compose.yaml", "SHA256SUMS"} <= names
