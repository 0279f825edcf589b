"""A folder that AIPerf has written becomes the load of a run, the engine's counters, and faults.

Layer: measure. Three files are read: profile_export_aiperf.json (totals, and whether it is all
there), profile_export.jsonl (requests) and server_metrics_export.json (counters). They are held
against each other: a run that was cut short must not look like a short run.

The figures are AIPerf's own: its output token throughput is over the whole run, so a tail in which
some clients wait is in it, in both arms.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from speccompose.device.answers import VLLM
from speccompose.device.counters import Counters
from speccompose.device.load import Load
from speccompose.measure.aiperf_records import Records, read_records

SUMMARY = "profile_export_aiperf.json"
RECORDS = "profile_export.jsonl"
SERVER_METRICS = "server_metrics_export.json"

_MOST_BYTES = 256 * 1024 * 1024
_SAME = 0.01
"""How far two files may differ in what both say."""


class Exported(NamedTuple):
    """What a run came to. ``counted`` is None where AIPerf could not read the server's metrics."""

    load: Load
    counted: Counters | None
    faults: tuple[str, ...]


def read_exports(
    folder: Path,
    *,
    concurrency: int,
    expected: int,
    engine: str,
    categories: Mapping[str, str | None],
) -> Exported:
    """Read what is there. ``expected``: so many requests were to be answered."""
    records = read_records(folder / RECORDS, categories)
    faults: list[str] = []
    window_s = tokens = 0.0
    try:
        summary = _object(folder / SUMMARY)
        tokens = _average(summary, "total_osl", "tokens")
        window_s = tokens / _average(summary, "output_token_throughput", "tokens/sec")
        faults += _shortcomings(summary, records, expected)
        faults += _contradictions(summary, records)
    except ValueError as error:
        faults.append(str(error))
    load = Load(concurrency, window_s, tokens, records.samples)
    counted = None
    try:
        counted = _counters(_object(folder / SERVER_METRICS), engine)
    except FileNotFoundError:
        pass  # a server that shows its metrics to key holders only
    except ValueError as error:
        faults.append(str(error))
    return Exported(load, counted, (*load.errors, *records.faults, *faults))


def _shortcomings(summary: Mapping[str, object], records: Records, expected: int) -> list[str]:
    """Why the run is not the whole run."""
    if summary.get("was_cancelled") is True:
        return ["AIPerf was cancelled"]
    if summary.get("is_complete") is False:
        return ["AIPerf says that its results are not complete"]
    failed = any(sample.error is not None for sample in records.samples)
    if not failed and (told := summary.get("error_summary")):
        return [f"AIPerf tells of errors: {json.dumps(told)[:200]}"]
    answered = round(_average(summary, "request_count", "requests"))
    if not failed and answered != expected:
        return [f"AIPerf measured {answered} requests of {expected}"]
    return []


def _contradictions(summary: Mapping[str, object], records: Records) -> list[str]:
    """Where two files do not say the same: one of them is half-written, or another run's."""
    good = [sample for sample in records.samples if sample.error is None]
    told = {"request_count": len(good), "total_osl": sum(sample.tokens for sample in good)}
    units = {"request_count": "requests", "total_osl": "tokens"}
    return [
        f"{SUMMARY} tells of {one:g} {units[name]}, {RECORDS} of {other}"
        for name, other in told.items()
        if not math.isclose(one := _average(summary, name, units[name]), other, rel_tol=_SAME)
    ][:1]


def _counters(body: Mapping[str, object], engine: str) -> Counters | None:
    """The engine's speculation counters over the run; None when the export has none."""
    metrics = body.get("metrics")
    if not isinstance(metrics, dict):
        raise ValueError(f"{SERVER_METRICS} holds no metrics")
    prefix = ("vllm:" if engine == VLLM else "llamacpp:") + "spec_decode_num_"
    drafts = _total(metrics, prefix + "drafts")
    if drafts is None:
        return None
    positions: dict[int, float] = {}
    for labels, total in _series(metrics, prefix + "accepted_tokens_per_pos"):
        position = labels.get("position", "")
        if isinstance(position, str) and position.isdigit():
            positions[int(position)] = positions.get(int(position), 0.0) + total
    return Counters(
        drafts=drafts,
        draft_tokens=_total(metrics, prefix + "draft_tokens") or 0.0,
        accepted=_total(metrics, prefix + "accepted_tokens") or 0.0,
        per_position=tuple(positions.get(i, 0.0) for i in range(max(positions, default=-1) + 1)),
    )


def _total(metrics: Mapping[str, object], name: str) -> float | None:
    found = [total for _, total in _series(metrics, name)]
    return sum(found) if found else None


def _series(metrics: Mapping[str, object], name: str) -> list[tuple[Mapping[str, object], float]]:
    """Labels and total of every series of a counter; AIPerf drops the name's _total."""
    metric = metrics.get(name)
    if metric is None:
        return []
    series = metric.get("series") if isinstance(metric, dict) else None
    if not isinstance(series, list):
        raise ValueError(f"{SERVER_METRICS}: {name} has no series")
    found: list[tuple[Mapping[str, object], float]] = []
    for each in series:
        stats = each.get("stats") if isinstance(each, dict) else None
        total = _number(stats.get("total")) if isinstance(stats, dict) else None
        labels = each.get("labels") if isinstance(each, dict) else None
        if total is None:
            raise ValueError(f"{SERVER_METRICS}: {name} has no total")
        found.append((labels if isinstance(labels, dict) else {}, total))
    return found


def _average(summary: Mapping[str, object], name: str, unit: str) -> float:
    """A figure above zero.

    Raises:
        ValueError: it is not there, in another unit, or no such number.
    """
    metric = summary.get(name)
    if not isinstance(metric, dict):
        raise ValueError(f"{SUMMARY} has no {name}")
    value = _number(metric.get("avg"))
    if metric.get("unit") != unit or value is None or value <= 0:
        told = f"{str(metric.get('avg'))[:40]} {str(metric.get('unit'))[:20]}"
        raise ValueError(f"{SUMMARY}: {name} is {told}, wanted more than 0 {unit}")
    return value


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _object(path: Path) -> Mapping[str, object]:
    """The JSON object in a file.

    Raises:
        FileNotFoundError: only for the server's metrics, which may be missing.
        ValueError: it is missing, cannot be read, or is cut off.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError(f"{path.name} is larger than {_MOST_BYTES} bytes")
        body: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        if path.name == SERVER_METRICS:
            raise
        raise ValueError(f"AIPerf left no {path.name}") from None
    except OSError as error:
        raise ValueError(f"{path.name} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is cut off or no JSON: {error}"[:200]) from None
    if not isinstance(body, dict):
        raise ValueError(f"{path.name} holds no JSON object")
    return body
