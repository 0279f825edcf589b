"""A ``command`` or ``entrypoint`` -> the words that start the container, with their lines.

Layer: lint. Pure. Compose splits a text as a shell would but runs no shell; a list is taken word by
word. A script given to ``bash -c`` is taken apart as well, as far as that can be read off.
"""

import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from speccompose.catalog.plain_data import Plain
from speccompose.catalog.problem import KeyPath
from speccompose.lint.compose_file import ComposeFile, WordFinder
from speccompose.lint.interpolation import fill
from speccompose.vocab.base import Frozen

SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "busybox"})
_ENDS: Final = frozenset({";", "&", "&&", "|", "||", ">", ">>", "<", "2>", "2>&1", "(", ")"})


class Word(Frozen, frozen=True, kw_only=True):
    """One word. ``known`` is False where a variable decides what it is."""

    text: str
    line: int
    known: bool = True

    @property
    def base(self) -> str:
        """The word without its folders: ``llama-server`` of ``/app/llama-server``."""
        return self.text.rpartition("/")[2]


class Words(Frozen, frozen=True, kw_only=True):
    """All words; ``unreadable`` says why a text could not be split."""

    words: tuple[Word, ...]
    is_list: bool
    line: int
    unreadable: str | None = None


def read_words(file: ComposeFile, path: KeyPath, value: Plain) -> Words | None:
    """The words of a command; None where there is none (absent or null)."""
    if value is None:
        return None
    line = file.line(path)
    if isinstance(value, list):
        items = [(scalar(item), file.line((*path, at))) for at, item in enumerate(value)]
        words = tuple(_word(text, line) for text, line in items if text is not None)
        return Words(words=words, is_list=True, line=line)
    text = scalar(value)
    if text is None:
        return Words(words=(), is_list=False, line=line, unreadable="neither text nor a list")
    return _split_text(file, path, text)


def _split_text(file: ComposeFile, path: KeyPath, text: str) -> Words:
    line = file.line(path)
    filled = fill(text)
    try:
        parts = shlex.split(filled.text)
    except ValueError as error:
        return Words(words=(), is_list=False, line=line, unreadable=str(error).lower())
    finder = WordFinder(file, path)
    words = tuple(
        Word(text=part, line=finder.line(part), known=filled.known or not _has_variable(part))
        for part in parts
    )
    return Words(words=words, is_list=False, line=line)


def scalar(value: Plain) -> str | None:
    """A scalar as Compose hands it on; None for a mapping, a list or nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else None


def _word(text: str, line: int) -> Word:
    filled = fill(text)
    return Word(text=filled.text, line=line, known=filled.known)


def _has_variable(text: str) -> bool:
    return "$" in text


def script_of(words: Sequence[Word]) -> Word | None:
    """The script in ``bash -c SCRIPT``; None when no shell starts, or it starts something else."""
    if not words or words[0].base not in SHELLS:
        return None
    with_script = False
    for word in words[1:]:
        if word.text.startswith("-"):
            with_script = with_script or (not word.text.startswith("--") and "c" in word.text)
        elif word.text not in SHELLS:
            return word if with_script else None
    return None


def script_words(script: Word, finder: WordFinder | None = None) -> tuple[Word, ...]:
    """The words of a shell script; operators and line ends stand as words of their own.

    A word with a variable of the shell is not known. A script that cannot be read has no words.
    """
    text = _lines_joined(script.text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        parts = list(lexer)
    except ValueError:
        return ()
    return tuple(
        Word(
            text=part,
            line=finder.line(part) if finder else script.line,
            known=script.known and not _has_variable(part),
        )
        for part in parts
    )


def until_end(words: Iterable[Word]) -> tuple[Word, ...]:
    """The words of one command: up to an operator of the shell."""
    taken: list[Word] = []
    for word in words:
        if word.text in _ENDS:
            break
        taken.append(word)
    return tuple(taken)


def _lines_joined(script: str) -> str:
    """A line end outside quotes ends a command, after a backslash it does not."""
    text = script.replace("\\\n", " ")
    joined: list[str] = []
    quote = ""
    for at, char in enumerate(text):
        if char in "'\"" and (not quote or quote == char):
            escaped = at > 0 and text[at - 1] == "\\" and quote != "'"
            quote = quote if escaped else ("" if quote else char)
        joined.append(" ; " if char == "\n" and not quote else char)
    return "".join(joined)
