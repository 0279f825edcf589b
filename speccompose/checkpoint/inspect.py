"""A path -> what the checkpoint there is. The door of this layer.

Layer: checkpoint. A folder with a config.json, a GGUF file, or a folder with one GGUF.
"""

import stat
from pathlib import Path

from speccompose.checkpoint.bounded import bad_checkpoint, unreadable
from speccompose.checkpoint.folder import Folder, list_folder
from speccompose.checkpoint.gguf_facts import is_first_part, read_gguf
from speccompose.checkpoint.gguf_header import MAGIC
from speccompose.checkpoint.hf_facts import read_hf_folder
from speccompose.errors import DataError
from speccompose.vocab.checkpoint import CheckpointFacts


def inspect_checkpoint(path: Path) -> CheckpointFacts:
    """Read headers and metadata of a checkpoint; never its weights.

    Raises:
        DataError: status 3; no checkpoint, or one that is broken, incomplete or absurd.
    """
    try:
        return _inspect(path.absolute())
    except DataError as error:
        raise located(error, path) from None


def located(error: DataError, path: Path) -> DataError:
    """The refusal with the place that was asked for; its lines name files only."""
    return DataError(
        error.brief, (*error.details, f"read: {path}"), hint=error.hint, code=error.code
    )


def _inspect(path: Path) -> CheckpointFacts:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        return _inspect_folder(list_folder(path))
    if stat.S_ISREG(mode) and (path.suffix == ".gguf" or _begins_with_magic(path)):
        return read_gguf(path)
    hint = "name its folder" if path.suffix in (".safetensors", ".json") else None
    raise bad_checkpoint(
        f"{path.name} is no checkpoint",
        "wanted a folder with config.json and *.safetensors, or a GGUF file",
        hint=hint,
    )


def _inspect_folder(folder: Folder) -> CheckpointFacts:
    if folder.has("config.json") and folder.ending(".safetensors"):
        return read_hf_folder(folder)
    models = [
        name
        for name in folder.ending(".gguf")
        if is_first_part(name) and not name.startswith("mmproj")
    ]
    if len(models) == 1:
        return read_gguf(folder.path / models[0])
    if models:
        raise bad_checkpoint(
            f"{folder.path.name} holds {len(models)} GGUF models",
            ", ".join(models[:8]),
            hint="name one of the files",
        )
    if folder.has("config.json"):
        return read_hf_folder(folder)
    raise bad_checkpoint(
        f"{folder.path.name} is no checkpoint",
        "it has neither a config.json nor a *.gguf",
        hint="name the folder that the weights were pulled into",
    )


def _begins_with_magic(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except OSError as error:
        raise unreadable(path, error) from None
