"""The context: asked for, published, or the board's; never above the model's maximum."""

import pytest

from speccompose.errors import ExitStatus, UsageError
from speccompose.plan.context import choose_context, context_findings
from tests.plan.stage_cases import case, codes, replace

THOR = "agx-thor-t5000"
REPO = "nvidia/Qwen3.6-27B-NVFP4"


def context_of(one):
    return choose_context(one.device, one.model, one.request)[0]


@pytest.mark.parametrize(
    ("device", "published", "asked", "tokens"),
    [
        (THOR, None, None, 8192),
        (THOR, 32768, None, 32768),
        (THOR, 4096, None, 4096),
        (THOR, 32768, 1024, 1024),
        ("orin-nano-8gb", None, None, 4096),
        ("orin-nano-8gb", 128000, None, 4096),
        ("orin-nano-8gb", 2048, None, 2048),
        ("orin-nx-16gb", 8192, None, 4096),
        ("orin-nx-16gb", 8192, 8192, 8192),
        ("dgx-spark", 196608, None, 196608),
    ],
)
def test_whose_figure_counts(catalog, device, published, asked, tokens):
    one = case(catalog, device, REPO, context_tokens=asked).with_model(context_tokens=published)
    assert context_of(one) == tokens


def test_above_the_maximum_is_a_usage_error(catalog):
    one = case(catalog, THOR, REPO, context_tokens=262145)
    with pytest.raises(UsageError) as caught:
        context_of(one)
    assert caught.value.status == ExitStatus.USAGE
    assert "262144" in caught.value.details[0]


def test_a_default_stops_at_the_maximum(catalog):
    one = case(catalog, THOR, REPO)
    small = replace(one.model.geometry, max_context_tokens=2048)
    assert context_of(one.with_model(geometry=small, context_tokens=None)) == 2048


def test_a_model_of_unknown_maximum_takes_what_is_asked(catalog):
    one = case(catalog, THOR, REPO, context_tokens=500000).with_model(geometry=None)
    assert context_of(one) == 500000


def test_longer_than_published_is_warned_of(catalog):
    """M-09."""
    one = case(catalog, "dgx-spark", REPO)
    asked = replace(one.request, context_tokens=65536)
    assert codes(context_findings(one.model, asked, 65536)) == ["context_above_tested"]
    unknown = replace(one.model, context_tokens=None)
    assert context_findings(unknown, asked, 65536) == ()
    assert context_findings(one.model, one.request, one.model.context_tokens) == ()


@pytest.mark.parametrize(("asked", "told"), [(None, ["context_below_published"]), (4096, [])])
def test_a_small_boards_shorter_context_is_told_unless_it_was_asked_for(catalog, asked, told):
    small = case(catalog, "orin-nano-8gb", "HuggingFaceTB/SmolLM2-135M-Instruct")
    small = small.with_model(context_tokens=8192).but(context_tokens=asked, method="none")
    memory = small.fit()
    assert memory.context_tokens == 4096
    found = [code for code in codes(memory.findings) if code.startswith("context_")]
    assert found == told
