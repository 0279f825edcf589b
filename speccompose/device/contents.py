"""Greedy answers of both arms become the finding whether speculation changes what is said.

Layer: device (standard library, Python 3.8). Pure. Speculation must not change a greedy answer.
But even two runs without it differ sometimes: where two next tokens are nearly equal, another
batch shape rounds differently. So the baseline is asked twice, once alone and once with all
prompts at the same time. Rules section 6: invalid when the speculative answers differ from the
baseline in more prompts than the two baseline runs differ from each other.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence

_SAME_WORD = re.compile(r"(\S+)(?:\s+\1(?!\S)){7,}")
_SAME_CHARACTER = re.compile(r"(\S)\1{23,}")
_SAME_PIECE = re.compile(r"(\S{2,24}?)\1{7,}")
"""A token that brings no space of its own, such as <unk>."""
_MOST_OF_TEXT = 0.5


class Contents(NamedTuple):
    """How many answers differ: between the baseline runs, and from them with speculation."""

    prompts: int
    baseline_differs: int
    speculative_differs: int
    faults: Sequence[str]

    def as_dict(self) -> Dict[str, object]:
        """The form that results keep; the faults stand among the verdict's reasons."""
        return {
            "prompts": self.prompts,
            "baseline_differs": self.baseline_differs,
            "speculative_differs": self.speculative_differs,
        }

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f"greedy answers of {self.prompts} prompts: {self.speculative_differs} differ "
            f"with speculation, {self.baseline_differs} differ between two runs without"
        )


def compare_contents(
    alone: Sequence[str], together: Sequence[str], speculative: Sequence[str]
) -> Contents:
    """Compare two baseline passes (one by one, all at once) with the speculative one."""
    places = range(min(len(alone), len(together), len(speculative)))
    unstable = sum(alone[i] != together[i] for i in places)
    changed = sum(alone[i] != speculative[i] for i in places)
    faults: List[str] = []
    if changed > unstable:
        faults.append(
            f"speculation changes what is said: {changed} of {len(places)} greedy answers differ "
            f"from those without it; two runs without it differ in {unstable}"
        )
    for arm, texts in (("without", alone), ("with", speculative)):
        found = [fault for fault in map(text_fault, texts) if fault is not None]
        faults += [f"greedy answer {arm} speculation: {fault}" for fault in found[:1]]
    return Contents(len(places), unstable, changed, tuple(faults))


def text_fault(text: str) -> Optional[str]:
    """What shows that a text is no answer: nothing at all, or one token over and over."""
    if not text.strip():
        return "it is empty"
    for pattern in (_SAME_WORD, _SAME_CHARACTER, _SAME_PIECE):
        longest = max((m.group(0) for m in pattern.finditer(text)), key=len, default="")
        if len(longest) > _MOST_OF_TEXT * len(text.strip()):
            return f"one token again and again: {longest[:24]!r}"
    return None
