"""Depths: what a checkpoint allows, where each method starts, and that nothing else is planned."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.engines.faults import active_faults
from speccompose.plan.depth import DepthLimits, depth_limits, explain_clamp, starting_depth
from speccompose.vocab.model import Pairing
from tests.plan.stage_cases import case

CHECKED = datetime.date(2026, 11, 30)


def pairing(method, **more):
    values = {"draft": "lab/draft", "engines": ("vllm",), "source": "test", "checked": CHECKED}
    return Pairing(method=method, **{**values, **more})


@pytest.fixture
def model(catalog):
    return catalog.models["qwen3-8b"]


@pytest.mark.parametrize(
    ("method", "block", "valid", "invalid"),
    [
        ("dflash", 8, (1, 7), (0, 8, 15)),
        ("dflash", 16, (1, 15), (16,)),
        ("dspark", 7, (1, 7), (8,)),
        ("dspark", 16, (16,), (17,)),
    ],
)
def test_blocks_bound_the_depth(model, method, block, valid, invalid):
    limits = depth_limits(method, pairing(method, block_size=block), model, ())
    assert [limits.allows(depth) for depth in valid] == [True] * len(valid)
    assert [limits.allows(depth) for depth in invalid] == [False] * len(invalid)


def test_heads_allow_their_number_and_multiples(model):
    limits = depth_limits("mtp", pairing("mtp", draft=None, heads=3), model, ())
    assert [depth for depth in range(1, 10) if limits.allows(depth)] == [1, 2, 3, 6, 9]
    assert limits.describe() == "1 to 3, then multiples of 3"


def test_one_head_allows_every_depth(catalog):
    limits = depth_limits("mtp", None, catalog.models["qwen3.6-27b"], ())
    assert limits.heads == 1
    assert all(limits.allows(depth) for depth in range(1, 9))


@pytest.mark.parametrize(
    ("version", "draft", "lowest"),
    [("0.26.0", None, 7), ("0.27.1", None, 7), ("0.28.0", None, 1), ("0.27.1", "lab/draft", 1)],
)
def test_a_dspark_block_inside_the_target_is_drafted_whole(catalog, model, version, draft, lowest):
    faults = active_faults(
        catalog.engines["vllm"], version, family="thor", model=model, method="dspark"
    )
    limits = depth_limits("dspark", pairing("dspark", draft=draft, block_size=7), model, faults)
    assert limits.lowest == lowest
    assert limits.clamp(4) == (7 if lowest == 7 else 4)


def test_only_a_seen_block_is_firm(model):
    second_hand = depth_limits("dflash", pairing("dflash", block_size=8), model, ())
    seen = depth_limits("dflash", pairing("dflash", block_size=8, block_evidence="seen"), model, ())
    assert (second_hand.firm, seen.firm) == (False, True)
    assert "second hand" in (second_hand.why or "")
    assert "second hand" not in (seen.why or "")


@given(st.integers(1, 40), st.integers(1, 8), st.integers(0, 30) | st.none(), st.integers(1, 40))
def test_a_clamp_is_valid_and_the_largest_not_above(heads, lowest, above, wanted):
    highest = None if above is None else lowest + above
    limits = DepthLimits(lowest=lowest, highest=highest, heads=heads)
    valid = [depth for depth in range(1, 200) if limits.allows(depth)]
    if not valid:
        return
    below = [depth for depth in valid if depth <= wanted]
    if not below and valid[0] > wanted + lowest:
        return
    assert limits.clamp(wanted) == (below[-1] if below else valid[0])


@pytest.mark.parametrize(
    ("method", "family", "depth"),
    [
        ("mtp", "thor", 3),
        ("mtp", "dgx-spark", 2),
        ("mtp", "generic", 3),
        ("dflash", "thor", 15),
        ("dspark", "thor", 4),
        ("eagle3", "thor", 5),
        ("eagle3", "agx-orin", 3),
        ("eagle3", "dgx-spark", 1),
        ("eagle3", "generic", 3),
        ("draft_model", "agx-orin", 4),
        ("ngram", "dgx-spark", 4),
    ],
)
def test_starting_depths_of_the_rules(catalog, method, family, depth):
    assert starting_depth(catalog.methods[method], None, family)[0] == depth


def test_what_is_published_for_the_board_comes_first(catalog):
    eagle3 = catalog.methods["eagle3"]
    for_board = pairing("eagle3", depth=2, depth_by_family={"thor": 4})
    preferred = pairing("eagle3", depth=2, preferred_on=("thor",))
    general = pairing("eagle3", depth=2)
    assert starting_depth(eagle3, for_board, "thor")[0] == 4
    assert starting_depth(eagle3, preferred, "thor")[0] == 2
    assert starting_depth(eagle3, general, "thor")[0] == 5
    assert starting_depth(eagle3, general, "orin-nx")[0] == 2


def test_the_clamp_is_explained():
    limits = DepthLimits(highest=7, firm=False, why="block_size 8 (second hand)")
    assert explain_clamp(limits, 15, 7) == "block_size 8 (second hand) allows 1 to 7, 15 becomes 7"
    assert explain_clamp(limits, 7, 7) == "depth 7: block_size 8 (second hand) allows 7 at most"
    assert explain_clamp(limits, 3, 3) == "depth 3"


def test_the_tutorials_pair_is_planned_at_7(catalog):
    plan = case(catalog, "agx-thor-t5000", "nvidia/Qwen3-8B-NVFP4").best()
    assert (plan.method, plan.depth) == ("dflash", 7)
    assert "block_size 8 (second hand)" in plan.reason
