"""A verdict as text: outcome in words, medians per arm, '-' where nothing was measured."""

import pytest

from speccompose.acceptance import STATUS
from speccompose.report.verdict_text import MEANING, arms_lines, median_text, verdict_text
from tests.report.samples import deployed, judged, run, too_wide

BASE = run("baseline", 1, 20.0, tpot_ms_p50=50.0, ttft_ms_p50=210.0)
FAST = run("speculative", 1, 30.0, tpot_ms_p50=33.0, ttft_ms_p50=220.0, mean_accepted_length=2.4)


def test_every_outcome_has_a_meaning():
    assert set(MEANING) == set(STATUS)


@pytest.mark.parametrize("outcome", sorted(MEANING))
def test_outcome_numbers_and_reasons(outcome):
    text = verdict_text("tiny", judged(outcome, BASE, FAST), None)
    assert text.startswith(f"tiny: {outcome}: {MEANING[outcome]}")
    for part in ("1 at once, baseline", "20.0", "50.00", "210.0", "33.00", "2.40", "  - +42.0"):
        assert part in text
    assert too_wide(text) == []


def test_the_columns_align():
    lines = arms_lines((BASE, FAST, run("baseline", 8, 1234.5)))
    assert len({len(line) for line in lines}) == 1
    assert [line.split(",")[0].strip() for line in lines[1:]] == ["1 at once"] * 2 + ["8 at once"]


def test_the_median_counts():
    runs = [run("baseline", 1, rate) for rate in (10.0, 99.0, 20.0)]
    assert "20.0" in arms_lines(tuple(runs))[1]


def test_what_was_not_measured_is_a_dash():
    (_, line) = arms_lines((run("baseline", 8, 0.0),))
    assert line.split()[-3:] == ["-", "-", "-"]
    assert median_text([None, None], digits=1) == "-"
    assert median_text([None, 3.0, 1.0, 2.0], digits=1) == "2.0"


def test_a_length_of_zero_is_a_measurement():
    assert median_text([0.0], digits=2) == "0.00"


def test_no_runs():
    assert "nothing was measured" in verdict_text("tiny", judged("invalid"), None)


def test_synthetic_is_marked_and_the_consequence_told():
    text = verdict_text("tiny", judged("rejected", BASE, synthetic=True), None)
    assert "synthetic" in text.splitlines()[0]
    text = verdict_text("tiny", judged("rejected", BASE), deployed())
    assert "redeployed without speculation: http://127.0.0.1:8000/v1" in text
    assert "synthetic" not in text
