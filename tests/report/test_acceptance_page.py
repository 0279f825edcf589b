"""The page of an acceptance: complete by itself, and everything measured is on it."""

import re
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from speccompose.report.acceptance_figures import latency_figures, run_table, tiles
from speccompose.report.acceptance_page import acceptance_page, condition_table
from speccompose.report.html_page import html_page
from speccompose.report.outcomes import MEANING, TONE
from tests.report.acceptance_samples import bare, losing, paying, tuned


class Reader(HTMLParser):
    """Text and outside references of a page; unclosed tags are counted."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.outside: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.outside += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_data(self, data):
        self.words.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(word for word in self.words if word)


@pytest.mark.parametrize("result", [paying(), losing(), bare()], ids=["pays", "loses", "bare"])
def test_the_page_needs_nothing_from_outside(result):
    page = acceptance_page(result, tuned())
    read = Reader(page)
    assert read.outside == []
    assert "script" not in read.tags
    assert not re.search(r"@import|url\(", page)
    assert result.outcome in read.text
    assert all(reason in read.text for reason in result.reasons)


def test_everything_measured_is_on_it():
    read = Reader(acceptance_page(paying(), tuned()))
    for said in (
        *("+46 %", "-31 %", "+12 %", "2.61", "60.0 GiB", "agx-thor-t5000", "eagle3, depth 5"),
        *("RedHatAI/Qwen3-8B-speculator.eagle3", "vllm 0.27.1", "MAXN", "66 °C", "coding"),
        *("speccompose accept qwen3-8b --yes", "vllm serve /models/target --max-model-len 8192"),
        *("depth 2: 48.5 tokens/s", "acceptance by position, 8 clients", "8 clients"),
    ):
        assert said in read.text, said
    assert read.tags.count("svg") == 2 + 2 + 3 + 8


def test_a_synthetic_result_says_so_and_a_real_one_does_not():
    assert "Synthetic acceptance" in acceptance_page(losing())
    assert "Synthetic acceptance" not in acceptance_page(paying())


def test_without_a_tuning_the_curve_has_two_points():
    page = acceptance_page(paying())
    assert "depth 0: 32.3 tokens/s" in page
    assert "depth 5: 47" in page


def test_what_a_server_says_cannot_become_markup():
    result = replace(paying(), reasons=("<img src=x onerror=alert(1)>",))
    assert "<img" not in acceptance_page(result)


def test_what_was_not_measured_is_left_out():
    read = Reader(acceptance_page(bare()))
    assert read.tags.count("svg") == 0
    assert "None" not in read.text
    assert (tiles(bare()), run_table(bare()), condition_table(bare())) == ([], None, None)
    uneven = replace(paying(), runs=tuple(replace(run, latency=None) for run in paying().runs))
    assert latency_figures(uneven) == []


def test_every_outcome_has_words_and_a_colour():
    assert set(MEANING) == set(TONE)
    assert set(TONE.values()) == {"good", "warn", "bad"}


def test_a_template_with_a_hole_fails():
    with pytest.raises(Exception, match="undefined"):
        html_page("acceptance", {"title": "x"})
