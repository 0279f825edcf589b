"""AIPerf's records, one line per request, become samples as our own client gives them.

Layer: measure. Read line by line: with long answers a line holds thousands of times. A record
that is cut off, or that does not say what it should, is a fault and never a fast request.
"""

import json
import math
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from speccompose.device.answer_reader import Sample

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0}
_GAPS_KEPT = 20_000
"""Times between two arrivals that are kept of a whole run, for their distribution."""

_MEASURED = "profiling"
_ERROR_CHARACTERS = 200


class Records(NamedTuple):
    """Requests in the order in which they began, and what is wrong with the file."""

    samples: tuple[Sample, ...]
    faults: tuple[str, ...]


def read_records(path: Path, categories: Mapping[str, str | None]) -> Records:
    """Read ``profile_export.jsonl``; what can be read of a broken one is kept."""
    most_gaps = max(8, _GAPS_KEPT // max(1, len(categories)))
    samples: list[Sample] = []
    faults: list[str] = []
    try:
        for number, line in _lines(path):
            try:
                sample = _sample(line, categories, most_gaps)
            except (ValueError, RecursionError) as error:
                faults.append(f"{path.name}:{number} is no record of a request: {error}"[:300])
                continue
            if sample is not None:
                samples.append(sample)
    except OSError as error:
        return Records((), (f"AIPerf left no {path.name}: {error.strerror}",))
    return Records(tuple(sorted(samples, key=lambda each: each.started)), tuple(faults[:3]))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8", errors="replace") as source:
        for number, line in enumerate(source, 1):
            if line.strip():
                yield number, line


def _sample(line: str, categories: Mapping[str, str | None], most_gaps: int) -> Sample | None:
    """One request; None for one of a warm-up."""
    body: object = json.loads(line)
    if not isinstance(body, dict):
        raise ValueError("an object is wanted")
    about, metrics = body.get("metadata"), body.get("metrics")
    if not isinstance(about, dict) or not isinstance(metrics, dict):
        raise ValueError("metadata and metrics are wanted")
    if about.get("benchmark_phase", _MEASURED) != _MEASURED:
        return None
    started = _number(about.get("request_start_ns"), "request_start_ns") * _SECONDS["ns"]
    category = categories.get(str(about.get("conversation_id")))
    error = _error(body.get("error"), about)
    if error is not None:
        return Sample(started, (), started, 0, error=error, category=category)
    first, whole = _time(metrics, "time_to_first_token"), _time(metrics, "request_latency")
    if "output_sequence_length" not in metrics:
        said = "the server does not say how many tokens it generated (no usage)"
        return Sample(started, (), started + whole, 0, error=said, category=category)
    tokens = round(_number(_value(metrics, "output_sequence_length"), "output_sequence_length"))
    if tokens < 1 or not 0 <= first <= whole:
        raise ValueError(
            f"{tokens} tokens, the first after {first:g} s, the last after {whole:g} s"
        )
    return Sample(
        started=started,
        arrivals=_arrivals(started, first, whole, tokens),
        ended=started + whole,
        tokens=tokens,
        category=category,
        gaps=_gaps(metrics, most_gaps),
    )


def _arrivals(
    started: float, first: float, whole: float, tokens: int
) -> tuple[tuple[float, float], ...]:
    """The first token and all others: enough for TTFT, TPOT and the whole time."""
    if tokens == 1 or whole <= first:
        return ((started + whole, float(tokens)),)
    return ((started + first, 1.0), (started + whole, float(tokens - 1)))


def _gaps(metrics: Mapping[str, object], most: int) -> tuple[float, ...]:
    """Times between two arrivals in seconds; of very many a fair choice."""
    if "inter_chunk_latency" not in metrics:
        return ()
    values = _value(metrics, "inter_chunk_latency")
    if not isinstance(values, list):
        raise ValueError("inter_chunk_latency: a list is wanted")
    if len(values) > most:
        values = random.Random(len(values)).sample(values, most)
    factor = _factor(metrics, "inter_chunk_latency")
    return tuple(_number(value, "inter_chunk_latency") * factor for value in values)


def _error(error: object, about: Mapping[str, object]) -> str | None:
    """Why a request failed; None when it did not."""
    if error is None:
        return "AIPerf cancelled it" if about.get("was_cancelled") else None
    body = error if isinstance(error, dict) else {"message": error}
    words = [str(body[key]) for key in ("code", "type", "message") if body.get(key) is not None]
    return " ".join(": ".join(words).split())[:_ERROR_CHARACTERS] or "it failed without a word"


def _time(metrics: Mapping[str, object], name: str) -> float:
    return _number(_value(metrics, name), name) * _factor(metrics, name)


def _value(metrics: Mapping[str, object], name: str) -> object:
    metric = metrics.get(name)
    if not isinstance(metric, dict):
        raise ValueError(f"{name} is missing")
    return metric.get("value")


def _factor(metrics: Mapping[str, object], name: str) -> float:
    metric = metrics.get(name)
    unit = metric.get("unit") if isinstance(metric, dict) else None
    if unit not in _SECONDS:
        raise ValueError(f"{name}: unit {unit!r} is none of {', '.join(_SECONDS)}")
    return _SECONDS[unit]


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name}: a number is wanted, found {str(value)[:40]}")
    return float(value)
