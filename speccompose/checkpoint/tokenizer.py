"""Tokenizer files -> an identity that two checkpoints can be compared by.

Layer: checkpoint. The digest is over tokens by id and merges, so that two ways to write the same
tokenizer down are the same tokenizer; the texts allow to say where two differ.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from speccompose.checkpoint.bounded import CONFIG_LIMIT, TOKENIZER_LIMIT, read_bounded, read_json
from speccompose.checkpoint.folder import Folder
from speccompose.vocab.checkpoint import TokenizerFacts

_WHOLE_FILES: Final = ("tokenizer.model", "tekken.json", "tiktoken.model", "qwen.tiktoken")
"""Other forms: identity of the file, which only says whether two are the same."""


class _Model(Struct):
    type: str | None = None
    vocab: dict[str, int] | list[tuple[str, float]] | None = None
    merges: list[str | tuple[str, str]] = []


class _Added(Struct):
    id: int
    content: str


class _File(Struct):
    model: _Model
    added_tokens: list[_Added] | None = None


def read_tokenizer(folder: Folder) -> TokenizerFacts | None:
    """The identity of the folder's tokenizer; None when it has none that is known here.

    Raises:
        DataError: its file is unreadable or malformed.
    """
    if folder.has("tokenizer.json"):
        read = read_json(folder.path / "tokenizer.json", TOKENIZER_LIMIT, _File)
        vocabulary = read.model.vocab or {}
        if isinstance(vocabulary, list):
            vocabulary = {text: number for number, (text, _) in enumerate(vocabulary)}
        added = {each.content: each.id for each in read.added_tokens or ()}
        merges = (each if isinstance(each, str) else " ".join(each) for each in read.model.merges)
        return identify(read.model.type or "unnamed", {**vocabulary, **added}, merges)
    for name in _WHOLE_FILES:
        if folder.has(name):
            content = read_bounded(folder.path / name, TOKENIZER_LIMIT)
            return TokenizerFacts(kind=name, digest=hashlib.sha256(content).hexdigest())
    if folder.has("vocab.json") and folder.has("merges.txt"):
        vocabulary = read_json(folder.path / "vocab.json", TOKENIZER_LIMIT, dict[str, int])
        text = read_bounded(folder.path / "merges.txt", CONFIG_LIMIT).decode("utf-8", "replace")
        lines = (line for line in text.splitlines() if line and not line.startswith("#version"))
        return identify("BPE", vocabulary, lines)
    return None


def identify(kind: str, ids: Mapping[str, int], merges: Iterable[str]) -> TokenizerFacts:
    """Digest and texts of a vocabulary."""
    ordered = sorted(ids.items(), key=lambda item: item[1])
    dense = not ordered or (ordered[0][1] >= 0 and ordered[-1][1] < 2 * len(ordered) + 1024)
    texts: tuple[str, ...] = ()
    if dense and ordered:
        by_id = [""] * (ordered[-1][1] + 1)
        for text, number in ordered:
            by_id[number] = text
        texts = tuple(by_id)
    lines = (f"{number}\0{text}" for text, number in ordered)
    return TokenizerFacts(
        kind=kind, tokens=len(ordered), digest=tokens_digest(kind, lines, merges), texts=texts
    )


def tokens_digest(kind: str, tokens: Iterable[str], merges: Iterable[str]) -> str:
    """sha256 over kind, tokens and merges in their order."""
    parts = (kind, "\n".join(tokens), "\n".join(merges))
    return hashlib.sha256("\n\n".join(parts).encode()).hexdigest()
