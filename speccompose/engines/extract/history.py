"""Readings of many versions -> one row per flag: since when, until when, with which values.

Layer: engines. Part of ``extract``. "Since" is the first version read that has a thing, absent
when the oldest one has it; "below" the first version read that lacks it again.
"""

import datetime
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from speccompose.engines.extract.reading import Option, Reading
from speccompose.vocab.engine import EngineTables, VersionedName, VersionRead
from speccompose.vocab.versions import version_key

Timeline = Sequence[Option | None]
"""One flag in every version read, oldest first; None where a version lacks it."""


def tables(engine: str, readings: Iterable[Reading], checked: datetime.date) -> EngineTables:
    """Merge readings, in whatever order they come.

    Raises:
        ValueError: when one version has two flags that another has as one.
    """
    ordered = sorted(readings, key=lambda each: version_key(each.version))
    versions = [_short(reading.version) for reading in ordered]
    return EngineTables(
        id="vllm" if engine == "vllm" else "llama.cpp",
        checked=checked,
        versions=tuple(VersionRead(version=r.version, source=r.source) for r in ordered),
        flags=_rows(versions, [reading.flags for reading in ordered]),
        speculation_fields=_rows(versions, [reading.speculation_fields for reading in ordered]),
    )


def _rows(versions: list[str], options: list[tuple[Option, ...]]) -> tuple[VersionedName, ...]:
    """One row per flag and form of it, in the order of their names."""
    rows = [
        _row(versions, timeline, start, end)
        for timeline in _timelines(options)
        for start, end in _stretches(timeline)
    ]
    return tuple(sorted(rows, key=lambda row: (row.name.lstrip("-"), row.name, row.since or "")))


def _timelines(options: list[tuple[Option, ...]]) -> list[list[Option | None]]:
    """Follow every flag through the versions: what shares a spelling is one flag."""
    group: dict[str, int] = {}
    merged: dict[int, set[str]] = {}
    for names in (option.names for read in options for option in read):
        joined = {group[name] for name in names if name in group}
        key = min(joined, default=len(merged) and max(merged) + 1)
        spellings = set(names).union(*(merged.pop(each) for each in joined))
        merged[key] = spellings
        group.update(dict.fromkeys(spellings, key))
    found: dict[int, list[Option | None]] = {key: [None] * len(options) for key in merged}
    for at, read in enumerate(options):
        for option in read:
            timeline = found[group[option.names[0]]]
            timeline[at] = _joined(timeline[at], option)
    return list(found.values())


def _joined(earlier: Option | None, option: Option) -> Option:
    """Two flags of one version that another version has as one."""
    if earlier is None or earlier.names == option.names:
        return option
    if earlier.takes_value != option.takes_value:
        raise ValueError(f"two flags where others have one: {earlier.names}, {option.names}")
    return replace(option, names=tuple(dict.fromkeys((*earlier.names, *option.names))))


def _stretches(timeline: Timeline) -> Iterable[tuple[int, int]]:
    """Ranges of versions in which a flag has one form: with or without a value, listed or not."""
    start = 0
    forms = [_form(option) for option in timeline]
    for at in range(1, len(forms) + 1):
        if at == len(forms) or forms[at] != forms[start]:
            if forms[start] is not None:
                yield start, at
            start = at


def _form(option: Option | None) -> tuple[bool, ...] | None:
    if option is None:
        return None
    return (
        option.takes_value,
        bool(option.values),
        option.other_values,
        option.numbers,
        option.any_case,
    )


def _row(versions: list[str], timeline: Timeline, start: int, end: int) -> VersionedName:
    options = [option for option in timeline[start:end] if option is not None]
    newest = options[-1]
    spellings = list(dict.fromkeys(name for each in reversed(options) for name in each.names))
    values = list(dict.fromkeys(value for each in reversed(options) for value in each.values))
    names = _lives(versions, start, spellings, [each.names for each in options])
    lives = _lives(versions, start, values, [each.values for each in options])
    return VersionedName(
        name=spellings[0],
        aliases=tuple(spellings[1:]),
        since=versions[start] if start else None,
        below=versions[end] if end < len(versions) else None,
        takes_value=newest.takes_value,
        spelling_since=names[0],
        spelling_below=names[1],
        values=tuple(sorted(values)),
        value_since=lives[0],
        value_below=lives[1],
        other_values=newest.other_values,
        numbers=newest.numbers,
        any_case=newest.any_case,
    )


def _lives(
    versions: list[str], start: int, things: list[str], present: list[tuple[str, ...]]
) -> tuple[dict[str, str], dict[str, str]]:
    """Since and below of each thing that does not live as long as the row; gaps are ignored."""
    since, below = {}, {}
    for thing in sorted(things):
        at = [index for index, there in enumerate(present) if thing in there]
        if at[0] > 0:
            since[thing] = versions[start + at[0]]
        if at[-1] + 1 < len(present):
            below[thing] = versions[start + at[-1] + 1]
    return since, below


def _short(version: str) -> str:
    """Write 0.20.0 as 0.20: they compare as equal."""
    return version.removesuffix(".0") if version.count(".") > 1 else version
