"""Sources -> Catalog, or one error with every mistake of every file.

Layer: catalog. Per file: UTF-8, YAML, JSON Schema, types, name; then what files say of each
other (``crosscheck``). Runs once per content; ``cache`` keeps the result.
"""

import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from speccompose.catalog.crosscheck import contradictions
from speccompose.catalog.engine_tables import with_tables
from speccompose.catalog.layout import KINDS, DataFile, ReleasesFile, SocsFile
from speccompose.catalog.plain_data import Plain
from speccompose.catalog.problem import (
    InvalidDataError,
    KeyPath,
    Mistake,
    Position,
    Positions,
    Problem,
    place,
    source_lines,
)
from speccompose.catalog.sources import SourceFile, Sources
from speccompose.catalog.tables import Tables
from speccompose.catalog.validate import mistakes_in
from speccompose.catalog.yaml_file import parse
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import DeviceProfile
from speccompose.vocab.engine import EngineEntry, EngineTables
from speccompose.vocab.image import ImageEntry
from speccompose.vocab.method import MethodEntry
from speccompose.vocab.model import ModelEntry

_Entry = TypeVar("_Entry")


class Document(Frozen, frozen=True, kw_only=True):
    """One data file that is right by itself, and where its parts stand."""

    source: SourceFile
    text: str
    positions: Positions
    entry: DataFile


def compile_catalog(sources: Sources) -> Catalog:
    """Build the catalog.

    Raises:
        InvalidDataError: with every mistake of every file.
    """
    problems = list(sources.problems)
    documents: dict[tuple[str, str], Document] = {}
    for source in sources.files:
        try:
            documents[source.kind, source.id] = read_document(source)
        except InvalidDataError as error:
            problems += error.problems
    known = frozenset((source.kind, source.id) for source in sources.files)
    tables = _tables(documents, known)
    for kind, entry_id, mistake in contradictions(tables):
        document = documents[kind, entry_id]
        problems.append(_placed(mistake, document.source, document.text, document.positions))
    if problems:
        raise InvalidDataError("catalog", problems)
    return Catalog(
        releases=tables.releases,
        socs={soc.id: soc for soc in tables.socs},
        devices=tables.devices,
        images=tables.images,
        models=tables.models,
        methods=tables.methods,
        engines={
            name: with_tables(engine, tables.flags.get(name))
            for name, engine in tables.engines.items()
        },
        templates=sources.templates,
        overlays=sources.overlays,
    )


def read_document(source: SourceFile) -> Document:
    """Read one data file alone.

    Raises:
        InvalidDataError: with every mistake in it.
    """
    text = _decoded(source)
    read = parse(text, source.name)
    mistakes = list(mistakes_in(source.kind, read.data))
    if not mistakes:
        entry, mistakes = _converted(source, read.data)
        if entry is not None:
            return Document(source=source, text=text, positions=read.positions, entry=entry)
    raise InvalidDataError(
        source.name, [_placed(mistake, source, text, read.positions) for mistake in mistakes]
    )


def _decoded(source: SourceFile) -> str:
    try:
        return source.content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = source_lines(source.content[: error.start].decode("utf-8"))
        where = Position(len(before), len(before[-1]) + 1)
        problem = Problem(file=source.name, position=where, expected="expected UTF-8 text")
        raise InvalidDataError(source.name, [problem]) from error


def _converted(source: SourceFile, data: Plain) -> tuple[DataFile | None, list[Mistake]]:
    """Turn data into its type; the file's name must be the entry's id."""
    try:
        entry = msgspec.convert(data, type=KINDS[source.kind])
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        return None, [Mistake(_path(where), what[:1].lower() + what[1:])]
    if not isinstance(entry, (ReleasesFile, SocsFile)) and entry.id != source.id:
        expected = f"expected {source.id}, the name of the file or folder, found {entry.id}"
        return None, [Mistake(("id",), expected)]
    return entry, []


def _path(where: str) -> KeyPath:
    """Read msgspec's path ('.memory.total_mib`', '.rows[3]`') as far as it goes."""
    parts = re.findall(r"\.([^.\[`]+)|\[(\d+)\]", where)
    return tuple(name or int(index) for name, index in parts)


def _placed(mistake: Mistake, source: SourceFile, text: str, positions: Positions) -> Problem:
    return place(mistake, source.name, source_lines(text), positions)


def _tables(
    documents: dict[tuple[str, str], Document], known: frozenset[tuple[str, str]]
) -> Tables:
    entries = [document.entry for document in documents.values()]
    return Tables(
        releases=tuple(row for file in _of(entries, ReleasesFile) for row in file.releases),
        socs=tuple(row for file in _of(entries, SocsFile) for row in file.socs),
        devices={entry.id: entry for entry in _of(entries, DeviceProfile)},
        images={entry.id: entry for entry in _of(entries, ImageEntry)},
        models={entry.id: entry for entry in _of(entries, ModelEntry)},
        methods={entry.id: entry for entry in _of(entries, MethodEntry)},
        engines={entry.id: entry for entry in _of(entries, EngineEntry)},
        flags={entry.id: entry for entry in _of(entries, EngineTables)},
        known=known,
    )


def _of(entries: list[DataFile], kind: type[_Entry]) -> Iterator[_Entry]:
    return (entry for entry in entries if isinstance(entry, kind))
