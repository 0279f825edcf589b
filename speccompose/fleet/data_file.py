"""A fleet's or policy's YAML text -> its type, or every mistake in it with line and column.

Layer: fleet. Names are text however they are written: a board called ``off`` or ``007`` is that.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from speccompose.catalog.plain_data import Plain
from speccompose.catalog.problem import (
    InvalidDataError,
    KeyPath,
    Mistake,
    Positions,
    place,
    source_lines,
)
from speccompose.catalog.text_file import read_text
from speccompose.catalog.validate import mistakes_in
from speccompose.catalog.yaml_file import parse
from speccompose.errors import DataError
from speccompose.vocab.base import Frozen

Kind = TypeVar("Kind", bound=Frozen)
_ENDS: Final = frozenset(" \t,]}#\r\n")


class TextSource(Frozen, frozen=True, kw_only=True):
    """A text, its name, and where its parts stand: what a mistake is shown in."""

    origin: str
    text: str
    positions: Positions

    def refuse(self, mistakes: Iterable[Mistake]) -> None:
        """Nothing when there are none.

        Raises:
            InvalidDataError: with all of them.
        """
        lines = source_lines(self.text)
        found = [place(mistake, self.origin, lines, self.positions) for mistake in mistakes]
        if found:
            raise InvalidDataError(self.origin, found)


def read_source(path: Path, what: str, hint: str | None = None) -> str:
    """The text of a file that somebody named; ``hint`` is what to do where it cannot be read.

    Raises:
        DataError: it cannot be read.
    """
    try:
        return read_text(path)
    except OSError as error:
        raise DataError(
            f"{what} {path} cannot be read: {error.strerror}", hint=hint, code="file_unreadable"
        ) from error


def read_as(
    kind: str,
    to: type[Kind],
    text: str,
    origin: str,
    *,
    names: Callable[[KeyPath], bool] = lambda path: False,
) -> tuple[Kind, TextSource]:
    """Parse, check with the kind's schema, convert. ``names`` says which values are names.

    Raises:
        InvalidDataError: with every mistake.
    """
    read = parse(text, origin)
    source = TextSource(origin=origin, text=text, positions=read.positions)
    data = _named(read.data, (), source, names)
    mistakes = list(mistakes_in(kind, data))
    source.refuse(mistakes)
    try:
        return msgspec.convert(data, type=to), source
    except msgspec.ValidationError as error:
        raise InvalidDataError(
            origin, [place(Mistake((), str(error)), origin, (), None)]
        ) from error


def _named(
    data: Plain, path: KeyPath, source: TextSource, names: Callable[[KeyPath], bool]
) -> Plain:
    """The data with every name as it is written, whatever a bare scalar would mean."""
    if isinstance(data, dict):
        return {key: _named(value, (*path, key), source, names) for key, value in data.items()}
    if isinstance(data, list):
        return [_named(item, (*path, index), source, names) for index, item in enumerate(data)]
    if isinstance(data, str) or not names(path) or (data is None and path[-1:] != ("id",)):
        return data
    return _as_written(source, path) or data


def _as_written(source: TextSource, path: KeyPath) -> str:
    where = source.positions.values.get(path)
    if where is None:
        return ""
    line = source_lines(source.text)[where.line - 1][where.column - 1 :]
    end = next((index for index, char in enumerate(line) if char in _ENDS), len(line))
    return line[:end]
