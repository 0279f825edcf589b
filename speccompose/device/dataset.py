"""A file of conversations, or the built-in set, becomes what a measurement asks.

Layer: device (standard library, Python 3.8). Reads one file, asks nobody. Read ``load_dataset``
first. A dataset says what is asked and in which order; the marks that make every request distinct
(prompts.py) and the sending are the measurement's.

    builtin() / load_dataset(path, category=..., requests=...) -> Dataset
"""

from __future__ import annotations

import errno
import hashlib
import json
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from speccompose.device.dataset_rows import Conversation, Row, read_rows
from speccompose.device.errors import DATA, USAGE, DeviceError
from speccompose.device.prompts import CONVERSATIONS
from speccompose.device.small_file import read_small
from speccompose.device.speed_bench import check_speed_bench, is_speed_bench, refuse_placeholders

__all__ = ["Conversation", "Dataset", "builtin", "load_dataset", "select"]

BUILTIN = "builtin"
SPEED_BENCH = "speed_bench_qualitative"
"""The name that AIPerf gives the prepared split."""

MOST_BYTES = 64 * 1024 * 1024
"""Far more than SPEED-Bench has; a model file given by mistake is refused before it is read."""


class Dataset(NamedTuple):
    """What is asked. ``sha256`` is over the conversations in their order, not over the file: two
    files that ask the same are the same dataset, another choice of category is another one.
    """

    name: str
    sha256: str
    conversations: Tuple[Conversation, ...]

    @property
    def turns(self) -> int:
        """Requests that it takes to play every conversation once."""
        return sum(len(conversation.turns) for conversation in self.conversations)


def builtin() -> Dataset:
    """Our own conversations, eight of each category, mixed: any first part holds all of them.

    The first 22 are single questions, the same that a quick measurement asks.
    """
    rounds = max(len(conversations) for conversations in CONVERSATIONS.values())
    return _dataset(
        BUILTIN,
        [
            Conversation(f"{category}-{place + 1}", category, conversations[place])
            for place in range(rounds)
            for category, conversations in CONVERSATIONS.items()
            if place < len(conversations)
        ],
    )


def load_dataset(path: Path, *, category: Optional[str], requests: Optional[int]) -> Dataset:
    """Read a JSONL file of conversations: the user's own, or SPEED-Bench's qualitative split.

    A line is one JSON object with ``prompt`` or ``text`` (one question), ``turns`` (a list of
    questions) or ``messages`` (roles and contents: system and user count, recorded answers do
    not, because the server under test gives its own); ``id`` (or ``question_id``) and
    ``category`` may stand beside it. What ``category`` and ``requests`` do, ``select`` says.

    Raises:
        DeviceError: status 3 for a file that cannot be read or a line that is none of these, with
            file and line; 2 for a category that the file does not have, or no request at all.
    """
    rows = read_rows(_text(path), str(path))
    if not rows:
        raise DeviceError(
            DATA,
            f"{path} holds no conversation",
            ["wanted: one JSON object per line, with prompt, text, turns or messages"],
            code="bad_dataset",
        )
    refuse_placeholders(rows, str(path))
    if is_speed_bench(rows):
        check_speed_bench(rows, str(path))
        name = SPEED_BENCH
    else:
        _refuse_twins(rows, str(path))
        name = path.name
    whole = _dataset(name, [row.conversation for row in rows])
    return select(whole, category=category, requests=requests)


def select(dataset: Dataset, *, category: Optional[str], requests: Optional[int]) -> Dataset:
    """Keep one category, then as few conversations as give that many requests.

    Without a category a smaller number takes from all categories in turn, so that it stays a
    mix; conversations are never cut, so the last one may have turns beyond the number. Where the
    dataset has fewer, all of it is given: who measures plays it again.

    Raises:
        DeviceError: status 2 for a category that is not there, or a number below 1.
    """
    if requests is not None and requests < 1:
        raise DeviceError(USAGE, f"{requests} requests measure nothing", hint="ask for at least 1")
    chosen = _of_category(dataset, category)
    if requests is not None and requests < sum(len(each.turns) for each in chosen):
        chosen = _first(_mixed(chosen), requests)
    return _dataset(dataset.name, chosen)


def _of_category(dataset: Dataset, category: Optional[str]) -> List[Conversation]:
    """Conversations of one category; all of them for None."""
    if category is None:
        return list(dataset.conversations)
    chosen = [each for each in dataset.conversations if each.category == category]
    if not chosen:
        known = sorted({each.category for each in dataset.conversations if each.category})
        raise DeviceError(
            USAGE,
            f"{dataset.name} has no category {category[:80]!r}",
            [f"it has: {', '.join(known[:20])}" if known else "its lines name no category"],
            code="unknown_category",
        )
    return chosen


def _mixed(conversations: Sequence[Conversation]) -> List[Conversation]:
    """One of each category, in the order of the file, then the next of each."""
    kinds: Dict[Optional[str], List[Conversation]] = {}
    for each in conversations:
        kinds.setdefault(each.category, []).append(each)
    longest = max(len(kind) for kind in kinds.values())
    return [kind[place] for place in range(longest) for kind in kinds.values() if place < len(kind)]


def _first(conversations: Sequence[Conversation], requests: int) -> List[Conversation]:
    chosen: List[Conversation] = []
    for each in conversations:
        if requests <= 0:
            break
        chosen.append(each)
        requests -= len(each.turns)
    return chosen


def _dataset(name: str, conversations: Sequence[Conversation]) -> Dataset:
    asked = [[each.category, each.system, list(each.turns)] for each in conversations]
    content = json.dumps(asked, separators=(",", ":")).encode("ascii")
    return Dataset(name, hashlib.sha256(content).hexdigest(), tuple(conversations))


def _text(path: Path) -> str:
    """The file's text, without a byte order mark.

    Raises:
        DeviceError: status 3.
    """
    try:
        content = read_small(path, MOST_BYTES)
    except OSError as error:
        missing = error.errno == errno.ENOENT
        raise DeviceError(
            DATA,
            f"{path} cannot be read: {error.strerror}",
            hint="give a JSONL file, or leave out --dataset for the built-in set"
            if missing
            else None,
            code="bad_dataset",
        ) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DeviceError(
            DATA,
            f"{path}:{line} is not UTF-8",
            [f"byte {content[error.start]:#04x}"],
            hint=f"convert it: iconv -t UTF-8 {path.name}",
            code="bad_dataset",
        ) from None


def _refuse_twins(rows: Sequence[Row], origin: str) -> None:
    """Two lines that ask the same: the second one's answer would come from a cache.

    Raises:
        DeviceError: status 3.
    """
    asked: Dict[Tuple[Optional[str], Tuple[str, ...]], int] = {}
    twins = []
    for row in rows:
        key = (row.conversation.system, row.conversation.turns)
        if key in asked:
            twins.append(f"line {row.line} asks what line {asked[key]} asks")
        else:
            asked[key] = row.line
    if twins:
        raise DeviceError(
            DATA,
            f"{origin} asks {len(twins)} of its {len(rows)} conversations twice",
            twins[:5],
            hint="remove the repetitions: a measurement wants distinct prompts",
            code="repeated_prompts",
        )
