"""Comparisons become the sentences that a verdict gives as its reasons.

Layer: device (standard library, Python 3.8). Pure. Every sentence has both numbers, the interval
and what was wanted, so that nobody has to look elsewhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Optional

from speccompose.device.acceptance_file import Rules
from speccompose.device.intervals import Ratio
from speccompose.device.looks import CONFIDENCE

_OPEN_PCT = 999


class Comparison(NamedTuple):
    """Speculation against baseline in one measure; means are logarithms."""

    measure: str
    concurrency: int
    baseline_log: float
    speculative_log: float
    ratio: Ratio

    @property
    def baseline(self) -> float:
        """Geometric mean of the baseline's repeats."""
        return math.exp(self.baseline_log)

    @property
    def speculative(self) -> float:
        """Geometric mean of the speculative repeats."""
        return math.exp(self.speculative_log)


def gain_text(gain: Comparison, rules: Rules) -> str:
    """How much faster alone."""
    return (
        f"concurrency {gain.concurrency}: {_speeds(gain)}, {_change(gain.ratio)}; "
        f"accepted from {rules.gain_accept_pct:+g} %, rejected below {rules.gain_reject_pct:+g} %"
    )


def tpot_text(tpot: Comparison, rules: Rules) -> str:
    """How much less time per token alone."""
    return (
        f"concurrency {tpot.concurrency}: TPOT p50 {tpot.baseline:.2f} -> "
        f"{tpot.speculative:.2f} ms, {_change(tpot.ratio)}; "
        f"accepted from {rules.tpot_accept_pct:+g} %"
    )


def load_text(load: Comparison, rules: Rules) -> str:
    """Whether it loses under load."""
    ratio = load.ratio
    return (
        f"concurrency {load.concurrency}: {_speeds(load)}, ratio {ratio.value:.3f} "
        f"({_level()}: {ratio.low:.3f} to {ratio.high:.3f}); "
        f"no regression from {rules.no_regression_ratio:g}"
    )


def accepted_length_text(length: Optional[float], rules: Rules) -> str:
    """How many tokens a verification pass gave."""
    if length is None:
        return "mean accepted length: not told by the engine"
    return f"mean accepted length {length:.2f}; rejected up to {rules.min_accepted_length:g}"


def repeats_text(repeats: int) -> str:
    """How often everything was measured."""
    return f"{repeats} repeats per arm and concurrency"


def _speeds(comparison: Comparison) -> str:
    return f"{comparison.baseline:.1f} -> {comparison.speculative:.1f} tokens/s"


def _change(ratio: Ratio) -> str:
    value, low, high = (_percent(end) for end in ratio)
    return f"{value} % ({_level()}: {low} to {high} %)"


def _percent(ratio: float) -> str:
    """A change in percent; what few, scattered repeats leave open is not told to a digit."""
    change = 100.0 * (ratio - 1.0)
    return f"{change:+.1f}" if change < _OPEN_PCT else f"over {_OPEN_PCT:+d}"


def _level() -> str:
    return f"{CONFIDENCE:.0%}"
