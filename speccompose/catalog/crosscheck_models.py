"""Models -> what contradicts in their checkpoints and pairings.

Layer: catalog. Part of ``crosscheck``.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from speccompose.catalog.problem import KeyPath, Mistake
from speccompose.catalog.tables import (
    FAMILIES,
    Contradiction,
    Tables,
    no_version,
    repeated,
    unknown,
    unknown_keys,
)
from speccompose.vocab.model import Checkpoint, ModelEntry, Pairing


def check_models(tables: Tables) -> Iterator[Contradiction]:
    """Each model by itself, then names across models."""
    for model in tables.models.values():
        for mistake in chain(_checkpoints(model, tables), _pairings(model, tables)):
            yield Contradiction("model", model.id, mistake)
    yield from _names(tables)


def _checkpoints(model: ModelEntry, tables: Tables) -> Iterator[Mistake]:
    path = ("checkpoints",)
    if not model.checkpoints:
        yield Mistake(path, "expected one checkpoint at least")
    yield from repeated(path, model.checkpoints, _identity, "each checkpoint", "repo")
    for index, checkpoint in enumerate(model.checkpoints):
        where = (*path, index)
        yield from _engine_versions((*where, "min_engine"), checkpoint.min_engine, tables)
        if checkpoint.format == "gguf" and checkpoint.file is None:
            yield Mistake(where, "expected the key file: which GGUF of the repository")
        if checkpoint.utilization is not None and checkpoint.utilization_source is None:
            yield Mistake((*where, "utilization"), "expected the key utilization_source beside it")


def _identity(checkpoint: Checkpoint) -> tuple[str, str | None, str | None]:
    return (checkpoint.repo, checkpoint.quant, checkpoint.file)


def _pairings(model: ModelEntry, tables: Tables) -> Iterator[Mistake]:
    """Targets are checkpoints of the model, or the base model that they are made from."""
    repos = (model.base_model, *dict.fromkeys(made.repo for made in model.checkpoints))
    for index, pairing in enumerate(model.pairings):
        path = ("pairings", index)
        for position, target in enumerate(pairing.targets):
            where = (*path, "targets", position)
            yield from unknown(where, target, repos, "a checkpoint of this model or its base_model")
        yield from _engine_versions((*path, "min_engine"), pairing.min_engine, tables)
        yield from unknown_keys(
            (*path, "depth_by_family"), pairing.depth_by_family, FAMILIES, "a device family"
        )
        yield from _method(path, pairing, tables)


def _method(path: KeyPath, pairing: Pairing, tables: Tables) -> Iterator[Mistake]:
    """The method exists, its engines have it, and a method with a separate draft names one."""
    yield from unknown((*path, "method"), pairing.method, tables.ids("method"), "a method")
    if not pairing.engines:
        yield Mistake((*path, "engines"), "expected one engine at least")
    entry = tables.methods.get(pairing.method)
    if entry is None:
        return
    for position, engine in enumerate(pairing.engines):
        where = (*path, "engines", position)
        yield from unknown(where, engine, entry.engines, f"an engine with {pairing.method}")
    if entry.separate_draft and pairing.draft is None:
        yield Mistake(path, f"expected the key draft: {pairing.method} runs a separate one")


def _engine_versions(
    path: KeyPath, versions: Mapping[str, str], tables: Tables
) -> Iterator[Mistake]:
    yield from unknown_keys(path, versions, tables.ids("engine"), "an engine")
    for engine, version in versions.items():
        yield from no_version((*path, engine), version)


def _names(tables: Tables) -> Iterator[Contradiction]:
    """A repository or another name leads to one model."""
    owners: dict[str, str] = {}
    for model in tables.models.values():
        names: list[tuple[str, KeyPath]] = [(model.id, ("id",))]
        names += [(n, ("also_known_as", i)) for i, n in enumerate(model.also_known_as)]
        names += [(c.repo, ("checkpoints", i, "repo")) for i, c in enumerate(model.checkpoints)]
        for name, path in names:
            owner = owners.setdefault(name.lower(), model.id)
            if owner != model.id:
                expected = f"expected a name of this model alone, {owner} has {name!r} too"
                yield Contradiction("model", model.id, Mistake(path, expected))
