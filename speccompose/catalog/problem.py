"""One mistake in somebody's data -> the lines that show it: place, source line, caret, hint.

Layer: catalog. Every reader of data (YAML, facts, catalog) reports through this module, so that
a mistake looks the same wherever it stands, and so that all mistakes are told at once.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from speccompose.errors import DataError
from speccompose.vocab.base import Frozen

KeyPath = tuple[str | int, ...]

MOST_SHOWN = 20
"""Mistakes that are told: nobody mends more at once, and a wrong kind of file has thousands."""

_LINE_WIDTH = 72
_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


class Position(NamedTuple):
    """A place in a text; both count from 1."""

    line: int
    column: int


class Positions(Frozen, frozen=True, kw_only=True):
    """Where each key and each value of a file stands, by key path."""

    keys: dict[KeyPath, Position]
    values: dict[KeyPath, Position]

    def of_value(self, path: KeyPath) -> Position:
        """Position of the value at a path; of its nearest parent that is in the file if absent."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Position(1, 1))

    def of_key(self, path: KeyPath) -> Position:
        """Position of the key that leads to a path; of the value where there is none (a list
        item, the root)."""
        found = self.keys.get(path)
        return self.of_value(path) if found is None else found


class Mistake(NamedTuple):
    """What is wrong at a key path; ``at_key`` when the key is wrong and not its value."""

    path: KeyPath
    expected: str
    hint: str | None = None
    at_key: bool = False


class Problem(Frozen, frozen=True, kw_only=True):
    """One mistake: where it stands, what was expected there, what to do about it.

    ``position`` is None where only the file is known (a missing file, an unreadable one).
    """

    file: str
    position: Position | None = None
    path: str = ""
    source_line: str | None = None
    expected: str
    hint: str | None = None

    def lines(self) -> tuple[str, ...]:
        """The mistake as the user sees it."""
        place = self.file
        if self.position is not None:
            place += f":{self.position.line}:{self.position.column}"
        shown = [f"{place}  {self.path}".rstrip()]
        if self.position is not None and self.source_line is not None:
            shown += _excerpt(self.source_line, self.position)
        shown.append(f"  {self.expected}")
        if self.hint is not None:
            shown.append(f"  hint: {self.hint}")
        return tuple(shown)


class InvalidDataError(DataError):
    """Data with mistakes; all are in ``problems``, the first ones as lines in ``details``."""

    def __init__(self, subject: str, problems: Sequence[Problem]) -> None:
        count = len(problems)
        shown = [line for problem in problems[:MOST_SHOWN] for line in problem.lines()]
        super().__init__(
            f"{subject}: {count} mistake{'' if count == 1 else 's'}",
            shown + ([_more(count)] if count > MOST_SHOWN else []),
            code="data_invalid",
        )
        self.problems = tuple(problems)


def capped(lines: Sequence[str]) -> list[str]:
    """The first lines, one per mistake, and how many more there are."""
    more = [_more(len(lines))] if len(lines) > MOST_SHOWN else []
    return [*lines[:MOST_SHOWN], *more]


def _more(count: int) -> str:
    return f"and {count - MOST_SHOWN} more"


def place(
    mistake: Mistake, file: str, lines: Sequence[str], positions: Positions | None
) -> Problem:
    """Find a mistake's place in its file and quote the line."""
    where: Position | None = None
    if positions is not None:
        find = positions.of_key if mistake.at_key else positions.of_value
        where = find(mistake.path)
    return Problem(
        file=file,
        position=where,
        path=show_path(mistake.path),
        source_line=None if where is None else line_at(lines, where),
        expected=mistake.expected,
        hint=mistake.hint,
    )


def show_path(path: KeyPath) -> str:
    """Write a key path as people do: ``checkpoints[0].weights_mib``, ``files["/etc/x"]``."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
        elif part.replace("_", "").replace("-", "").isalnum():
            shown += f".{part}" if shown else part
        else:
            shown += f'["{part}"]'
    return shown


def source_lines(text: str) -> list[str]:
    """Split a text as YAML counts lines (CR, NEL, LS and PS end a line as well)."""
    return _LINE_BREAK.split(text)


def line_at(lines: Sequence[str], position: Position) -> str | None:
    """Return the source line of a position, or None when there is no such line."""
    return lines[position.line - 1] if 0 < position.line <= len(lines) else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Hint at the known word that is nearest to a mistyped one, if one is near."""
    import difflib  # only on the way to an error

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else None


def _excerpt(source_line: str, position: Position) -> list[str]:
    """Show the line with a caret under the column, cut to a window when it is long."""
    column, width = position.column - 1, _LINE_WIDTH + 1 - len(str(position.line))
    start = max(0, column - width // 2) if column >= width - 8 else 0
    window = source_line[start : start + width]
    visible = "".join(char if char.isprintable() else " " for char in window)
    number = str(position.line)
    return [
        f"  {number} | {visible.rstrip()}",
        f"  {' ' * len(number)} | {' ' * (column - start)}^",
    ]
