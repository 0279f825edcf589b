"""YAML text -> plain data and the position of every key and value; plain data -> YAML text.

Layer: catalog. The only importer of ruamel.yaml. Data is plain on purpose: duplicate keys,
anchors, aliases, merge keys, tags, directives and further documents are refused, and size and
nesting are bounded. Scalars follow YAML 1.2's core schema: ``no`` and dates stay text.
"""

from collections.abc import Iterator
from io import StringIO
from typing import Final, NoReturn

from ruamel.yaml import YAML, events
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from speccompose.catalog.plain_data import MAX_BYTES, Plain, PlainScalar, bare_scalar
from speccompose.catalog.problem import (
    InvalidDataError,
    KeyPath,
    Position,
    Positions,
    Problem,
    line_at,
    show_path,
    source_lines,
)
from speccompose.vocab.base import Frozen

MAX_NESTING: Final = 50
Event = events.Event
ScalarEvent = events.ScalarEvent
_FRAME: Final = (events.StreamStartEvent, events.StreamEndEvent, events.DocumentEndEvent)
_MAX_PROBLEMS: Final = 50
_SYNTAX_HINTS: Final = (
    ("mapping values are not allowed", 'a text that contains ": " needs quotes around it'),
    ("cannot start any token", "a text that begins with this character needs quotes; no tabs"),
    ("expected <block end>", "compare the indentation with the lines above"),
    ("could not find expected ':'", "a key needs a colon and a space after it"),
)


class YamlFile(Frozen, frozen=True, kw_only=True):
    """A parsed file: plain data (mappings, lists, scalars) and where each part stands."""

    data: Plain
    positions: Positions


def parse(text: str, origin: str) -> YamlFile:
    """Parse one YAML document of plain data.

    Raises:
        InvalidDataError: naming ``origin``, line and column of everything that is refused.
    """
    return Builder(text, origin).build()


def parse_plain(text: str, origin: str = "YAML text") -> Plain:
    """Parse as ``parse`` does and return the data alone.

    Raises:
        InvalidDataError: as ``parse``.
    """
    return parse(text, origin).data


def dump(data: Plain) -> str:
    """Write plain data so that ``parse_plain`` reads the same back.

    Text that a bare scalar would not mean (numbers, `no`, an empty text) is quoted.
    """
    yaml = YAML()
    yaml.representer.ignore_aliases = lambda *_: True
    yaml.width = 96
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    yaml.dump(_quoted(data), text)
    return text.getvalue().removesuffix("...\n")


