"""Rules section 6: every outcome, the field cases, and how often a noisy board is misjudged."""

import collections
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.device.acceptance_file import Rules
from speccompose.device.runs import BASELINE, SPECULATIVE, Run
from speccompose.device.verdict import (
    ACCEPTED,
    INCONCLUSIVE,
    INVALID,
    MARGINAL,
    REJECTED,
    decide,
    needs_more,
)
from speccompose.vocab.plan import Acceptance

_SHIPPED = Acceptance(
    baseline_command=(), speculation_expected=True, counters="vllm:", version_path="/version"
)
RULES = Rules(**{name: getattr(_SHIPPED, name) for name in Rules._fields})


def repeat(number, *, gain, load, noise=None, length=2.4, tpot=None):
    """Both arms at 1 and 8 once. ``gain`` and ``load`` are ratios; ``noise`` gives factors."""
    noise = noise or (lambda: 1.0)
    runs = []
    for arm, alone, loaded in ((BASELINE, 1.0, 1.0), (SPECULATIVE, gain, load)):
        told = length if arm == SPECULATIVE else None
        times = 1 / alone if tpot is None or arm == BASELINE else tpot
        runs.append(Run(arm, 1, number, 50 * alone * noise(), 20 * times * noise(), 60.0, told))
        runs.append(Run(arm, 8, number, 200 * loaded * noise(), 40 / loaded * noise(), 90.0, told))
    return runs


def measured(repeats=3, **truth):
    wobble = random.Random(5)
    return [
        run
        for number in range(1, repeats + 1)
        for run in repeat(number, noise=lambda: wobble.gauss(1, 0.002), **truth)
    ]


@pytest.mark.parametrize(
    ("truth", "outcome"),
    [
        ({"gain": 1.4, "load": 1.1}, ACCEPTED),
        ({"gain": 1.31, "load": 1.0, "repeats": 5}, ACCEPTED),
        ({"gain": 1.2, "load": 1.1}, MARGINAL),
        ({"gain": 1.6, "load": 1.1, "tpot": 0.85}, MARGINAL),
        ({"gain": 1.05, "load": 1.1}, REJECTED),
        ({"gain": 0.7, "load": 1.1}, REJECTED),
        ({"gain": 1.6, "load": 0.9}, REJECTED),
        ({"gain": 1.6, "load": 1.1, "length": 1.05}, REJECTED),
        ({"gain": 1.6, "load": 1.1, "length": 1.0}, REJECTED),
        ({"gain": 1.3, "load": 1.1}, INCONCLUSIVE),
        ({"gain": 1.1, "load": 1.1}, INCONCLUSIVE),
        ({"gain": 1.4, "load": 0.97}, REJECTED),
        ({"gain": 1.4, "load": 1.1, "repeats": 2}, INCONCLUSIVE),
        ({"gain": 1.4, "load": 1.1, "repeats": 1}, INCONCLUSIVE),
    ],
)
def test_outcomes(truth, outcome):
    assert decide(measured(**truth), RULES).outcome == outcome


def test_slower_under_load_but_within_noise_is_no_pass():
    wobble = random.Random(2)
    runs = [
        run
        for number in range(1, 4)
        for run in repeat(number, gain=1.8, load=0.98, noise=lambda: wobble.gauss(1, 0.02))
    ]
    verdict = decide(runs, RULES)
    assert verdict.outcome == INCONCLUSIVE
    assert "whether it loses at concurrency 8" in verdict.reasons[0]
    assert needs_more(runs, RULES) > 3


