"""The page of a depth search: the curve, the choice, and every depth with why not."""

import pytest
from msgspec.structs import replace

from speccompose.report.tuning_page import SAID, tuning_page
from speccompose.vocab.tuning_result import DepthPoint
from tests.report.acceptance_samples import tuned
from tests.report.test_acceptance_page import Reader


def test_choice_curve_and_every_depth():
    skipped = DepthPoint(depth=5, measured=False, why="the curve falls", predicted_tokens_s=30.0)
    positions = replace(tuned().curve[2], acceptance_by_position=(0.8, 0.5))
    curve = (*tuned().curve[:2], positions, tuned().curve[3], skipped)
    read = Reader(tuning_page(replace(tuned(), curve=curve)))
    for said in ("depth 2", "36.5", "48.5", "+33%", "4 of 5", "the curve falls", "30.0"):
        assert said in read.text, said
    assert read.tags.count("svg") == 2
    assert read.outside == []
    assert "script" not in read.tags


@pytest.mark.parametrize("outcome", SAID)
def test_every_outcome_has_words(outcome):
    page = tuning_page(replace(tuned(), outcome=outcome, synthetic=True))
    assert "Synthetic acceptance" in page
    assert SAID[outcome][1] in page or outcome == "chosen"
