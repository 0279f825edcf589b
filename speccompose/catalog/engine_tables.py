"""An engine's extracted table and its rows by hand -> the engine as the catalog has it.

Layer: catalog. A row by hand adds to the extracted row of that name what no parser tells; a name
that the table lacks becomes a row of its own.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import asdict, replace

from speccompose.vocab.engine import EngineEntry, EngineTables, VersionedName


def with_tables(engine: EngineEntry, tables: EngineTables | None) -> EngineEntry:
    """Lay the engine's own rows over the extracted ones; without a table they are all there is."""
    if tables is None:
        return engine
    source = f"{tables.versions[-1].source} and {len(tables.versions) - 1} older versions"
    return replace(
        engine,
        flags=_merged(tables.flags, engine.flags, source),
        speculation_fields=_merged(tables.speculation_fields, engine.speculation_fields, source),
    )


def _merged(
    extracted: Iterable[VersionedName], by_hand: Iterable[VersionedName], source: str
) -> tuple[VersionedName, ...]:
    over = {row.name: row for row in by_hand}
    used: set[str] = set()
    rows = []
    for row in extracted:
        names = [name for name in row.spellings if name in over]
        used.update(names)
        changes: dict[str, object] = {"source": source}
        for name in names:
            changes.update(_said(over[name]))
        rows.append(replace(row, **changes))
    rows += [row for name, row in over.items() if name not in used]
    return tuple(rows)


def _said(row: VersionedName) -> Mapping[str, object]:
    """What a row by hand states, besides its name."""
    empty = asdict(VersionedName(name=row.name))
    return {key: value for key, value in asdict(row).items() if value != empty[key]}
