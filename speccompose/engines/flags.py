"""Engine flags: what a version knows, and the ordered list that becomes an argument list.

Layer: engines. Pure. Turns flag names, values and the engine's flag table into arguments, or into
a refusal that names the version a flag needs.
"""

from collections.abc import Iterable, Mapping

from speccompose.engines.names import find_name, knows_name, require_name, require_value, same_name
from speccompose.errors import ImageError
from speccompose.vocab.engine import EngineEntry, VersionedName


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
        entry = find_flag(self._engine, name, self._version)
        return name if entry is None else entry.name


def find_flag(engine: EngineEntry, name: str, version: str | None = None) -> VersionedName | None:
    """The flag's row, by name or alias: the one that has the version, else the oldest."""
    return find_name(engine.flags, name, version)


def same_flag(engine: EngineEntry, name: str, other: str) -> bool:
    """Whether both are spellings of one flag."""
    return same_name(engine.flags, name, other)


def is_known(engine: EngineEntry, version: str, name: str, value: str | None = None) -> bool:
    """Whether the version has the flag and takes the value."""
    return knows_name(engine.flags, version, name, value)


def check_flags(engine: EngineEntry, version: str, arguments: Iterable[str]) -> None:
    """Refuse an argument list that this version would not take.

    ``arguments`` start with a flag: a leading model name is left out by the caller.

    Raises:
        ImageError: status 5; the flag or value, the version it needs and the version there is.
    """
    words = list(arguments)
    at = 0
    while at < len(words):
        row = require_flag(engine, version, words[at])
        at += 1
        if row.takes_value:
            if at == len(words):
                raise ImageError(f"flag {words[at - 1]} needs a value", code="flag_refused")
            require_value(engine, version, row, words[at])
            at += 1
        elif at < len(words) and not words[at].startswith("-"):
            brief = f"flag {words[at - 1]} takes no value, found {words[at]}"
            raise ImageError(brief, code="flag_refused", source=row.source)


def require_flag(engine: EngineEntry, version: str, name: str) -> VersionedName:
    """The flag's row if this version has it.

    Raises:
        ImageError: status 5; unknown, too new or gone.
    """
    return require_name(engine, engine.flags, version, name, kind="flag")