@pytest.mark.parametrize(
    ("case", "alone", "loaded"),
    [
        ("A-01 DSpark at 7", (52.0, 108.0), (51.4, 39.6)),
        ("A-03a first", (67.73, 52.13), (67.73, 52.13)),
        ("A-03a second", (132.32, 123.25), (132.32, 123.25)),
        ("A-03a third", (22.16, 19.67), (22.16, 19.67)),
        ("A-03b EAGLE-3", (75.8, 103.1), (100.0, 87.0)),
        ("S-01 depth 4 against 2", (54.9, 55.6), (303.6, 210.0)),
    ],
)
def test_field_cases_are_switched_off(case, alone, loaded):
    truth = {"gain": alone[1] / alone[0], "load": loaded[1] / loaded[0]}
    verdict = decide(measured(**truth), RULES)
    assert verdict.outcome == REJECTED
    assert any("concurrency 1:" in reason for reason in verdict.reasons)
    assert any("concurrency 8:" in reason for reason in verdict.reasons)


def test_reasons_carry_numbers_interval_and_limit():
    reasons = decide(measured(gain=1.4, load=1.1), RULES).reasons
    gain = next(reason for reason in reasons if reason.startswith("concurrency 1: 5"))
    assert "tokens/s, +40." in gain or "tokens/s, +39." in gain
    assert "(95%: +3" in gain
    assert "accepted from +30 %" in gain
    assert any("TPOT p50 19.98 -> 14.26 ms, -28.6 %" in reason for reason in reasons)
    assert any("no regression from 0.97" in reason for reason in reasons)
    assert "3 repeats per arm and concurrency" in reasons


@pytest.mark.parametrize("truth", [{"gain": 1.4, "load": 1.1}, {"gain": 0.5, "load": 0.5}])
@pytest.mark.parametrize(
    "fault",
    ["power mode changed: 0 -> 2", "greedy answers differ", "the measurement was interrupted"],
)
def test_a_fault_is_never_a_verdict(truth, fault):
    verdict = decide(measured(**truth), RULES, faults=(fault,))
    assert verdict.outcome == INVALID
    assert verdict.reasons[0] == fault
    assert needs_more(measured(**truth), RULES, faults=(fault,)) == 0


def _spoil(runs, **changes):
    return [*runs[:-1], runs[-1]._replace(**changes)]


def test_errors_in_a_run_are_invalid():
    spoilt = _spoil(measured(gain=1.4, load=1.1), errors=("2 of 9 requests failed: status 500",))
    verdict = decide(spoilt, RULES)
    assert verdict.outcome == INVALID
    assert verdict.reasons[0] == (
        "speculative, concurrency 8, repeat 3: 2 of 9 requests failed: status 500"
    )


@pytest.mark.parametrize("changes", [{"output_tokens_s": 0.0}, {"tpot_ms_p50": None}])
def test_a_run_without_a_speed_is_invalid(changes):
    verdict = decide(_spoil(measured(gain=1.4, load=1.1), **changes), RULES)
    assert verdict.outcome == INVALID
    assert "no speed could be measured" in verdict.reasons[0]


def test_an_engine_that_does_not_tell_is_invalid():
    verdict = decide(measured(gain=1.4, load=1.1, length=None), RULES)
    assert verdict.outcome == INVALID
    assert "does not tell" in verdict.reasons[0]


def test_nothing_measured():
    verdict = decide([], RULES)
    assert (verdict.outcome, verdict.comparisons) == (INCONCLUSIVE, ())
    assert needs_more([], RULES) == 3


def test_synthetic_stacks_are_marked():
    assert decide(measured(gain=1.4, load=1.1), RULES, synthetic=True).synthetic
    assert not decide(measured(gain=1.4, load=1.1), RULES).synthetic


def test_thresholds_come_from_the_rules():
    runs = measured(gain=1.4, load=1.1)
    assert decide(runs, RULES._replace(gain_accept_pct=50.0)).outcome == MARGINAL
    assert decide(runs, RULES._replace(gain_reject_pct=60.0)).outcome == REJECTED
    assert decide(runs, RULES._replace(min_accepted_length=2.5)).outcome == REJECTED
    assert decide(runs, RULES._replace(tpot_accept_pct=-40.0)).outcome == MARGINAL
    assert decide(runs, RULES._replace(no_regression_ratio=1.2)).outcome == INCONCLUSIVE


