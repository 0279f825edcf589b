"""Engine flags: what a version knows, and the ordered list that becomes an argument list.

Layer: engines. Pure. Turns flag names, values and the engine's flag table into arguments, or into
a refusal that names the version a flag needs.
"""

import difflib
from collections.abc import Iterable, Mapping

from speccompose.errors import ImageError
from speccompose.vocab.engine import EngineEntry, VersionedName
from speccompose.vocab.versions import version_key, within


class FlagList:
    """Flags in the order they will be printed, each once; a later value replaces an earlier one.

    A flag and its ``--no-`` form are one flag, and so are its aliases: the engine's table says so.
    """

    def __init__(self, engine: EngineEntry, version: str) -> None:
        self._engine = engine
        self._version = version
        self._flags: dict[str, tuple[str, str | None]] = {}

    def put(self, name: str, value: str | None = None) -> None:
        """Set a flag; None means that it takes no value."""
        self._flags[self._key(name)] = (name, value)

    def put_if_known(self, name: str, value: str | None = None) -> bool:
        """Set a flag when this version has it and takes the value; say whether it did."""
        known = is_known(self._engine, self._version, name, value)
        if known:
            self.put(name, value)
        return known

    def value(self, name: str) -> str | None:
        """The value of a flag, None when it is absent or takes none."""
        return self._flags.get(self._key(name), (name, None))[1]

    def holds(self, name: str) -> bool:
        """Whether exactly this spelling of the flag is set."""
        return self._flags.get(self._key(name), ("", None))[0] == name

    def values(self) -> Mapping[str, str | None]:
        """Every flag by its spelling."""
        return dict(self._flags.values())

    def arguments(self) -> tuple[str, ...]:
        """One item per word: the flag, then its value."""
        words: list[str] = []
        for name, value in self._flags.values():
            words.append(name)
            if value is not None:
                words.append(value)
        return tuple(words)

    def _key(self, name: str) -> str:
        entry = find_flag(self._engine, name)
        return name if entry is None else entry.name


def find_flag(engine: EngineEntry, name: str) -> VersionedName | None:
    """The flag's row, by name or alias."""
    for entry in engine.flags:
        if name == entry.name or name in entry.aliases:
            return entry
    return None


def is_known(engine: EngineEntry, version: str, name: str, value: str | None = None) -> bool:
    """Whether the version has the flag and takes the value."""
    entry = find_flag(engine, name)
    if entry is None or not within(version, entry.since, entry.below):
        return False
    since = _value_since(entry, value)
    return since is None or within(version, since, None)


def check_flags(engine: EngineEntry, version: str, arguments: Iterable[str]) -> None:
    """Refuse an argument list that this version would not take.

    ``arguments`` start with a flag: a leading model name is left out by the caller.

    Raises:
        ImageError: status 5; the flag or value, the version it needs and the version there is.
    """
    words = list(arguments)
    at = 0
    while at < len(words):
        entry = require_flag(engine, version, words[at])
        if entry.takes_value:
            at += 1
            if at == len(words):
                raise ImageError(f"flag {words[at - 1]} needs a value", code="flag_refused")
            _require_value(engine, version, entry, words[at])
        at += 1


def require_flag(engine: EngineEntry, version: str, name: str) -> VersionedName:
    """The flag's row if this version has it.

    Raises:
        ImageError: status 5; unknown, too new or gone.
    """
    entry = find_flag(engine, name)
    if entry is None:
        raise _unknown(engine, version, name)
    if entry.since is not None and version_key(version) < version_key(entry.since):
        raise _refused(
            f"flag {name} needs {engine.name} >= {entry.since}, image has {version}", entry
        )
    if entry.below is not None and version_key(version) >= version_key(entry.below):
        raise _refused(
            f"flag {name} is gone from {engine.name} {entry.below} on, image has {version}", entry
        )
    return entry


def _require_value(engine: EngineEntry, version: str, entry: VersionedName, value: str) -> None:
    since = _value_since(entry, value)
    if since is not None and not within(version, since, None):
        raise _refused(
            f"{entry.name} {value} needs {engine.name} >= {since}, image has {version}", entry
        )


def _value_since(entry: VersionedName, value: str | None) -> str | None:
    """First version of a value; the longest name that the value starts with decides."""
    if value is None:
        return None
    names = [name for name in entry.value_since if value.startswith(name)]
    return entry.value_since[max(names, key=len)] if names else None


def _unknown(engine: EngineEntry, version: str, name: str) -> ImageError:
    near = _near(engine, version, name)
    return ImageError(
        f"{engine.name} has no flag {name} that the catalog knows",
        hint=f"did you mean {', '.join(near)}?" if near else None,
        code="flag_unknown",
        source=engine.source,
    )


def _near(engine: EngineEntry, version: str, name: str) -> list[str]:
    """Flags of this version with the same words in another order, then those spelled alike."""
    names = [
        spelling
        for flag in engine.flags
        if within(version, flag.since, flag.below)
        for spelling in (flag.name, *flag.aliases)
    ]
    turned = [each for each in names if sorted(each.split("-")) == sorted(name.split("-"))]
    alike = difflib.get_close_matches(name, names, n=3)
    return list(dict.fromkeys([*turned, *alike]))[:3]


def _refused(brief: str, entry: VersionedName) -> ImageError:
    hint = f"use {entry.instead}" if entry.instead else None
    return ImageError(brief, hint=hint, code="flag_refused", source=entry.source)
