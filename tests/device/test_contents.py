"""Does speculation change what is said? More than two runs without it differ from each other?"""

import pytest

from speccompose.device.contents import compare_contents, text_fault

BASE = [f"answer number {n} is a sentence about rivers" for n in range(12)]


def changed(texts, places, suffix=" or lakes"):
    return [text + suffix if place in places else text for place, text in enumerate(texts)]


def faults(together=(), speculative=()):
    return compare_contents(
        BASE, changed(BASE, together), changed(BASE, speculative, " or seas")
    ).faults


def test_equal_answers_are_fine():
    found = compare_contents(BASE, BASE, BASE)
    assert found.faults == ()
    assert "0 differ with speculation, 0 differ between" in found.sentence


@pytest.mark.parametrize("places", [range(12), [4], range(5, 9)])
def test_any_difference_is_too_much_where_the_baseline_agrees_with_itself(places):
    (fault,) = faults(speculative=places)
    assert f"{len(places)} of 12 greedy answers" in fault


@pytest.mark.parametrize(("without", "with_it"), [(0, 0), (1, 1), (6, 3), (12, 12), (3, 0)])
def test_no_more_than_two_baseline_runs_differ_from_each_other(without, with_it):
    assert faults(together=range(without), speculative=range(12 - with_it, 12)) == ()


@pytest.mark.parametrize(("without", "with_it"), [(0, 1), (1, 2), (6, 7), (11, 12)])
def test_one_more_is_too_many(without, with_it):
    (fault,) = faults(together=range(without), speculative=range(12 - with_it, 12))
    assert fault.endswith(f"two runs without it differ in {without}")


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


@pytest.mark.parametrize("piece", ["<unk>", "<|im_end|>", "assistant", "ha,", "\ud55c\uad6d"])
def test_a_token_without_a_space_over_and_over_is_no_answer(piece):
    assert "one token again and again" in str(text_fault(piece * 24))
    assert text_fault(f"It was called {piece} by everybody who had ever heard of it.") is None


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\nThat is the whole table that you asked for.",
        "Pi is 3.14159265358979, and e is 2.718281828459045; both go on without a period.",
        "A line\n--------------------\nand what stands below the line, in a few more words.",
    ],
)
def test_what_people_write_is_an_answer(text):
    assert text_fault(text) is None
