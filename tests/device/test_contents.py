"""Does speculation change what is said? Chance is told from corruption."""

import random

import pytest

from speccompose.device.contents import compare_contents, text_fault

BASE = [f"answer number {n} is a sentence about rivers" for n in range(12)]


def changed(texts, places, suffix=" or lakes"):
    return [text + suffix if place in places else text for place, text in enumerate(texts)]


def faults(together=(), speculative=(), same_as_together=False):
    other = changed(BASE, together)
    mine = other if same_as_together else changed(BASE, speculative, " or seas")
    return compare_contents(BASE, other, mine).faults


def test_equal_answers_are_fine():
    found = compare_contents(BASE, BASE, BASE)
    assert found.faults == ()
    assert "0 differ only with speculation, 0 differ between" in found.sentence


@pytest.mark.parametrize("places", [range(12), range(3), range(5, 9)])
def test_more_than_chance_is_a_fault(places):
    (fault,) = faults(speculative=places)
    assert f"{len(places)} of 12 greedy answers" in fault


@pytest.mark.parametrize("places", [[], [4], [4, 9]])
def test_one_or_two_near_ties_are_chance(places):
    assert faults(speculative=places) == ()


def test_no_more_than_two_baseline_runs_differ_from_each_other():
    assert faults(together=range(6), speculative=range(6, 9)) == ()
    assert faults(together=range(2), speculative=range(2, 12)) != ()


def test_agreeing_with_either_baseline_run_is_agreement():
    assert faults(together=range(12), same_as_together=True) == ()


def test_three_equal_runs_are_seldom_called_different():
    """An engine whose rounding flips near-ties: all three passes are alike, none is at fault."""
    rng, blamed = random.Random(4), 0
    for _ in range(500):
        unstable = [n for n in range(12) if rng.random() < 0.4]
        passes = [
            [
                text + str(rng.random() < 0.3) if n in unstable else text
                for n, text in enumerate(BASE)
            ]
            for _ in range(3)
        ]
        blamed += bool(compare_contents(*passes).faults)
    assert blamed / 500 < 0.05


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        ("!" * 64, "again and again"),
        ("Sure. " + "the " * 40, "again and again"),
        ("0 0 0 0 0 0 0 0 0 0 0 0", "again and again"),
    ],
)
def test_no_answer_at_all(text, wanted):
    assert wanted in text_fault(text)
    broken = [text, *BASE[1:]]
    assert any("with speculation" in fault for fault in compare_contents(BASE, BASE, broken).faults)


@pytest.mark.parametrize(
    "text",
    [
        "A table:\n| a | b |\n|----------------|----------------|\n| 1 | 2 | and a longer text",
        "No, no, no, no! I said the the wrong thing, very very wrong.",
        "def f(x):\n    return x\n" + "=" * 20,
        "I am a cat. I am a cat. I am a cat. I am a cat. I am a cat. I am a cat.",
    ],
)
def test_ordinary_texts(text):
    assert text_fault(text) is None


def test_a_model_that_repeats_itself_without_speculation_is_named_so():
    broken = ["la " * 30] * 12
    found = compare_contents(broken, broken, broken).faults
    assert any("without speculation" in fault for fault in found)