def test_more_repeats_only_while_they_can_help():
    assert needs_more(measured(gain=1.4, load=1.1), RULES) == 0
    assert needs_more(measured(gain=1.4, load=1.1, repeats=2), RULES) == 3
    assert needs_more(measured(gain=1.3, load=1.1), RULES) == 5
    assert needs_more(measured(gain=1.3, load=1.1, repeats=12), RULES) == 0


def test_looks_that_cannot_decide_are_skipped():
    """The spread seen says that five repeats will not do: go to eight or twelve at once."""
    wobble = {BASELINE: [1.0, 1.0, 1.0], SPECULATIVE: [1.025, 1.0, 0.975]}
    runs = [
        run._replace(output_tokens_s=run.output_tokens_s * wobble[run.arm][run.repeat - 1])
        for number in (1, 2, 3)
        for run in repeat(number, gain=1.36, load=1.2)
    ]
    assert needs_more(runs, RULES) == 8


@given(st.floats(0.3, 3), st.floats(0.3, 3), st.floats(1.06, 5), st.integers(3, 12))
def test_a_pass_always_has_its_lower_ends_above_the_limits(gain, load, length, repeats):
    verdict = decide(measured(gain=gain, load=load, length=length, repeats=repeats), RULES)
    if verdict.outcome == INCONCLUSIVE:
        return
    alone, tpot, loaded = (comparison.ratio for comparison in verdict.comparisons)
    if verdict.outcome == ACCEPTED:
        assert alone.low >= 1.3
        assert tpot.high <= 0.8
        assert loaded.low >= 0.97
    elif verdict.outcome == MARGINAL:
        assert alone.low >= 1.1
        assert loaded.low >= 0.97
    else:
        assert alone.high < 1.1 or loaded.high < 1.0


def judged(noise, trials=400, **truth):
    """Outcomes of whole sequential measurements, each stopped as soon as it decides."""
    rng = random.Random(20261130)
    found = collections.Counter()
    used = 0
    for _ in range(trials):
        runs, done = [], 0
        while target := needs_more(runs, RULES):
            for number in range(done + 1, target + 1):
                runs += repeat(number, noise=lambda: max(0.2, rng.gauss(1, noise)), **truth)
            done = target
        found[decide(runs, RULES).outcome] += 1
        used += done
    return found, used / trials


TRUTHS = [
    ({"gain": 1.40, "load": 1.10}, ACCEPTED),
    ({"gain": 1.20, "load": 1.05}, MARGINAL),
    ({"gain": 1.05, "load": 1.00}, REJECTED),
    ({"gain": 1.40, "load": 0.90}, REJECTED),
]


@pytest.mark.parametrize(("truth", "right"), TRUTHS)
def test_two_percent_noise_is_judged_right(truth, right):
    found, _ = judged(0.02, **truth)
    assert found[right] >= 0.99 * sum(found.values())


@pytest.mark.parametrize(("truth", "right"), TRUTHS)
def test_five_percent_noise_is_hardly_ever_judged_wrong(truth, right):
    found, _ = judged(0.05, **truth)
    wrong = sum(found.values()) - found[right] - found[INCONCLUSIVE]
    assert wrong <= 0.01 * sum(found.values())


@pytest.mark.parametrize(
    ("truth", "wrong"),
    [
        ({"gain": 1.40, "load": 1.00}, REJECTED),
        ({"gain": 1.29, "load": 1.10}, ACCEPTED),
        ({"gain": 1.09, "load": 1.10}, MARGINAL),
    ],
)
def test_looking_again_does_not_add_up_errors(truth, wrong):
    """The truth lies at a boundary, where every further look is a further chance to be wrong."""
    found, _ = judged(0.02, **truth)
    assert found[wrong] <= 0.025 * sum(found.values())


def test_clear_cases_take_few_repeats():
    assert judged(0.02, gain=0.8, load=0.8)[1] < 3.5
    assert judged(0.02, gain=1.4, load=1.1)[1] < 6.5
