"""llama.cpp's common/arg.cpp -> the flags of llama-server.

Layer: engines. Part of ``extract``. The C++ is scanned for ``add_opt(common_arg(...))``: the
spellings, the parameters of the handler (none, one value, two, or a switch with a negative form),
the programs that take it, and the words that the handler compares with.
"""

import re
from collections.abc import Iterator, Mapping

from speccompose.engines.extract.reading import Option, Reading
from speccompose.errors import DataError

_CALL = re.compile(r"\badd_opt\(common_arg\(")
_SPELLINGS = re.compile(r'\{\s*("-[^{}]*")\s*,?\s*\}')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_HANDLER = re.compile(r"\[[&=]?\]\s*\(([^)]*)\)\s*(?:->\s*\w+\s*)?\{")
_COMPARED = re.compile(r'\b(?:value|arg_next)\s*==\s*"([^"]+)"')
_GUARDED = re.compile(r"\.set_(examples|excludes)\(\s*\{?([^)]*?)\}?\s*\)")
_NUMBER = re.compile(r"std::sto[a-z]+\(")
_EXAMPLES = re.compile(r"(\w+_examples)\s*=\s*\{([^}]*)\}")
REMOVED = "the argument has been removed"
PRINTING = {
    "--help",
    "--version",
    "--cache-list",
    "--completion-bash",
    "--license",
    "--list-devices",
}
"""Flags that print something and end the server."""

DOWNLOADING = "download weights from the internet"
"""What the help of presets says that take the place of the model served."""

_SERVER, _COMMON = "LLAMA_EXAMPLE_SERVER", "LLAMA_EXAMPLE_COMMON"
ON, OFF = ("on", "enabled", "true", "1"), ("off", "disabled", "false", "0")
AUTO = ("auto", "-1")
_ON_OFF: Mapping[str, tuple[str, ...]] = {
    "is_truthy(": ON,
    "is_falsey(": OFF,
    "is_autoy(": AUTO,
}
"""Helper functions of arg.cpp, each with the words that it takes."""

WANTED = ("*common/arg.cpp", "*common/speculative.cpp")
"""Files of a source archive that are read (patterns of ``fnmatch``)."""


def read_sources(version: str, source: str, *, arguments: str, speculative: str) -> Reading:
    """Read one build from the text of arg.cpp and speculative.cpp.

    Raises:
        DataError: status 3; no options found.
    """
    lists = {
        "kv_cache_type_from_str": _kv_types(arguments),
        "common_speculative_type": _speculation_types(speculative),
    }
    flags = tuple(
        option
        for block in _blocks(arguments)
        if _is_for_server(block) and is_offered(block)
        for option in _option(block, lists)
    )
    if not flags:
        raise DataError(
            f"{source}: no options of llama-server found", code="engine_source_unreadable"
        )
    return Reading(version=version, source=source, flags=flags)


def is_offered(entry: str) -> bool:
    """Whether a flag does something for the model that the plan serves; False for removed ones."""
    return not any(mark in entry for mark in (REMOVED, "arg_removed", DOWNLOADING))


def _blocks(text: str) -> Iterator[str]:
    """Each ``add_opt(...)`` with its chained calls, comments blanked."""
    plain = re.sub(r"(?m)(?<![:\"])//.*$|/\*.*?\*/", "", text)
    for name, programs in _EXAMPLES.findall(plain):
        plain = plain.replace(f"set_examples({name})", f"set_examples({{{programs}}})")
    for match in _CALL.finditer(plain):
        start = plain.index("(", match.start())
        yield plain[start : _closing(plain, start) + 1]


def _closing(text: str, start: int) -> int:
    """Index of the bracket that closes the one at ``start``; strings are skipped."""
    depth, at = 0, start
    while at < len(text):
        char = text[at]
        if char == '"':
            match = _STRING.match(text, at)
            at = match.end() - 1 if match else at
        elif char == "'":
            at += 3 if text[at + 1] == "\\" else 2
        elif char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise DataError("a bracket is never closed", code="engine_source_unreadable")


def _is_for_server(block: str) -> bool:
    """The rule of ``add_opt``: tagged for the server or for all, and not excluded."""
    tags = dict(_GUARDED.findall(block))
    if _SERVER in tags.get("excludes", ""):
        return False
    examples = tags.get("examples", _COMMON)
    return _SERVER in examples or _COMMON in examples


def _option(block: str, lists: Mapping[str, tuple[str, ...]]) -> Iterator[Option]:
    handler = _HANDLER.search(block)
    head = block[: handler.start()] if handler else block
    names = tuple(name for group in _SPELLINGS.findall(head) for name in _STRING.findall(group))
    if not names or handler is None or PRINTING & set(names):
        return
    parameters = handler.group(1).split(",")
    kind = parameters[1].strip() if len(parameters) > 1 else ""
    body = block[handler.end() : _closing(block, handler.end() - 1)]
    if not kind or kind.startswith("bool"):
        yield Option(names=names, takes_value=False)
    else:
        values = _values(body, lists)
        numbers = bool(values) and _NUMBER.search(body) is not None
        closed = numbers or "throw" in body or any(function in body for function in lists)
        yield Option(
            names=names, values=values, other_values=bool(values) and not closed, numbers=numbers
        )


def _values(body: str, lists: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The words that a handler compares its value with."""
    for function, values in lists.items():
        if function in body and not _COMPARED.search(body):
            return values
    values = tuple(_COMPARED.findall(body))
    for function, words in _ON_OFF.items():
        if function in body:
            values += words
    if len(values) < 2:  # one word with a meaning of its own beside names or numbers
        return ()
    return tuple(dict.fromkeys(values))


def _kv_types(text: str) -> tuple[str, ...]:
    match = re.search(r"kv_cache_types\s*=\s*\{([^}]*)\}", text)
    return (
        tuple(name.lower() for name in re.findall(r"GGML_TYPE_(\w+)", match.group(1)))
        if match
        else ()
    )


def _speculation_types(text: str) -> tuple[str, ...]:
    match = re.search(r"common_speculative_type_from_name_map\s*=\s*\{(.*?)\n\};", text, re.DOTALL)
    return tuple(re.findall(r'\{\s*"([^"]+)"', match.group(1))) if match else ()
