"""Repeats of both arms become one of five outcomes, with the numbers behind it.

Layer: device (standard library, Python 3.8). Pure. Rules section 6: whether speculation pays on
this board. A question is answered yes or no only when the whole interval lies on one side of its
boundary; what is not answered is never a pass.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from speccompose.device.acceptance_file import Rules
from speccompose.device.intervals import Ratio, Spread, ratio_of, spread_of
from speccompose.device.looks import look_points, tails_at
from speccompose.device.runs import ARMS, BASELINE, SPECULATIVE, Run
from speccompose.device.verdict_text import (
    Comparison,
    accepted_length_text,
    gain_text,
    load_text,
    repeats_text,
    tpot_text,
)

ACCEPTED = "accepted"
MARGINAL = "marginal"
REJECTED = "rejected"
INCONCLUSIVE = "inconclusive"
INVALID = "invalid"

REGRESSION_RATIO = 1.0
"""Rules section 6: a regression is an interval of the ratio that lies below 1.00."""

_SPEED = "output_tokens_s"
_TPOT = "tpot_ms_p50"


class Verdict(NamedTuple):
    """An outcome and why; ``comparisons`` are the intervals it hangs on."""

    outcome: str
    synthetic: bool
    reasons: Tuple[str, ...]
    comparisons: Tuple[Comparison, ...] = ()
    repeats: int = 0


class _Evidence(NamedTuple):
    """Everything that the rules ask about, summarised. Spreads by (measure, concurrency, arm)."""

    spreads: Dict[Tuple[str, int, str], Spread]
    repeats: int
    accepted_length: Optional[float]


def decide(
    runs: Sequence[Run], rules: Rules, *, faults: Sequence[str] = (), synthetic: bool = False
) -> Verdict:
    """Judge what was measured. ``faults`` are reasons why it cannot count."""
    invalid = [*faults, *_run_faults(runs, rules)]
    repeats = _complete_repeats(runs, rules)
    evidence = None if repeats < 2 else _evidence(runs, rules, repeats)
    comparisons = () if evidence is None else _comparisons(evidence, rules)
    length = _accepted_length(runs, rules)
    numbers = _numbers(comparisons, rules, length, repeats)
    if invalid:
        return Verdict(INVALID, synthetic, (*invalid, *numbers), comparisons, repeats)
    if evidence is None or repeats < rules.min_repeats:
        reason = f"{repeats} complete repeats, at least {rules.min_repeats} are needed"
        return Verdict(INCONCLUSIVE, synthetic, (reason, *numbers), comparisons, repeats)
    outcome, reasons = _judge(comparisons, rules, length)
    return Verdict(outcome, synthetic, (*reasons, *numbers), comparisons, repeats)


def needs_more(runs: Sequence[Run], rules: Rules, *, faults: Sequence[str] = ()) -> int:
    """How many repeats to have before judging again; 0 when no more would change anything.

    It is the first look at which the numbers seen so far would decide. Where none would, it is
    the next one: the numbers will move.
    """
    points = look_points(rules.min_repeats, rules.max_repeats)
    repeats = _complete_repeats(runs, rules)
    later = [point for point in points if point > repeats]
    verdict = decide(runs, rules, faults=faults)
    if verdict.outcome != INCONCLUSIVE or not later:
        return 0
    if repeats < rules.min_repeats:
        return later[0]
    evidence = _evidence(runs, rules, repeats)
    for point in later:
        grown = {key: spread._replace(size=point) for key, spread in evidence.spreads.items()}
        expected = _comparisons(evidence._replace(spreads=grown, repeats=point), rules)
        if _judge(expected, rules, evidence.accepted_length)[0] != INCONCLUSIVE:
            return point
    return later[0]


def _judge(
    comparisons: Tuple[Comparison, ...], rules: Rules, length: Optional[float]
) -> Tuple[str, List[str]]:
    """Rules section 6, in its order: rejected, accepted, marginal, inconclusive."""
    gain, tpot, load = (comparison.ratio for comparison in comparisons)
    rejected = _rejections(gain, load, rules, length)
    if rejected:
        return REJECTED, rejected
    wanted_gain = _times(rules.gain_accept_pct)
    wanted_tpot = _times(rules.tpot_accept_pct)
    no_regression = load.low >= rules.no_regression_ratio
    if gain.low >= wanted_gain and tpot.high <= wanted_tpot and no_regression:
        return ACCEPTED, ["it pays: enough faster alone, and no slower under load"]
    falls_short = gain.high < wanted_gain or tpot.low > wanted_tpot
    if falls_short and gain.low >= _times(rules.gain_reject_pct) and no_regression:
        if gain.high < wanted_gain:
            wanted = f"the {rules.gain_accept_pct:+g} % tokens/s"
        else:
            wanted = f"the {rules.tpot_accept_pct:+g} % TPOT"
        return MARGINAL, [f"it helps, but less than {wanted} it should"]
    open_questions = []
    if not no_regression:
        open_questions.append(f"whether it loses at concurrency {rules.loaded}")
    if gain.low < _times(rules.gain_reject_pct):
        open_questions.append(f"whether it gains {rules.gain_reject_pct:g} % at all")
    elif not falls_short:
        open_questions.append("whether it gains enough to be accepted")
    return INCONCLUSIVE, ["still open: " + ", and ".join(open_questions)]


def _rejections(gain: Ratio, load: Ratio, rules: Rules, length: Optional[float]) -> List[str]:
    found = []
    if gain.high < _times(rules.gain_reject_pct):
        found.append(f"it gains less than {rules.gain_reject_pct:g} % at concurrency {rules.alone}")
    if load.high < REGRESSION_RATIO:
        found.append(f"it loses at concurrency {rules.loaded}")
    if length is not None and length <= rules.min_accepted_length:
        found.append(
            f"the drafts are of no use: mean accepted length {length:.2f}, "
            f"at most {rules.min_accepted_length:g}"
        )
    return found


def _comparisons(evidence: _Evidence, rules: Rules) -> Tuple[Comparison, ...]:
    """Gain alone, TPOT alone, ratio under load, each with its interval."""
    points = look_points(rules.min_repeats, rules.max_repeats)
    tails = tails_at(evidence.repeats, points)

    def compare(measure: str, concurrency: int, better_is_more: bool) -> Comparison:
        base = evidence.spreads[measure, concurrency, BASELINE]
        other = evidence.spreads[measure, concurrency, SPECULATIVE]
        low, high = (tails.passing, tails.failing)
        if not better_is_more:
            low, high = high, low
        ratio = ratio_of(other, base, low_tail=low, high_tail=high)
        return Comparison(measure, concurrency, base.mean, other.mean, ratio)

    return (
        compare(_SPEED, rules.alone, True),
        compare(_TPOT, rules.alone, False),
        compare(_SPEED, rules.loaded, True),
    )


def _evidence(runs: Sequence[Run], rules: Rules, repeats: int) -> _Evidence:
    spreads = {}
    for arm in ARMS:
        for concurrency in (rules.alone, rules.loaded):
            mine = [
                run
                for run in runs
                if (run.arm, run.concurrency) == (arm, concurrency) and _is_measured(run)
            ]
            spreads[_SPEED, concurrency, arm] = spread_of([run.output_tokens_s for run in mine])
            if concurrency == rules.alone:
                spreads[_TPOT, concurrency, arm] = spread_of([run.tpot_ms_p50 or 0 for run in mine])
    return _Evidence(spreads, repeats, _accepted_length(runs, rules))


def _accepted_length(runs: Sequence[Run], rules: Rules) -> Optional[float]:
    """Mean over the speculative runs of the lower concurrency; None when none of them tells."""
    lengths = [
        run.mean_accepted_length
        for run in runs
        if run.arm == SPECULATIVE
        and run.concurrency == rules.alone
        and run.mean_accepted_length is not None
    ]
    return sum(lengths) / len(lengths) if lengths else None


def _complete_repeats(runs: Sequence[Run], rules: Rules) -> int:
    """Repeats that every arm has at both concurrencies, with all that is judged."""
    counts = {(arm, level): 0 for arm in ARMS for level in (rules.alone, rules.loaded)}
    for run in runs:
        if _is_measured(run) and (run.arm, run.concurrency) in counts:
            counts[run.arm, run.concurrency] += 1
    return min(counts.values())


def _is_measured(run: Run) -> bool:
    return run.output_tokens_s > 0 and (run.tpot_ms_p50 or 0) > 0


def _run_faults(runs: Sequence[Run], rules: Rules) -> List[str]:
    """What in the runs themselves forbids a verdict."""
    faults = [f"{run.label}: {error}" for run in runs for error in run.errors]
    for run in runs:
        if not run.errors and not _is_measured(run):
            faults.append(f"{run.label}: no speed could be measured")
    speculative = [run for run in runs if run.arm == SPECULATIVE and run.concurrency == rules.alone]
    if speculative and not faults and _accepted_length(speculative, rules) is None:
        faults.append("the engine does not tell how many drafts were accepted")
    return faults


def _numbers(
    comparisons: Tuple[Comparison, ...], rules: Rules, length: Optional[float], repeats: int
) -> Tuple[str, ...]:
    """The sentences that carry the figures, whatever the outcome."""
    if not comparisons:
        return ()
    gain, tpot, load = comparisons
    return (
        gain_text(gain, rules),
        tpot_text(tpot, rules),
        load_text(load, rules),
        accepted_length_text(length, rules),
        repeats_text(repeats),
    )


def _times(change_pct: float) -> float:
    """+30 % is 1.3 times as much."""
    return 1.0 + change_pct / 100.0
