"""A dataset becomes the files that AIPerf reads: its conversations, marked, and a tokenizer.

Layer: measure. SPEED-Bench goes in as SPEED-Bench, so that AIPerf's own report knows its
categories; everything else as conversations of several turns. Each request has a beginning of its
own, as with the native runner: repeats ask the same texts again, and a server that finds them in
its cache would be measured at something else. Both arms of a repeat read the same file.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from speccompose.device.dataset import SPEED_BENCH, Conversation, Dataset
from speccompose.device.dealing import deal

_MULTI_TURN = "multi_turn"
_ID_CHARACTERS = 32
"""SPEED-Bench's ids have exactly so many, and AIPerf wants them so."""


class Given(NamedTuple):
    """What AIPerf is given. ``kind`` is its dataset type; ``categories`` by conversation."""

    kind: str
    file: Path
    conversations: int
    requests: int
    categories: Mapping[str, str | None]


def dataset_kind(dataset: Dataset, category: str | None) -> str:
    """AIPerf's name for the dataset: speed_bench_<category>, or all of it, or no SPEED-Bench."""
    if dataset.name != SPEED_BENCH:
        return _MULTI_TURN
    return SPEED_BENCH if category is None else f"speed_bench_{category}"


def write_input(
    folder: Path, dataset: Dataset, *, kind: str, requests: int, clients: int, mark: str
) -> Given:
    """Write the conversations of one run, so many turns together.

    Raises:
        OSError: the file cannot be written.
    """
    dealt = deal(dataset, requests, clients=clients, mark=mark)
    ids = [_id(mark, place) for place in range(len(dealt))]
    is_speed_bench = kind != _MULTI_TURN
    row = _speed_bench_row if is_speed_bench else _plain_row
    file = folder / ("qualitative.jsonl" if is_speed_bench else "conversations.jsonl")
    with file.open("w", encoding="utf-8") as target:
        for name, conversation in zip(ids, dealt, strict=True):
            target.write(json.dumps(row(name, conversation)) + "\n")
    return Given(
        kind,
        file,
        len(dealt),
        sum(len(each.turns) for each in dealt),
        dict(zip(ids, (each.category for each in dealt), strict=True)),
    )


def write_tokenizer(folder: Path) -> Path:
    """A folder that transformers loads offline; returns it.

    AIPerf does not start without a tokenizer, a GGUF brings none that it reads, and with the
    server's own token counts nothing is counted with it. So any will do.

    Raises:
        OSError: it cannot be written.
    """
    place = folder / "tokenizer"
    place.mkdir(exist_ok=True)
    unknown = "[UNK]"
    tokenizer: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {unknown: 0}, "unk_token": unknown},
    }
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": unknown}
    (place / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    (place / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return place


def _speed_bench_row(name: str, conversation: Conversation) -> dict[str, object]:
    messages = [{"role": "user", "content": turn} for turn in conversation.turns]
    return {"question_id": name, "category": conversation.category, "messages": messages}


def _plain_row(name: str, conversation: Conversation) -> dict[str, object]:
    turns: Sequence[dict[str, str]] = [{"text": turn} for turn in conversation.turns]
    if conversation.system is not None:
        turns = [{"role": "system", "text": conversation.system}, *turns]
    return {"session_id": name, "turns": turns}


def _id(mark: str, place: int) -> str:
    return hashlib.sha256(f"{mark}/{place}".encode()).hexdigest()[:_ID_CHARACTERS]