def _quoted(data: Plain) -> Plain:
    if isinstance(data, dict):
        return {_quoted_text(key): _quoted(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_quoted(item) for item in data]
    return _quoted_text(data) if isinstance(data, str) else data


def _quoted_text(text: str) -> str:
    try:
        same = bare_scalar(text) == text
    except ValueError:
        same = False
    plain = same and text.isprintable() and text != "<<"
    return text if plain else str.__new__(DoubleQuotedScalarString, text)


class _RefusedError(Exception):
    """Stops the walk; the problem is already noted."""


class Builder:
    """Builds the data from parser events, so that nothing is resolved behind our back.

    shared_yaml.py builds on it for files that are not ours: anchors and several documents.
    """

    pure = False
    """Whether to read without libyaml, ten times slower: it takes no `[8000:8000]`."""

    def __init__(self, text: str, origin: str) -> None:
        self.text = text
        self.lines = source_lines(text)
        self.origin = origin
        self.keys: dict[KeyPath, Position] = {}
        self.values: dict[KeyPath, Position] = {}
        self.problems: list[Problem] = []
        self.events: Iterator[events.Event] = iter(())

    def build(self) -> YamlFile:
        """Walk the first document; refuse the file when anything was noted on the way."""
        data: Plain = None
        try:
            self._check_size()
            self.events = YAML(typ="safe", pure=self.pure).parse(self.text)
            data = self._document()
        except _RefusedError:
            pass
        except (YAMLError, ValueError) as error:  # ValueError: "\\U00110000" without the C parser
            self.problems.append(self._problem(*self._syntax_problem(error)))
        if self.problems:
            raise InvalidDataError(f"{self.origin} is not usable", self.problems)
        return YamlFile(data=data, positions=Positions(keys=self.keys, values=self.values))

    def _check_size(self) -> None:
        try:
            size = len(self.text.encode("utf-8"))
        except UnicodeEncodeError as error:
            self._note(self._at_offset(error.start), (), "expected text that UTF-8 can hold")
            raise _RefusedError from error
        if size > MAX_BYTES:
            expected = f"expected at most {MAX_BYTES} bytes, found {size}"
            self.problems.append(Problem(file=self.origin, expected=expected))
            raise _RefusedError

    def _document(self) -> Plain:
        """The only document: a second one, or directives, are refused."""
        data: Plain = None
        documents = 0
        for event in self.events:
            if isinstance(event, events.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._refuse(event, (), "expected one document, found a second one")
                if event.version is not None or event.tags:
                    self._refuse(event, (), "expected plain data, found a YAML directive")
            elif not isinstance(event, _FRAME):
                data = self._node(event, ())
        return data

    def _node(self, event: events.Event, path: KeyPath) -> Plain:
        self.values[path] = _position(event)
        if isinstance(event, events.AliasEvent):
            return self._alias(event, path)
        self._check_plain(event, path)
        if isinstance(event, events.ScalarEvent):
            return self._scalar(event, path)
        if len(path) >= MAX_NESTING:
            self._refuse(event, path[:3], f"expected at most {MAX_NESTING} levels of nesting")
        if isinstance(event, events.SequenceStartEvent):
            return self._sequence(path)
        return self._mapping(path)

    def _alias(self, event: events.Event, path: KeyPath) -> Plain:
        hint = "write the values out: data has no anchors, so that every file reads alone"
        self._note(_position(event), path, "expected plain data, found an alias", hint)
        return None

    def _check_plain(self, event: events.Event, path: KeyPath) -> None:
        """Refuse an anchor or a tag."""
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if anchor is not None:
            self._note(_position(event), path, f"expected plain data, found &{anchor}")
        if tag is not None:
            self._note(_position(event), path, f"expected plain data, found the tag {tag}")

    def _scalar(self, event: events.ScalarEvent, path: KeyPath) -> PlainScalar:
        text = str(event.value)
        if event.style:
            return text
        try:
            return bare_scalar(text)
        except ValueError:
            hint = "put quotes around it if it is a name or a version"
            self._note(_position(event), path, "expected a number of at most 64 bits", hint)
            return None

    def _sequence(self, path: KeyPath) -> list[Plain]:
        items: list[Plain] = []
        for event in self.events:
            if isinstance(event, events.SequenceEndEvent):
                break
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: KeyPath) -> dict[str, Plain]:
        table: dict[str, Plain] = {}
        for event in self.events:
            if isinstance(event, events.MappingEndEvent):
                break
            key = self._key(event, path)
            where = (*path, key)
            if key in table:
                first = self.keys[where].line
                expected = f"expected each key once, {key!r} stands on line {first} already"
                self._note(_position(event), where, expected)
            else:
                self.keys[where] = _position(event)
            table[key] = self._node(next(self.events), where)
        return table

    def _key(self, event: events.Event, path: KeyPath) -> str:
        if not isinstance(event, events.ScalarEvent):
            self._refuse(event, path, "expected text as a key")
        self._check_plain(event, path)
        text = str(event.value)
        if event.style:
            return text
        if text == "<<":
            hint = "write the values out: data has no merge keys"
            self._note(_position(event), path, "expected plain data, found a merge key", hint)
        elif not isinstance(self._scalar(event, path), str):
            hint = f'put quotes around it: "{text}"'
            self._note(_position(event), path, f"expected text as a key, found {text!r}", hint)
        return text

    def _refuse(self, event: events.Event, path: KeyPath, expected: str) -> NoReturn:
        self._note(_position(event), path, expected)
        raise _RefusedError

    def _note(
        self, position: Position, path: KeyPath, expected: str, hint: str | None = None
    ) -> None:
        self.problems.append(self._problem(position, path, expected, hint))
        if len(self.problems) >= _MAX_PROBLEMS:
            raise _RefusedError

    def _problem(
        self, position: Position, path: KeyPath, expected: str, hint: str | None
    ) -> Problem:
        return Problem(
            file=self.origin,
            position=position,
            path=show_path(path),
            source_line=line_at(self.lines, position),
            expected=expected,
            hint=hint,
        )

    def _syntax_problem(
        self, error: YAMLError | ValueError
    ) -> tuple[Position, KeyPath, str, str | None]:
        """Turn the parser's own complaint into a problem with a position."""
        if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
            what = str(error.problem or error.context)
            position = Position(error.problem_mark.line + 1, error.problem_mark.column + 1)
        else:
            what = str(getattr(error, "reason", error)).splitlines()[0]
            position = self._at_byte(int(getattr(error, "position", 0)))
        hint = next((hint for start, hint in _SYNTAX_HINTS if start in what), None)
        return position, (), f"expected readable YAML: {what}", hint

    def _at_byte(self, offset: int) -> Position:
        return self._at_offset(len(self.text.encode("utf-8")[:offset].decode("utf-8", "ignore")))

    def _at_offset(self, offset: int) -> Position:
        before = source_lines(self.text[:offset])
        return Position(len(before), len(before[-1]) + 1)


def begins_document(event: events.Event) -> bool:
    """Whether another document begins here."""
    return isinstance(event, events.DocumentStartEvent)


def is_node(event: events.Event) -> bool:
    """Whether data begins here, and no frame of the stream."""
    return not isinstance(event, (*_FRAME, events.DocumentStartEvent))


def _position(event: events.Event) -> Position:
    return Position(event.start_mark.line + 1, event.start_mark.column + 1)
