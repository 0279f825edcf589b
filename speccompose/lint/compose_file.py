"""The text of a Compose file -> its documents, and the line of everything in them.

Layer: lint. Pure. YAML is read by catalog/shared_yaml.
"""

import re

from speccompose.catalog.plain_data import Plain
from speccompose.catalog.problem import KeyPath, source_lines
from speccompose.catalog.shared_yaml import SharedYaml, parse_shared
from speccompose.vocab.base import Frozen

LARGEST_BYTES = 256 * 1024
"""Five thousand lines: what is larger was made by a program, and takes seconds to read."""


class ComposeFile(Frozen, frozen=True, kw_only=True):
    """One document of a file. ``lines`` are those of the whole file."""

    name: str
    lines: tuple[str, ...]
    document: SharedYaml

    @property
    def data(self) -> dict[str, Plain]:
        """The top-level mapping; empty when the document is something else."""
        return self.document.data if isinstance(self.document.data, dict) else {}

    def line(self, path: KeyPath) -> int:
        """Line of the value at a path."""
        return self.document.line_of(path)

    def key_line(self, path: KeyPath) -> int:
        """Line of the key that leads to a path."""
        return self.document.line_of_key(path)

    def last_line(self, path: KeyPath) -> int:
        """The last line that a scalar can reach: the next key or value begins after it."""
        first = self.line(path)
        later = [
            place.line
            for table in (self.document.keys, self.document.values)
            for place in table.values()
            if place.line > first
        ]
        return max(first, min(later, default=len(self.lines) + 1) - 1)


class WordFinder:
    """Where the words of a scalar of several lines stand; words are asked for in their order."""

    def __init__(self, file: ComposeFile, path: KeyPath) -> None:
        self._file = file
        self._at = file.line(path)
        self._last = file.last_line(path)

    def line(self, word: str) -> int:
        """The line of the next place where the word stands, else of the word before it."""
        shown = re.split(r"[\s\"'$\\]", word.strip(), maxsplit=1)[0]
        if shown:
            whole = re.compile(rf"(?<![\w-]){re.escape(shown)}(?![\w-])")
            for number in range(self._at, self._last + 1):
                if whole.search(self._file.lines[number - 1]):
                    self._at = number
                    break
        return self._at


def read_compose(text: str, name: str) -> tuple[ComposeFile, ...]:
    """Every document of a file.

    Raises:
        InvalidDataError: it is no YAML; with line and column.
    """
    text = text.removeprefix("\ufeff")
    lines = tuple(source_lines(text))
    return tuple(
        ComposeFile(name=name, lines=lines, document=document)
        for document in parse_shared(text, name)
    )
