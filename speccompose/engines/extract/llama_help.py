"""The help text of a built llama-server -> its flags.

Layer: engines. Part of ``extract``, for builds whose sources are not at hand. A closed list of
values is taken only where the text shows all of it: in brackets, as bullets, or as allowed values.
"""

import re

from speccompose.engines.extract.llama_cpp import AUTO, OFF, ON, PRINTING, is_offered
from speccompose.engines.extract.reading import Option, Reading
from speccompose.errors import DataError

_COLUMN = 40
"""Where descriptions start."""

_NAMES = re.compile(r"((?:-[\w.-]+,?(?:\s+|$))+)")


def read_help(version: str, source: str, text: str) -> Reading:
    """Read the flags that ``llama-server --help`` prints.

    Raises:
        DataError: status 3; the text lists none.
    """
    entries = [
        entry
        for entry in re.split(r"(?m)^(?=-)", text)
        if entry.startswith("-") and not entry.startswith("-----")
    ]
    options = [_option(entry) for entry in entries if is_offered(re.sub(r"\s+", " ", entry))]
    flags = tuple(option for option in options if not PRINTING & set(option.names))
    if not flags:
        raise DataError(f"{source}: no options found", code="engine_source_unreadable")
    return Reading(version=version, source=source, flags=flags)


def _option(entry: str) -> Option:
    first, _, rest = entry.partition("\n")
    spelled = _NAMES.match(first)
    names = re.findall(r"-[\w.-]+", spelled.group(1)) if spelled else [first]
    hint = _hint(first, spelled.end(1) if spelled else len(first))
    if not hint:
        return Option(names=tuple(names), takes_value=False)
    values, numbers = _values(hint, first[_COLUMN:] + "\n" + rest)
    return Option(names=tuple(names), values=values, numbers=numbers)


def _hint(line: str, after: int) -> str:
    """The name of the value, between the spellings and the description; empty for a switch.

    A head that is too long has its description on the next line, and then no column starts here.
    """
    if after >= _COLUMN and len(line) > after and line[_COLUMN - 1] == " ":
        return ""
    return re.split(r"\s{2,}", line[after:].strip())[0]


def _values(hint: str, text: str) -> tuple[tuple[str, ...], bool]:
    """The values, and whether numbers go too: ``-ngl`` takes a number, 'auto' or 'all'."""
    flat = re.sub(r"\s+", " ", text)
    listed = re.fullmatch(r"[\[{]?([\w+-]+(?:[|,][\w+-]+)+)[\]}]?", hint)
    if listed and not listed.group(1)[0].isupper():
        return _with_words(tuple(re.split(r"[|,]", listed.group(1)))), False
    allowed = re.search(r"allowed values: ([\w, ]+?) \(", flat)
    if allowed:
        return tuple(allowed.group(1).split(", ")), False
    if "exact number" in flat:
        return tuple(re.findall(r"'(\w+)'", flat)), True
    bullets = tuple(re.findall(r"(?m)^\s+- ([a-z][a-z+-]*)(?: \(default\))?:", text))
    default = re.search(r"\(default: ([a-z]+)", flat)
    if len(bullets) > 1 and (default is None or default.group(1) in bullets):
        return bullets, False
    return (), False


def _with_words(values: tuple[str, ...]) -> tuple[str, ...]:
    """``on`` and ``off`` stand for more words than the help lists."""
    if not {"on", "off"} <= set(values):
        return values
    return (*ON, *OFF, *(AUTO if "auto" in values else ()))
