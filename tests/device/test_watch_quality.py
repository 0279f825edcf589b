"""What was drafted becomes notes: too little accepted, nothing drafted, too good to be true."""

import pytest

from speccompose.device.counters import Counters
from speccompose.device.watch_quality import Expected, Window, judge_drafts

EXPECTED = Expected("mtp", 1.05, None)
START = Window(0.0, 0.0, 0.0, 0.0)


def codes(counters: Counters, expected: Expected = EXPECTED, generated: float = 1000.0):
    found = judge_drafts(START, counters, generated, expected)
    return None if found.notes is None else [note.code for note in found.notes]


def test_good_drafts_leave_no_note_and_a_new_window():
    found = judge_drafts(START, Counters(300, 900, 500), 800.0, EXPECTED)
    assert (found.notes, found.suspicious) == ((), False)
    assert found.window == Window(300, 900, 500, 800.0)


def test_a_short_window_goes_on():
    found = judge_drafts(START, Counters(199, 600, 0), 200.0, EXPECTED)
    assert found == (START, None, False)


@pytest.mark.parametrize(("accepted", "found"), [(10, ["acceptance_low"]), (20, [])])
def test_hardly_anything_accepted(accepted, found):
    assert codes(Counters(300, 900, accepted)) == found


def test_less_than_was_measured_here():
    measured = Expected("mtp", 1.05, 2.5)
    assert codes(Counters(300, 900, 299), measured) == ["acceptance_low"]  # 1.997 < 0.8 x 2.5
    assert codes(Counters(300, 900, 301), measured) == []


def test_tokens_and_no_draft_at_all():
    assert codes(Counters(0, 0, 0)) == ["not_speculating"]
    assert codes(Counters(0, 0, 0), generated=499.0) is None
    assert codes(Counters(0, 0, 0), Expected("ngram", 1.05, None)) is None


def test_every_draft_accepted_is_suspicious_not_bad():
    found = judge_drafts(START, Counters(300, 900, 899), 1200.0, EXPECTED)
    assert (found.notes, found.suspicious) == ((), True)
    assert not judge_drafts(START, Counters(300, 900, 800), 1100.0, EXPECTED).suspicious


def test_without_speculation_or_counters_nothing_is_judged():
    assert judge_drafts(START, None, 1.0, EXPECTED) == (None, None, False)
    assert codes(Counters(300, 900, 0), Expected("none", 1.05, None)) is None


def test_a_server_that_started_anew_begins_a_new_window():
    old = Window(1000.0, 3000.0, 2000.0, 5000.0)
    found = judge_drafts(old, Counters(5, 15, 9), 14.0, EXPECTED)
    assert (found.window, found.notes) == (Window(5, 15, 9, 14.0), None)
