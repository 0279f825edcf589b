"""`--model` as a folder or a GGUF file: what it is stands in its files, not in the catalog.

Layer: pipeline, beside pipeline.py. Reads the checkpoint's headers and puts an entry for it into
the catalog, so that planning stays pure and local weights are planned like any others.
"""

import datetime
from pathlib import Path

import msgspec

from speccompose.catalog.text_file import expanded
from speccompose.checkpoint.entry import entry_id, model_entry, with_known_base
from speccompose.checkpoint.inspect import inspect_checkpoint
from speccompose.plan.models import is_path
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.model import Checkpoint, ModelEntry
from speccompose.vocab.request import StackRequest


def with_local_model(request: StackRequest, catalog: Catalog, today: datetime.date) -> Catalog:
    """The catalog, with an entry for the local checkpoint that the request names.

    Raises:
        DataError: status 3; it is no readable checkpoint.
        UsageError: status 2; it is a draft, or nothing in its name can be an id.
    """
    if not is_path(request.model):
        return catalog
    path = expanded(request.model).absolute()
    facts = with_known_base(inspect_checkpoint(path), catalog)
    known = catalog.models.get(entry_id(facts))
    entry = model_entry(facts, checked=today, known=known)
    models = {**catalog.models, entry.id: _only_this(entry, path, request.model)}
    return msgspec.structs.replace(catalog, models=models)


def _only_this(entry: ModelEntry, path: Path, asked: str) -> ModelEntry:
    """The entry with the local weights as its one checkpoint, known by the path."""
    folder = path if path.is_dir() else path.parent
    local: Checkpoint = msgspec.structs.replace(entry.checkpoints[0], path=str(folder))
    return msgspec.structs.replace(
        entry, checkpoints=(local,), also_known_as=(*entry.also_known_as, asked)
    )
