"""A dataset and a context become the refusal of prompts that do not fit, before anything runs.

Layer: device (standard library, Python 3.8). A prompt that is too long would fail in the middle
of a measurement that has interrupted a stack already. Tokens are counted by the server itself; a
text of fewer bytes than the context has tokens fits for certain, so most need no question. What
the chat template adds is small and not counted: a prompt that it pushes over the edge ends the
run as an error, as the server says it.
"""

from __future__ import annotations

from typing import List, Optional

from speccompose.device.dataset import Conversation, Dataset
from speccompose.device.errors import USAGE, DeviceError
from speccompose.device.window import Pace, Served

_TOLD = 5


def check_room(served: Served, dataset: Dataset, pace: Pace, context_tokens: Optional[int]) -> None:
    """Refuse conversations that the context cannot hold with their answers.

    Raises:
        DeviceError: status 2, naming some of them with their tokens.
    """
    if context_tokens is None:
        return
    too_long: List[str] = []
    for each in dataset.conversations:
        answers = len(each.turns) * pace.output_tokens
        if _bytes(each) + answers <= context_tokens:
            continue
        tokens = served.server.count_tokens(_text(each), served.endpoint.model)
        if tokens is not None and tokens + answers > context_tokens:
            too_long.append(f"{each.id}: {tokens} tokens, and {answers} for its answers")
    if too_long:
        more = len(too_long) - _TOLD
        raise DeviceError(
            USAGE,
            f"{len(too_long)} of {len(dataset.conversations)} conversations in {dataset.name} do "
            f"not fit into a context of {context_tokens} tokens",
            [*too_long[:_TOLD], *([f"and {more} more"] if more > 0 else [])],
            hint="leave them out, pick a --category, deploy with a larger --context, or give "
            "--runner aiperf a smaller --osl",
            code="prompts_too_long",
        )


def _text(conversation: Conversation) -> str:
    return "\n".join(part for part in (conversation.system, *conversation.turns) if part)


def _bytes(conversation: Conversation) -> int:
    return len(_text(conversation).encode("utf-8"))
