"""The words behind ``vllm serve`` or ``llama-server`` -> flags with values, and what is no flag.

Layer: lint. Pure. Each engine is read as its own parser reads: vLLM takes ``--flag=value``,
underscores and unique beginnings of names; llama.cpp takes exact names and always the next word.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from speccompose.engines.flags import find_flag
from speccompose.lint.words import Word
from speccompose.vocab.base import Frozen
from speccompose.vocab.engine import EngineEntry, VersionedName

_FLAG: Final = re.compile(r"^--?[A-Za-z]")
_GLUED: Final = re.compile(r"^(--?[A-Za-z][\w.-]*)\s+(.*\S)\s*$", re.DOTALL)
_OPTIMIZATION: Final = re.compile(r"^-O(\d|\.|$)")
"""vLLM rewrites -O3 and -O.mode=3 before its parser sees them."""

_SHORTEST_BEGINNING: Final = 5
_MOST_WORDS: Final = 2000
"""Of a command line; both engines together have seven hundred flags."""

_TWO_VALUES: Final = ("--control-vector-layer-range", "--lora-scaled", "--control-vector-scaled")
"""The flags of llama.cpp that take two words (common/arg.cpp)."""


class Given(Frozen, frozen=True, kw_only=True):
    """One flag as it was given. ``name`` is the spelling that the engine looks up.

    ``row`` None: no version is known to have it. ``field``: what stands behind the dot of a name
    like ``--speculative-config.method``. ``glued``: flag and value are one word.
    """

    name: str
    word: Word
    value: Word | None = None
    row: VersionedName | None = None
    field: str | None = None
    inline: bool = False
    glued: bool = False

    @property
    def is_known(self) -> bool:
        """Whether no variable decides what it is."""
        return self.word.known and (self.value is None or self.value.known)


class Arguments(Frozen, frozen=True, kw_only=True):
    """``leading`` stands before the first flag; ``strays`` follow a flag that takes no value."""

    given: tuple[Given, ...]
    leading: tuple[Word, ...]
    strays: tuple[Word, ...]
    known: bool


def is_flag(text: str) -> bool:
    """Whether a word looks like a flag and not like a number or a value."""
    return _FLAG.match(text) is not None


def read_arguments(engine: EngineEntry, version: str | None, words: Sequence[Word]) -> Arguments:
    """Take the words apart."""
    given: list[Given] = []
    leading: list[Word] = []
    strays: list[Word] = []
    rest = [_stripped(word) for word in words[:_MOST_WORDS] if word.text.strip()]
    while rest:
        word = rest.pop(0)
        if not is_flag(word.text):
            if not given:
                leading.append(word)
            elif not _may_have_more(engine, given[-1]):
                strays.append(word)
            continue
        found = _flag(engine, version, word)
        if found.value is None and _takes_next(engine, found, rest):
            found = _with_value(found, rest.pop(0))
        given.append(found)
    return Arguments(
        given=tuple(given),
        leading=tuple(leading),
        strays=tuple(strays),
        known=len(words) <= _MOST_WORDS and all(word.known for word in words),
    )


def _stripped(word: Word) -> Word:
    """A word without the space that a stray backslash puts before it: that is told elsewhere."""
    return Word(text=word.text.lstrip(), line=word.line, known=word.known)


def _flag(engine: EngineEntry, version: str | None, word: Word) -> Given:
    """The flag in a word, with the value that stands in the same word."""
    text, value, inline, glued = word.text, None, False, False
    match = _GLUED.match(text)
    if match is not None and find_flag(engine, text.partition("=")[0], version) is None:
        text, value, glued = match[1], match[2], True
    elif engine.id == "vllm" and "=" in text:
        text, _, value = text.partition("=")
        inline = True
    name, _, field = text.partition(".")
    if text.startswith("--"):
        name = name.replace("_", "-")
    row = _row(engine, version, name)
    return Given(
        name=name,
        word=word,
        value=None if value is None else Word(text=value, line=word.line, known=word.known),
        row=row,
        field=field or None,
        inline=inline,
        glued=glued,
    )


def _row(engine: EngineEntry, version: str | None, name: str) -> VersionedName | None:
    found = find_flag(engine, name, version)
    if found is not None or engine.id != "vllm" or len(name) < _SHORTEST_BEGINNING:
        return found
    begun = {
        row.name: row
        for row in engine.flags
        if any(spelling.startswith(name) for spelling in row.spellings)
    }
    return next(iter(begun.values())) if len(begun) == 1 else None


def _takes_next(engine: EngineEntry, found: Given, rest: Sequence[Word]) -> bool:
    """Whether the next word is the flag's value."""
    if not rest:
        return False
    following = rest[0].text
    if found.row is not None and not found.row.takes_value and found.field is None:
        return False
    if engine.id == "vllm" or found.row is None:
        return not is_flag(following)
    return not is_flag(following) or find_flag(engine, following) is None


def _with_value(found: Given, value: Word) -> Given:
    return Given(name=found.name, word=found.word, value=value, row=found.row, field=found.field)


def _may_have_more(engine: EngineEntry, given: Given) -> bool:
    """Whether a second value may follow: vLLM's flags may take several, llama.cpp's take one."""
    if engine.id != "vllm":
        return given.name in _TWO_VALUES or given.row is None
    return given.row is None or given.row.takes_value or given.name.startswith("-O")


def is_rewritten(name: str) -> bool:
    """Whether vLLM turns the word into another flag before it looks."""
    return _OPTIMIZATION.match(name) is not None


def named(arguments: Arguments, engine: EngineEntry, name: str) -> Iterator[Given]:
    """Every time that a flag is given, under any of its names."""
    row = find_flag(engine, name)
    spellings = {name} if row is None else {*row.spellings}
    for each in arguments.given:
        same = each.row is not None and row is not None and each.row.name == row.name
        if same or each.name in spellings:
            yield each
