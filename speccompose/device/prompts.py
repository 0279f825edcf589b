"""Built-in conversations: our own words, so that every board can measure itself offline.

Layer: device (standard library, Python 3.8). Pure. The categories are those of SPEED-Bench, eight
conversations each (its rows are not ours to ship), in an order that any first part is a mix.
Every measured request gets a mark of its own in front, so that a cache of prefixes has nothing to
offer; both arms get the same ones.
"""

from __future__ import annotations

import hashlib
from typing import Dict, NamedTuple, Tuple

from speccompose.device import prompts_knowing as knowing
from speccompose.device import prompts_making as making
from speccompose.device import prompts_thinking as thinking

_SINGLE_ROUNDS = 2
"""Rounds over the categories that begin the set and hold single questions only."""


class Prompt(NamedTuple):
    """One built-in prompt."""

    category: str
    text: str


CONVERSATIONS: Dict[str, Tuple[Tuple[str, ...], ...]] = {
    "coding": making.CODING,
    "writing": making.WRITING,
    "qa": knowing.QA,
    "math": thinking.MATH,
    "summarization": making.SUMMARIZATION,
    "roleplay": making.ROLEPLAY,
    "reasoning": thinking.REASONING,
    "rag": knowing.RAG,
    "humanities": thinking.HUMANITIES,
    "stem": thinking.STEM,
    "multilingual": knowing.MULTILINGUAL,
}
"""Conversations by category, each a tuple of the user's turns."""

CATEGORIES: Tuple[str, ...] = tuple(CONVERSATIONS)
"""The eleven categories of SPEED-Bench's qualitative split."""

PROMPTS: Tuple[Prompt, ...] = tuple(
    Prompt(category, CONVERSATIONS[category][round_][0])
    for round_ in range(_SINGLE_ROUNDS)
    for category in CATEGORIES
)
"""The two questions of each category that a short measurement asks."""


def marked_prompts(count: int, mark: str) -> Tuple[str, ...]:
    """So many prompts, each with a beginning of its own that depends on ``mark`` and its place."""
    return tuple(
        f"[{_tag(mark, place)}] {PROMPTS[place % len(PROMPTS)].text}" for place in range(count)
    )


def _tag(mark: str, place: int) -> str:
    return hashlib.sha256(f"{mark}/{place}".encode("utf-8")).hexdigest()[:10]
