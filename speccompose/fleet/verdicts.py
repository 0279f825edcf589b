"""What canaries measured in a rollout -> results for the fleet's store. Pure.

Layer: fleet. Rules section 6: a canary measures only what the store lacks, so what it found must
come into the store; synthetic and undecided verdicts say nothing about a board's speed.
"""

from collections.abc import Iterator
from typing import Final, Literal

from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.measured import MeasuredResult
from speccompose.vocab.rollout_engine import Verdict
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import PlannedStack

_KEPT: Final[dict[Verdict, Literal["accepted", "marginal", "rejected"]]] = {
    "accepted": "accepted",
    "marginal": "marginal",
    "rejected": "rejected",
}


def results_of(state: RolloutState) -> tuple[MeasuredResult, ...]:
    """One result per stack that was measured and decided, by its last verdict."""
    return tuple(_results(state))


def _results(state: RolloutState) -> Iterator[MeasuredResult]:
    for bundle, entry in sorted(state.verdicts.items()):
        result = _result(state.plan.stacks[bundle], entry, strict=state.policy.strict)
        if result is not None:
            yield result


def _result(stack: PlannedStack, entry: Entry, *, strict: bool) -> MeasuredResult | None:
    outcome = _KEPT.get(entry.verdict) if entry.verdict is not None else None
    before, after = entry.baseline_tokens_s, entry.speculative_tokens_s
    if stack.measured_as is None or stack.synthetic or outcome is None:
        return None
    if before is None or after is None:
        return None
    return MeasuredResult(
        key=stack.measured_as,
        outcome=outcome,
        strict=strict,
        baseline_tokens_s=before,
        speculative_tokens_s=after,
        measured_at=entry.at,
    )
