"""A facts file (YAML or JSON) -> RawFacts, and RawFacts -> a facts file without serial numbers.

Layer: catalog. The contract's format: ``facts: 1``, ``files`` (path -> text as read) and
``commands`` (command -> its output). JSON is read without importing a YAML parser, because
thousands of boards may be planned in one process.
"""

import json
from collections.abc import Mapping
from typing import Final

from speccompose.catalog.plain_data import MAX_BYTES, Plain, bare_scalar, kind_of
from speccompose.catalog.problem import (
    InvalidDataError,
    Mistake,
    Positions,
    did_you_mean,
    place,
    source_lines,
)
from speccompose.catalog.serials import remove_serial_numbers
from speccompose.vocab.facts import RawFacts

FORMAT_VERSION: Final = 1
_SECTIONS: Final = ("files", "commands")
_DEVICE_TREE: Final = "/sys/firmware/devicetree/base/"
_DEVICE_TREE_LINK: Final = "/proc/device-tree/"
_ESCAPES: Final = {"\0": "\\0", "\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SURROGATES: Final = range(0xD800, 0xE000)
_LONGEST_SIMPLE_KEY: Final = 100


def read_facts(text: str, origin: str) -> RawFacts:
    """Read a facts file; ``/proc/device-tree/x`` becomes the path that the link points at.

    Raises:
        InvalidDataError: naming every mistake, with line and column where they are known.
    """
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        try:
            data = _read_json(text)
        except ValueError:
            pass  # it may be YAML in flow style; if not, that reader tells the place
        else:
            return _checked(data, text, origin, positions=None)
    return _read_yaml(text, origin)


def write_facts(facts: RawFacts) -> str:
    """Write facts as a YAML facts file: sorted, byte for byte the same each time, no serials."""
    kept = remove_serial_numbers(facts)
    lines = [f"facts: {FORMAT_VERSION}\n"]
    for section, texts in (("files", kept.files), ("commands", kept.commands)):
        if texts:
            lines.append(f"{section}:\n")
            lines += [f"  {_key(name)}: {_quoted(texts[name])}\n" for name in sorted(texts)]
    return "".join(lines)


def _read_json(text: str) -> Plain:
    """Decode JSON.

    Raises:
        ValueError: when it is too large or too deep, repeats a key, or holds half a character.
    """
    if len(text) > MAX_BYTES:
        raise ValueError("too large")
    try:
        data: Plain = json.loads(text.lstrip("\ufeff"), object_pairs_hook=_each_key_once)
        json.dumps(data, ensure_ascii=False).encode("utf-8")  # a lone surrogate fails here
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return data


def _each_key_once(pairs: list[tuple[str, Plain]]) -> dict[str, Plain]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key stands twice")
    return table


def _read_yaml(text: str, origin: str) -> RawFacts:
    from speccompose.catalog.yaml_file import parse  # 50 ms, and JSON needs none of it

    read = parse(text, origin)
    return _checked(read.data, text, origin, positions=read.positions)


def _checked(data: Plain, text: str, origin: str, *, positions: Positions | None) -> RawFacts:
    """Build the facts, or refuse with every fault at its place.

    Raises:
        InvalidDataError: when the data is not what the contract's format allows.
    """
    faults = _faults(data)
    if not faults:
        return _facts(data, origin)
    lines = source_lines(text)
    where = _positions_of_json(text) if positions is None else positions
    raise InvalidDataError(
        f"facts file {origin} is not usable",
        [place(fault, origin, lines, where) for fault in faults],
    )


def _positions_of_json(text: str) -> Positions | None:
    """JSON is YAML, nearly: where the YAML reader agrees, it knows the places."""
    from speccompose.catalog.yaml_file import parse

    try:
        return parse(text, "").positions
    except InvalidDataError:
        return None


def _faults(data: Plain) -> list[Mistake]:
    """Everything that the contract's format does not allow."""
    if not isinstance(data, dict):
        advice = "a facts file begins with `facts: 1`; `speccompose detect --save` writes one"
        return [Mistake((), f"expected a mapping, found {kind_of(data)}", advice)]
    faults = _version_faults(data)
    for key in data:
        if key not in ("facts", *_SECTIONS):
            hint = did_you_mean(key, _SECTIONS)
            faults.append(Mistake((key,), "expected facts, files or commands", hint, at_key=True))
    for section in _SECTIONS:
        faults += _section_faults(section, data.get(section))
    return faults


def _version_faults(data: dict[str, Plain]) -> list[Mistake]:
    if "facts" not in data:
        expected = "expected the key facts, the format's version"
        return [Mistake((), expected, f"write `facts: {FORMAT_VERSION}`")]
    version = data["facts"]
    if type(version) is int and version == FORMAT_VERSION:
        return []
    hint = "a newer format needs a newer speccompose" if type(version) is int else None
    return [Mistake(("facts",), f"expected {FORMAT_VERSION}, found {version!r}", hint)]


def _section_faults(section: str, texts: Plain) -> list[Mistake]:
    """Mistakes in one section; an empty section is fine, since any key may be absent."""
    if texts is None:
        return []
    if not isinstance(texts, dict):
        return [Mistake((section,), f"expected a mapping, found {kind_of(texts)}")]
    faults: list[Mistake] = []
    for name, text in texts.items():
        path = (section, name)
        if section == "files" and not name.startswith("/"):
            faults.append(Mistake(path, "expected an absolute path", at_key=True))
        if not isinstance(text, str):
            hint = "put quotes around it" if isinstance(text, (int, float)) else None
            faults.append(Mistake(path, f"expected text, found {kind_of(text)}", hint))
        other = _DEVICE_TREE + name.removeprefix(_DEVICE_TREE_LINK)
        if section == "files" and name.startswith(_DEVICE_TREE_LINK) and other in texts:
            expected = f"expected one name only, {other} stands here too"
            faults.append(Mistake(path, expected, at_key=True))
    return faults


def _facts(data: Plain, origin: str) -> RawFacts:
    """Build the facts from data without faults."""
    files = {
        _DEVICE_TREE + name.removeprefix(_DEVICE_TREE_LINK)
        if name.startswith(_DEVICE_TREE_LINK)
        else name: text
        for name, text in _texts(data, "files").items()
    }
    return RawFacts(origin=origin, files=files, commands=_texts(data, "commands"))


def _texts(data: Plain, section: str) -> Mapping[str, str]:
    texts = data.get(section) if isinstance(data, dict) else None
    if not isinstance(texts, dict):
        return {}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def _key(name: str) -> str:
    """Write a key: bare where that is surely text, else quoted; ``?`` where it is very long."""
    bare = (
        name.isascii()
        and name.isprintable()
        and (name[:1].isalpha() or name[:1] == "/")
        and not set(name) & set(":#\"'\\")
        and name == name.strip()
        and isinstance(bare_scalar(name), str)
    )
    written = name if bare else _quoted(name)
    return written if len(written) <= _LONGEST_SIMPLE_KEY else f"? {written}\n  "


def _quoted(text: str) -> str:
    """Write text as a double-quoted scalar; a byte that was no UTF-8 becomes U+FFFD."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if " " <= char <= "~" or (char.isprintable() and char != "\ufeff"):
        return char
    code = ord(char)
    if code in _SURROGATES:
        return "\ufffd"
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
