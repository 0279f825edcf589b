"""A depth search as text: one row per depth, what was chosen is marked, guesses are marked."""

import msgspec
import pytest

from speccompose.report.tuning_text import MEANING, curve_lines, tuning_text
from speccompose.tuning import STATUS
from tests.report.samples import deployed, too_wide, tuned


def test_every_outcome_has_words():
    assert set(MEANING) | {"chosen"} == set(STATUS)


def test_the_chosen_depth_is_told_first_and_marked():
    text = tuning_text(tuned(), None)
    assert text.splitlines()[0] == "tiny: depth 2 is best for mtp at concurrency 1"
    (row,) = [line for line in text.splitlines() if line.startswith("* ")]
    assert row.split()[1:4] == ["2", "48.5", "150.0"]
    assert "to deploy it: speccompose tune tiny --apply --yes" in text
    assert too_wide(text) == []


def test_every_depth_is_a_row_and_the_columns_align():
    lines = curve_lines(tuned())
    assert lines[1].split()[0] == "off"
    assert len({len(line) for line in lines}) == 1
    assert "~44.0" in lines[2], "a guess is marked as one"
    assert lines[-1].split()[1:] == ["-", "-", "-", "-", "-"]


@pytest.mark.parametrize("outcome", sorted(MEANING))
def test_other_outcomes(outcome):
    depth = 0 if outcome == "none" else None
    result = msgspec.structs.replace(tuned(), outcome=outcome, depth=depth)
    text = tuning_text(result, None)
    assert text.startswith(f"tiny: {MEANING[outcome]}")
    assert ("--apply" in text) == (outcome == "none")


def test_what_was_deployed():
    text = tuning_text(tuned(), deployed())
    assert "depth 2 deployed: http://127.0.0.1:8000/v1" in text
    text = tuning_text(tuned(), deployed(changed=False))
    assert "depth 2 served already: http://127.0.0.1:8000/v1" in text


def test_synthetic_is_marked():
    result = msgspec.structs.replace(tuned(), synthetic=True)
    assert "synthetic" in tuning_text(result, None).splitlines()[0]


def test_nothing_measured():
    result = msgspec.structs.replace(tuned(), curve=(), outcome="invalid", depth=None)
    assert "tokens/s" in tuning_text(result, None)
