"""What was measured becomes the JSON that `accept --json` prints and result.json keeps.

Layer: device (standard library, Python 3.8). Pure. The control side reads it with
vocab/acceptance_result.py; the contract's keys come first.
"""

from __future__ import annotations

from statistics import median
from typing import Dict, List, Optional, Sequence, Tuple

from speccompose.device.acceptance_file import Rules
from speccompose.device.answer_reader import Sample
from speccompose.device.conditions import Conditions, changes
from speccompose.device.counters import Counters
from speccompose.device.load import Load, told_length
from speccompose.device.runs import BASELINE, SPECULATIVE, Run
from speccompose.device.spreads import percentile, spread_out
from speccompose.device.verdict import REGRESSION_RATIO, Verdict
from speccompose.device.verdict_text import Comparison
from speccompose.device.window import Window

Json = Dict[str, object]


def run_document(window: Window) -> Json:
    """One run: the contract's fields, then what else was seen."""
    load = window.load
    return {
        **window.run.as_dict(),
        "errors": list(window.run.errors),
        "at": window.at,
        "window_s": round(load.window_s, 4),
        "requests": len(load.samples),
        "latency": {
            "ttft_ms": spread_out(load.ttfts_ms).as_dict(),
            "tpot_ms": spread_out(load.tpots_ms).as_dict(),
            "itl_ms": spread_out(load.gaps_ms).as_dict(),
            "e2e_ms": spread_out(load.e2es_ms).as_dict(),
        },
        "drafting": None if window.counted is None else drafting_document(window.counted),
        "preemptions": window.preemptions,
        "memory": None if window.memory is None else window.memory.as_dict(),
        "categories": categories_of(load),
    }


def drafting_document(counted: Counters) -> Json:
    """The engine's counts, and acceptance by position as shares of the drafts."""
    shares = [
        round(count / counted.drafts, 4) for count in counted.per_position if counted.drafts > 0
    ]
    return {
        "drafts": counted.drafts,
        "draft_tokens": counted.draft_tokens,
        "accepted_tokens": counted.accepted,
        "acceptance_by_position": shares,
    }


def categories_of(load: Load) -> List[Json]:
    """Each category's part of a run; none where the dataset names no categories."""
    kinds: Dict[str, List[Sample]] = {}
    for sample in load.good:
        if sample.category is not None:
            kinds.setdefault(sample.category, []).append(sample)
    return [_category(name, samples) for name, samples in sorted(kinds.items())]


def comparison_document(comparison: Comparison, rules: Rules) -> Json:
    """One comparison with the boundaries that it was held against."""
    accept, reject = _boundaries(comparison, rules)
    return {
        "measure": comparison.measure,
        "concurrency": comparison.concurrency,
        "baseline": round(comparison.baseline, 4),
        "speculative": round(comparison.speculative, 4),
        "ratio": round(comparison.ratio.value, 5),
        "low": round(comparison.ratio.low, 5),
        "high": round(comparison.ratio.high, 5),
        "accept_ratio": accept,
        "reject_ratio": reject,
    }


def category_comparisons(windows: Sequence[Window]) -> List[Json]:
    """Every category at every concurrency, both arms: medians over the repeats."""
    speeds: Dict[Tuple[str, int, str], List[float]] = {}
    lengths: Dict[Tuple[str, int], List[float]] = {}
    for window in windows:
        run = window.run
        for part in categories_of(window.load):
            name, speed = str(part["category"]), part["request_tokens_s"]
            length = part["mean_accepted_length"]
            if isinstance(speed, float):
                speeds.setdefault((name, run.concurrency, run.arm), []).append(speed)
            if isinstance(length, float) and run.arm == SPECULATIVE:
                lengths.setdefault((name, run.concurrency), []).append(length)
    found: List[Json] = []
    for name, concurrency in sorted({(kind, level) for kind, level, _ in speeds}):
        base = speeds.get((name, concurrency, BASELINE))
        other = speeds.get((name, concurrency, SPECULATIVE))
        if not base or not other or median(base) <= 0:
            continue
        told = lengths.get((name, concurrency))
        found.append(
            {
                "category": name,
                "concurrency": concurrency,
                "baseline_tokens_s": round(median(base), 3),
                "speculative_tokens_s": round(median(other), 3),
                "ratio": round(median(other) / median(base), 4),
                "mean_accepted_length": round(median(told), 3) if told else None,
            }
        )
    return found


def conditions_document(readings: Sequence[Conditions]) -> Json:
    """The first and the last reading, and what changed on the way."""
    return {
        "before": readings[0].as_dict() if readings else None,
        "after": readings[-1].as_dict() if readings else None,
        "changes": list(changes(readings)),
    }


def verdict_document(verdict: Verdict, runs: Sequence[Run], windows: Sequence[Window]) -> Json:
    """The contract's part. Runs of which no more is known are told as they are."""
    told = [run_document(window) for window in windows]
    return {
        "outcome": verdict.outcome,
        "synthetic": verdict.synthetic,
        "reasons": list(verdict.reasons),
        "runs": told or [{**run.as_dict(), "errors": list(run.errors)} for run in runs],
    }


def _category(name: str, samples: Sequence[Sample]) -> Json:
    seconds = sum(sample.e2e_s for sample in samples)
    tokens = sum(sample.tokens for sample in samples)
    tpots = [s.tpot_s * 1000 for s in samples if s.tpot_s is not None]
    ttfts = [s.ttft_s * 1000 for s in samples if s.ttft_s is not None]
    return {
        "category": name,
        "requests": len(samples),
        "request_tokens_s": round(tokens / seconds, 3) if seconds > 0 else 0.0,
        "tpot_ms_p50": _rounded(percentile(tpots, 0.5)),
        "ttft_ms_p50": _rounded(percentile(ttfts, 0.5)),
        "mean_accepted_length": _rounded(told_length(samples)),
    }


def _boundaries(comparison: Comparison, rules: Rules) -> Tuple[Optional[float], Optional[float]]:
    if comparison.measure == "tpot_ms_p50":
        return 1.0 + rules.tpot_accept_pct / 100.0, None
    if comparison.concurrency == rules.alone:
        return 1.0 + rules.gain_accept_pct / 100.0, 1.0 + rules.gain_reject_pct / 100.0
    return rules.no_regression_ratio, REGRESSION_RATIO


def _rounded(value: Optional[float]) -> Optional[float]:
    return None if value is None else round(value, 3)
