"""Every request has a beginning of its own; both arms get the same ones."""

from speccompose.device.prompts import PROMPTS, marked_prompts


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
    assert max(len(prompt.text) for prompt in PROMPTS) < 600
