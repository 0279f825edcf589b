"""Every request has a beginning of its own; both arms get the same ones."""

from speccompose.device import prompts_knowing, prompts_making, prompts_thinking
from speccompose.device.prompts import CONVERSATIONS, PROMPTS, marked_prompts


def test_two_of_every_category_in_two_rounds():
    categories = [prompt.category for prompt in PROMPTS]
    assert len(PROMPTS) == 22
    assert categories[:11] == categories[11:]
    assert len(set(categories)) == 11
    assert len({prompt.text for prompt in PROMPTS}) == 22


def test_the_same_mark_gives_the_same_prompts():
    assert marked_prompts(40, "a/c8/r1") == marked_prompts(40, "a/c8/r1")


def test_no_two_requests_share_a_beginning():
    prompts = [*marked_prompts(64, "a"), *marked_prompts(64, "b"), *marked_prompts(64, "c")]
    assert len({prompt[:9] for prompt in prompts}) == len(prompts)


def test_prompts_are_short():
    """They must leave room for the answer in the smallest context a plan may have."""
    turns = [turn for kind in CONVERSATIONS.values() for each in kind for turn in each]
    assert max(len(turn) for turn in turns) < 600
    assert min(len(turn) for turn in turns) > 20


def test_every_conversation_that_is_written_is_asked():
    written = {
        id(value): name
        for module in (prompts_knowing, prompts_making, prompts_thinking)
        for name, value in vars(module).items()
        if name.isupper()
    }
    assert {id(kind) for kind in CONVERSATIONS.values()} == set(written)
    assert all(len(kind) == 8 for kind in CONVERSATIONS.values())


def test_both_turns_of_a_short_measurement_are_single_questions():
    assert all(len(each) == 1 for kind in CONVERSATIONS.values() for each in kind[:2])
