"""A metrics page becomes what the engine does right now, and what it has done so far.

Layer: device (standard library, Python 3.8). Pure. What an engine has done only grows while it
works: tokens read and generated, and steps taken. Requests that run while none of it grows are the
sign of a deadlock (H-03: /health 200, generation_tokens_total frozen, num_requests_running > 0).
"""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional

from speccompose.device.answers import VLLM

_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{.*\})?\s+(\S+)")


class _Names(NamedTuple):
    """What one engine calls these things."""

    running: str
    waiting: str
    generated: str
    grows: "tuple[str, ...]"


_VLLM = _Names(
    running="vllm:num_requests_running",
    waiting="vllm:num_requests_waiting",
    generated="vllm:generation_tokens_total",
    grows=(
        "vllm:generation_tokens_total",
        "vllm:prompt_tokens_total",
        "vllm:iteration_tokens_total_count",
    ),
)
_LLAMA_CPP = _Names(
    running="llamacpp:requests_processing",
    waiting="llamacpp:requests_deferred",
    generated="llamacpp:tokens_predicted_total",
    grows=(
        "llamacpp:tokens_predicted_total",
        "llamacpp:prompt_tokens_total",
        "llamacpp:n_decode_total",
    ),
)


class Activity(NamedTuple):
    """``requests`` run or wait; ``progress`` grows while it works. None: it does not say."""

    requests: Optional[float]
    progress: Optional[float]
    generated: Optional[float]


UNKNOWN = Activity(None, None, None)


def read_activity(text: Optional[str], engine: str) -> Activity:
    """What a metrics page says; all unknown where there is none."""
    if text is None:
        return UNKNOWN
    names = _VLLM if engine == VLLM else _LLAMA_CPP
    samples = _samples(text)
    grown = [samples[name] for name in names.grows if name in samples]
    queued = [samples[name] for name in (names.running, names.waiting) if name in samples]
    return Activity(
        requests=sum(queued) if names.running in samples else None,
        progress=sum(grown) if grown else None,
        generated=samples.get(names.generated),
    )


def _samples(text: str) -> Dict[str, float]:
    """Every metric, summed over its labels; what is no number is left out."""
    found: Dict[str, float] = {}
    for line in text.splitlines():
        match = _SAMPLE.match(line)
        if match is None:
            continue
        try:
            value = float(match.group(2))
        except ValueError:
            continue
        if value == value and abs(value) != float("inf"):
            found[match.group(1)] = found.get(match.group(1), 0.0) + value
    return found
