"""Names and values of an engine version: what it knows, and refusals that name the right version.

Layer: engines. Pure. One judgement for flags and for the keys of ``--speculative-config``: both
are rows of the engine's table, each with the versions that have it.
"""

import difflib
from collections.abc import Mapping, Sequence

from speccompose.errors import ImageError
from speccompose.vocab.engine import EngineEntry, VersionedName
from speccompose.vocab.versions import version_key, within

Rows = Sequence[VersionedName]

_INDEXES: dict[int, tuple[Rows, Mapping[str, Sequence[VersionedName]]]] = {}
_MOST_INDEXES = 64

_SHOWN = 12
"""How many values a refusal lists."""


def find_name(rows: Rows, name: str, version: str | None = None) -> VersionedName | None:
    """The row of a name or alias: the one that has this version, else the oldest."""
    found = _index(rows).get(name, ())
    if version is not None:
        for row in found:
            if _lives(row, name, version):
                return row
    return found[0] if found else None


def _index(rows: Rows) -> Mapping[str, Sequence[VersionedName]]:
    """Rows by name and alias. A plan asks some hundred times; a table has hundreds of rows.

    Kept by identity, since hashing a table costs more than searching it; the table is kept with
    its index, so that the identity stays its own.
    """
    known = _INDEXES.get(id(rows))
    if known is not None and known[0] is rows:
        return known[1]
    index: dict[str, list[VersionedName]] = {}
    for row in rows:
        for name in dict.fromkeys((row.name, *row.aliases)):
            index.setdefault(name, []).append(row)
    if len(_INDEXES) >= _MOST_INDEXES:
        _INDEXES.clear()
    _INDEXES[id(rows)] = (rows, index)
    return index


def same_name(rows: Rows, name: str, other: str) -> bool:
    """Whether both are spellings of one row."""
    return any(other in row.spellings for row in _index(rows).get(name, ()))


def knows_name(rows: Rows, version: str, name: str, value: str | None = None) -> bool:
    """Whether the version has the name, in this spelling, and takes the value."""
    row = find_name(rows, name, version)
    if row is None or not _lives(row, name, version):
        return False
    return value is None or all(_takes(row, version, word) for word in _words(row, value))


def require_name(
    engine: EngineEntry, rows: Rows, version: str, name: str, *, kind: str
) -> VersionedName:
    """The row of a name if this version has it; ``kind`` is what messages call it.

    Raises:
        ImageError: status 5; unknown, too new or gone.
    """
    row = find_name(rows, name, version)
    if row is None:
        raise _unknown(engine, rows, version, name, kind=kind)
    since = row.spelling_since.get(name, row.since)
    if since is not None and version_key(version) < version_key(since):
        raise _refused(f"{kind} {name} needs {engine.name} >= {since}, image has {version}", row)
    below = row.spelling_below.get(name, row.below)
    if below is not None and version_key(version) >= version_key(below):
        raise _refused(
            f"{kind} {name} is gone from {engine.name} {below} on, image has {version}", row
        )
    return row


def require_value(engine: EngineEntry, version: str, row: VersionedName, value: str) -> None:
    """Refuse a value that this version does not take.

    Raises:
        ImageError: status 5; not one of its values, too new or gone.
    """
    for word in _words(row, value):
        known = _known_value(row, word)
        if known is None:
            if not _takes(row, version, word):
                raise _no_value(engine, version, row, word)
            continue
        since, below = row.value_since.get(known), row.value_below.get(known)
        if since is not None and not within(version, since, None):
            raise _refused(
                f"{row.name} {word} needs {engine.name} >= {since}, image has {version}", row
            )
        if below is not None and not within(version, None, below):
            raise _refused(
                f"{row.name} {word} is gone from {engine.name} {below} on, image has {version}", row
            )


def _lives(row: VersionedName, name: str, version: str) -> bool:
    since = row.spelling_since.get(name, row.since)
    return within(version, since, row.spelling_below.get(name, row.below))


def _words(row: VersionedName, value: str) -> list[str]:
    """A list of choices is written with commas; a choice has none."""
    return [value] if not row.values or value in row.values else value.split(",")


def _takes(row: VersionedName, version: str, word: str) -> bool:
    known = _known_value(row, word)
    if known is None:
        is_number = row.numbers and word.lstrip("-").isdecimal()
        return not row.values or row.other_values or is_number
    return within(version, row.value_since.get(known), row.value_below.get(known))


def _known_value(row: VersionedName, word: str) -> str | None:
    """The value as the table spells it, None when the table does not have it."""
    if word in row.values or not row.any_case:
        return word if word in row.values else None
    plain = _plain(word)
    return next((value for value in row.values if _plain(value) == plain), None)


def _plain(value: str) -> str:
    return value.lower().replace("-", "_")


def _no_value(engine: EngineEntry, version: str, row: VersionedName, word: str) -> ImageError:
    values = [value for value in row.values if _takes(row, version, value)]
    near = difflib.get_close_matches(word, values, n=3)
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ImageError(
        f"{engine.name} {version} does not take {row.name} {word}",
        [f"it takes: {', '.join(values[:_SHOWN])}{more}"],
        hint=f"did you mean {', '.join(near)}?" if near else None,
        code="flag_refused",
        source=row.source,
    )


def _unknown(engine: EngineEntry, rows: Rows, version: str, name: str, *, kind: str) -> ImageError:
    near = _near(rows, version, name)
    return ImageError(
        f"{engine.name} has no {kind} {name} that the catalog knows",
        hint=f"did you mean {', '.join(near)}?" if near else None,
        code="flag_unknown",
        source=engine.source,
    )


def _near(rows: Rows, version: str, name: str) -> list[str]:
    """Names of this version with the same words in another order, then those spelled alike."""
    names = [
        spelling for row in rows for spelling in row.spellings if _lives(row, spelling, version)
    ]
    turned = [each for each in names if sorted(each.split("-")) == sorted(name.split("-"))]
    alike = difflib.get_close_matches(name, names, n=3)
    return list(dict.fromkeys([*turned, *alike]))[:3]


def _refused(brief: str, row: VersionedName) -> ImageError:
    hint = f"use {row.instead}" if row.instead else None
    return ImageError(brief, hint=hint, code="flag_refused", source=row.source)
