"""A dataset becomes the conversations of one run: so many requests, each unlike any other.

Layer: device (standard library, Python 3.8). Pure. Every conversation gets a mark of its own in
front (of its system message where it has one), so that a server's cache of prefixes has nothing
to offer; both arms of a repeat get the same ones. A dataset that is too small is dealt again,
with other marks.
"""

from __future__ import annotations

import hashlib
from typing import List, Tuple

from speccompose.device.dataset import Conversation, Dataset, select


def deal(dataset: Dataset, requests: int, *, clients: int, mark: str) -> Tuple[Conversation, ...]:
    """Conversations with exactly so many turns together, and at least one for every client.

    Every repeat gets the same choice, so that repeats differ in speed and not in what is asked.
    """
    wanted = max(requests, clients)
    chosen = select(dataset, category=None, requests=wanted).conversations
    dealt: List[Conversation] = []
    left = wanted
    while left > 0:
        each = chosen[len(dealt) % len(chosen)]
        # The last clients must have something to ask too.
        room = max(1, left - max(0, clients - len(dealt) - 1))
        turns = each.turns[: min(left, room)]
        dealt.append(marked(each._replace(turns=turns), f"{mark}/{len(dealt)}"))
        left -= len(turns)
    return tuple(dealt)


def openings(dataset: Dataset, count: int, *, mark: str) -> Tuple[Conversation, ...]:
    """The first turn of so many conversations, for a warm-up."""
    chosen = dataset.conversations
    return tuple(
        marked(_opening(chosen[place % len(chosen)]), f"{mark}/{place}") for place in range(count)
    )


def fixed_openings(dataset: Dataset, count: int) -> Tuple[Conversation, ...]:
    """The first turn of so many conversations, unmarked and the same every time."""
    opened = dataset._replace(conversations=tuple(map(_opening, dataset.conversations)))
    return select(opened, category=None, requests=count).conversations[:count]


def marked(conversation: Conversation, mark: str) -> Conversation:
    """The same conversation with a beginning of its own."""
    tag = f"[{hashlib.sha256(mark.encode('utf-8')).hexdigest()[:10]}] "
    if conversation.system is not None:
        return conversation._replace(system=tag + conversation.system)
    first, rest = conversation.turns[0], conversation.turns[1:]
    return conversation._replace(turns=(tag + first, *rest))


def _opening(conversation: Conversation) -> Conversation:
    return conversation._replace(turns=conversation.turns[:1])
