"""Methods and engines -> what contradicts in them.

Layer: catalog. Part of ``crosscheck``.
"""

from collections.abc import Iterator
from itertools import chain

from speccompose.catalog.problem import Mistake
from speccompose.catalog.tables import (
    FAMILIES,
    Contradiction,
    Tables,
    bad_range,
    no_version,
    repeated,
    unknown,
    unknown_keys,
)
from speccompose.vocab.engine import EngineEntry, EngineTables, VersionedName
from speccompose.vocab.method import MethodEntry
from speccompose.vocab.versions import version_key


def check_methods(tables: Tables) -> Iterator[Contradiction]:
    """Each method: engines that exist, families that exist, depths within the maximum."""
    for method in tables.methods.values():
        for mistake in chain(
            unknown_keys(("engines",), method.engines, tables.ids("engine"), "an engine"),
            unknown_keys(("depth_by_family",), method.depth_by_family, FAMILIES, "a device family"),
            *(
                no_version(("engines", name, "since"), engine.since)
                for name, engine in method.engines.items()
            ),
            _depths(method),
        ):
            yield Contradiction("method", method.id, mistake)


def _depths(method: MethodEntry) -> Iterator[Mistake]:
    if method.depth_max is None:
        return
    expected = f"expected at most depth_max, {method.depth_max}"
    if method.depth_default > method.depth_max:
        yield Mistake(("depth_default",), expected)
    for family, depth in method.depth_by_family.items():
        if depth > method.depth_max:
            yield Mistake(("depth_by_family", family), expected)


def check_engines(tables: Tables) -> Iterator[Contradiction]:
    """Each engine: ranges that are not empty, names that stand once, boards that exist."""
    boards = (*FAMILIES, *tables.ids("device"), "default")
    for engine in tables.engines.values():
        for mistake in chain(
            no_version(("floor",), engine.floor),
            _names("flags", engine.flags),
            _names("speculation_fields", engine.speculation_fields),
            _names("removed_environment", engine.removed_environment),
            _sources("flags", engine.flags),
            _sources("speculation_fields", engine.speculation_fields),
            _defaults(engine),
            _faults(engine),
            unknown_keys(
                ("kv_dtype_by_family",), engine.kv_dtype_by_family, FAMILIES, "a device family"
            ),
            unknown_keys(("memory", "runtime_mib"), engine.memory.runtime_mib, boards, "a board"),
            unknown_keys(
                ("memory", "prompt_cache_mib"), engine.memory.prompt_cache_mib, boards, "a board"
            ),
        ):
            yield Contradiction("engine", engine.id, mistake)


def check_flags(tables: Tables) -> Iterator[Contradiction]:
    """Each extracted table: of an engine that exists, versions in order, ranges that are ranges."""
    for table in tables.flags.values():
        for mistake in chain(
            unknown(("id",), table.id, tables.ids("engine"), "an engine"),
            _order(table),
            _names("flags", table.flags),
            _names("speculation_fields", table.speculation_fields),
        ):
            yield Contradiction("flag", table.id, mistake)


def _order(table: EngineTables) -> Iterator[Mistake]:
    before = None
    for index, read in enumerate(table.versions):
        path = ("versions", index, "version")
        bad = list(no_version(path, read.version))
        yield from bad
        if bad:
            continue
        key = version_key(read.version)
        if before is not None and key <= before:
            yield Mistake(path, f"expected a version above the one before, found {read.version}")
        before = key


def _sources(table: str, rows: tuple[VersionedName, ...]) -> Iterator[Mistake]:
    for index, row in enumerate(rows):
        if not row.source:
            yield Mistake((table, index), f"expected a source for {row.name}")


def _defaults(engine: EngineEntry) -> Iterator[Mistake]:
    for index, row in enumerate(engine.defaults):
        yield from bad_range(("defaults", index), ("since", row.since), ("below", row.below))


def _names(table: str, rows: tuple[VersionedName, ...]) -> Iterator[Mistake]:
    """A name may stand in several rows when each has its own start."""
    yield from repeated((table,), rows, lambda row: (row.name, row.since), "each name", "name")
    for index, row in enumerate(rows):
        path = (table, index)
        yield from bad_range(path, ("since", row.since), ("below", row.below))
        for key, lives in (
            ("spelling_since", row.spelling_since),
            ("spelling_below", row.spelling_below),
            ("value_since", row.value_since),
            ("value_below", row.value_below),
        ):
            for name, version in lives.items():
                yield from no_version((*path, key, name), version)


def _faults(engine: EngineEntry) -> Iterator[Mistake]:
    yield from repeated(("faults",), engine.faults, lambda fault: fault.id, "each fault", "id")
    for index, fault in enumerate(engine.faults):
        yield from bad_range(("faults", index), ("since", fault.since), ("below", fault.below))
