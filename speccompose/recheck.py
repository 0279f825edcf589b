"""`catalog check` against weights that are here: do the catalog's figures say what the files say?

Layer: pipeline, beside pipeline.py. Looks only at checkpoints that `pull` has brought; reads
headers, never weights.
"""

import datetime
from pathlib import Path

from speccompose.checkpoint.entry import model_entry
from speccompose.checkpoint.inspect import inspect_checkpoint
from speccompose.errors import SpecComposeError
from speccompose.plan.assemble import weights_directory
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.model import Checkpoint, Geometry, ModelEntry

WEIGHTS_TOLERANCE = 0.02
"""Catalog sizes are rounded; two per cent of a 20 GB model is less than the headroom."""

_FIGURES = (
    "layers",
    "attention_layers",
    "kv_heads",
    "head_dim_k",
    "head_dim_v",
    "sliding_layers",
    "window_tokens",
    "mtp_layers",
    "vocab_size",
)


class Difference(Frozen, frozen=True, kw_only=True):
    """One figure that the catalog has otherwise than the files."""

    model: str
    repo: str
    figure: str
    catalog: str
    files: str


class Recheck(Frozen, frozen=True, kw_only=True):
    """What was compared and what differs; ``unreadable`` says why a folder could not be read."""

    compared: tuple[str, ...]
    differences: tuple[Difference, ...]
    unreadable: tuple[str, ...]


def recheck_models(catalog: Catalog, models: Path, today: datetime.date) -> Recheck:
    """Compare every catalog checkpoint whose files lie below ``models``."""
    compared: list[str] = []
    different: list[Difference] = []
    unreadable: list[str] = []
    for model in catalog.models.values():
        for checkpoint in model.checkpoints:
            folder = weights_directory(checkpoint.repo, checkpoint.revision)
            place = models / folder / (checkpoint.file or "")
            if not place.exists():
                continue
            try:
                found = model_entry(inspect_checkpoint(place), checked=today)
            except SpecComposeError as error:
                unreadable.append(f"{checkpoint.repo}: {error.brief}")
                continue
            compared.append(checkpoint.repo)
            different += compare(model, checkpoint, found)
    return Recheck(
        compared=tuple(compared), differences=tuple(different), unreadable=tuple(unreadable)
    )


def compare(model: ModelEntry, checkpoint: Checkpoint, found: ModelEntry) -> list[Difference]:
    """The figures that both sides know and that differ."""
    pairs = [
        (name, _figure(model.geometry, name), _figure(found.geometry, name)) for name in _FIGURES
    ]
    known, read = checkpoint.weights_mib, found.checkpoints[0].weights_mib
    if known and read and abs(known - read) > WEIGHTS_TOLERANCE * read:
        pairs.append(("weights_mib", known, read))
    return [
        Difference(
            model=model.id, repo=checkpoint.repo, figure=name, catalog=str(ours), files=str(theirs)
        )
        for name, ours, theirs in pairs
        if ours is not None and theirs is not None and ours != theirs
    ]


def _figure(geometry: Geometry | None, name: str) -> int | None:
    value = getattr(geometry, name, None)
    return value if isinstance(value, int) else None
