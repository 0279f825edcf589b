"""An index without the prediction heads that lie beside it -> one that names them, too.

Layer: checkpoint. The old index stays, byte for byte, as model.safetensors.index.json.original,
written first and never overwritten; the new one takes the name that engines read, in one step.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from speccompose.catalog.plain_data import Plain
from speccompose.checkpoint.bounded import (
    CONFIG_LIMIT,
    INDEX_LIMIT,
    bad_checkpoint,
    decode_object,
    read_bounded,
    read_object,
)
from speccompose.checkpoint.folder import INDEX, Folder, list_folder, read_weights
from speccompose.checkpoint.mtp import MtpNames, promised_heads
from speccompose.checkpoint.parameters import tensor_facts
from speccompose.checkpoint.quantisation import Quantisation
from speccompose.checkpoint.safetensors_header import StoredTensor
from speccompose.checkpoint.table import LAYERS, Table
from speccompose.errors import DataError

ORIGINAL: Final = f"{INDEX}.original"


class Repair(NamedTuple):
    """What was registered: how many tensors of which files; none when nothing was missing."""

    tensors: int
    files: tuple[str, ...]
    original: str


def repair_index(path: Path) -> Repair:
    """Register the prediction heads of every file that the index does not name.

    A second run finds nothing to do.

    Raises:
        DataError: no safetensors folder, a name that the index gives to another file, two files
            with the same name, or the folder cannot be written.
    """
    folder = list_folder(path)
    missing = _missing(folder)
    if not missing:
        return Repair(0, (), ORIGINAL)
    content = read_bounded(path / INDEX, INDEX_LIMIT)
    index = decode_object(content, path / INDEX)
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, dict):
        raise bad_checkpoint(f"{INDEX} has no weight_map")
    owners = {name: file for name, (file, _) in missing.items()}
    merged = dict(sorted({**weight_map, **owners}.items()))
    tensors = {name: tensor for name, (_, tensor) in missing.items()}
    repaired: dict[str, Plain] = {**index, "weight_map": merged}
    metadata = index.get("metadata")
    if isinstance(metadata, dict):
        repaired["metadata"] = _larger(metadata, tensors)
    original = _write(path, content, repaired)
    return Repair(len(missing), tuple(sorted(set(owners.values()))), original)


def _missing(folder: Folder) -> dict[str, tuple[str, StoredTensor]]:
    """Heads outside the index: file and tensor by name.

    Raises:
        DataError: a name that stands in the index, or in two of the files.
    """
    if not folder.has("config.json"):
        raise bad_checkpoint(
            f"{folder.path.name} is no safetensors checkpoint: it has no config.json"
        )
    config = read_object(folder.path / "config.json", CONFIG_LIMIT)
    root = Table(config, "config.json")
    layers = root.text_part().whole("num_hidden_layers", "n_layer", most=LAYERS)
    is_head = MtpNames(layers if promised_heads(root)[0] else None)
    weights = read_weights(folder)
    listed = set(weights.tensors) | set(weights.lost)
    found: dict[str, tuple[str, StoredTensor]] = {}
    for file, tensors in sorted(weights.outside.items()):
        heads = {name: tensor for name, tensor in tensors.items() if is_head(name)}
        taken = sorted(heads.keys() & (listed | found.keys()))
        if taken:
            raise _collision(folder.path, file, taken)
        found.update({name: (file, tensor) for name, tensor in heads.items()})
    return found


def _collision(path: Path, file: str, taken: list[str]) -> DataError:
    return bad_checkpoint(
        f"{file} holds {len(taken)} tensors that are registered in another file",
        f"for example {taken[0][:80]}",
        "which of them is meant cannot be told; nothing was changed",
        hint="remove one of the files",
    )


def _larger(metadata: dict[str, Plain], tensors: dict[str, StoredTensor]) -> dict[str, Plain]:
    """The index's totals with what is registered now; only those that it has."""
    grown = dict(metadata)
    size = metadata.get("total_size")
    if isinstance(size, (int, float)):
        grown["total_size"] = int(size) + sum(tensor.bytes for tensor in tensors.values())
    count = metadata.get("total_parameters")
    more = tensor_facts(tensors, Quantisation(None, None)).parameters
    if isinstance(count, int) and more is not None:
        grown["total_parameters"] = count + more
    return grown


def _write(path: Path, content: bytes, repaired: dict[str, Plain]) -> str:
    part = path / f"{INDEX}.part"
    try:
        original = _keep(path, content)
        _write_synced(part, (json.dumps(repaired, indent=2) + "\n").encode())
        shutil.copymode(path / INDEX, part)
        part.replace(path / INDEX)
        return original
    except OSError as error:
        raise bad_checkpoint(f"cannot write in {path.name}: {error.strerror}") from None


def _keep(path: Path, content: bytes) -> str:
    """Keep the index as it was; beside an earlier original of other content as `.original.2`."""
    for number in range(1, 100):
        name = ORIGINAL if number == 1 else f"{ORIGINAL}.{number}"
        if not (path / name).exists():
            kept = path / f"{name}.part"
            _write_synced(kept, content)
            kept.replace(path / name)
            return name
        if (path / name).read_bytes() == content:
            return name
    raise bad_checkpoint(f"{path.name} holds 99 original indexes already")


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
