"""A server's Prometheus text becomes its counters: drafts, generated tokens, preemptions.

Layer: device (standard library, Python 3.8). Both engines count the same four things of drafting
under their own prefix. vLLM shows them only while it speculates; llama.cpp shows zeros without,
and none at all before build 10326. Counters only grow: what a request did is the difference of
two readings. Generated tokens are counted by both, always; preemptions by vLLM alone.
"""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional, Tuple

from speccompose.device.answers import VLLM

_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)")
_POSITION = re.compile(r'position="(\d+)"')


class Counters(NamedTuple):
    """Totals since the server started. ``per_position`` is empty until something was drafted."""

    drafts: float
    draft_tokens: float
    accepted: float
    per_position: Tuple[float, ...] = ()

    def since(self, earlier: Optional[Counters]) -> Counters:
        """What happened after an earlier reading; None means 'since the start'."""
        if earlier is None:
            return self
        known = earlier.per_position + (0.0,) * len(self.per_position)
        return Counters(
            self.drafts - earlier.drafts,
            self.draft_tokens - earlier.draft_tokens,
            self.accepted - earlier.accepted,
            tuple(now - known[i] for i, now in enumerate(self.per_position)),
        )

    @property
    def mean_accepted_length(self) -> Optional[float]:
        """Tokens per verification pass that carried a draft; None when there was none."""
        return 1.0 + self.accepted / self.drafts if self.drafts > 0 else None


class Totals(NamedTuple):
    """One reading of all of it. None: the server does not count that."""

    drafting: Optional[Counters]
    generated: Optional[float] = None
    preemptions: Optional[float] = None


_GENERATED = {VLLM: "vllm:generation_tokens_total"}
_GENERATED_LLAMA = "llamacpp:tokens_predicted_total"
_PREEMPTIONS = ("vllm:num_preemptions_total", "vllm:num_preemptions")


def read_totals(text: str, engine: str) -> Totals:
    """Everything that a metrics page counts of what is measured here."""
    generated = _sum(text, (_GENERATED.get(engine, _GENERATED_LLAMA),))
    preemptions = _sum(text, _PREEMPTIONS) if engine == VLLM else None
    return Totals(read_counters(text, engine), generated, preemptions)


def _sum(text: str, names: Tuple[str, ...]) -> Optional[float]:
    """A counter over all its labels; None when it is not there."""
    found = [
        _number(match.group(3))
        for match in map(_SAMPLE.match, text.splitlines())
        if match is not None and match.group(1) in names
    ]
    return sum(found) if found else None


def read_counters(text: str, engine: str) -> Optional[Counters]:
    """Find the counters in a metrics page; None when the server does not have them."""
    prefix = ("vllm:" if engine == VLLM else "llamacpp:") + "spec_decode_num_"
    totals: Dict[str, float] = {}
    positions: Dict[int, float] = {}
    for line in text.splitlines():
        match = _SAMPLE.match(line)
        if match is None or not match.group(1).startswith(prefix):
            continue
        name, labels, value = match.group(1)[len(prefix) :], match.group(2) or "", match.group(3)
        number = _number(value)
        if name == "accepted_tokens_per_pos_total":
            position = _POSITION.search(labels)
            if position is not None:
                index = int(position.group(1))
                positions[index] = positions.get(index, 0.0) + number
        else:
            totals[name] = totals.get(name, 0.0) + number
    if "drafts_total" not in totals:
        return None
    return Counters(
        drafts=totals["drafts_total"],
        draft_tokens=totals.get("draft_tokens_total", 0.0),
        accepted=totals.get("accepted_tokens_total", 0.0),
        per_position=tuple(positions.get(i, 0.0) for i in range(max(positions, default=-1) + 1)),
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
