"""The search finds the best depth, or one within 3 % of it, with at most half of a sweep's runs."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.measure.depth_search import (
    DEEPER_ABOVE,
    Space,
    Speed,
    allowed,
    next_depth,
    predictions,
)
from tests.measure.curves import CNN, DSPARK_CODING, GSM8K, HUMANEVAL, SPARK_MTP, modelled

RANGES = {
    "mtp": (tuple(range(1, 6)), (2, 3), False),
    "eagle3": (tuple(range(1, 8)), (1, 3, 5), False),
    "draft_model": (tuple(range(2, 9)), (4,), False),
    "dflash": (tuple(range(3, 16)), (15,), True),
    "dspark": (tuple(range(1, 8)), (4,), True),
}
SHAPES = {
    f"{name}, a step costs {step}, convex {convex}": modelled(lengths, step=step, convex=convex)
    for name, lengths in (
        ("code", HUMANEVAL),
        ("maths", GSM8K),
        ("news", CNN),
        ("b", DSPARK_CODING),
    )
    for step in (0.08, 0.15, 0.3)
    for convex in (0.0, 0.02)
}


def speed(recorded, depth, noise=lambda: 1.0):
    shares = recorded.positions[:depth]
    return Speed(
        depth=depth,
        tokens_s=recorded.speeds[depth] * noise(),
        length=1 + sum(shares),
        positions=shares,
    )


def searched(recorded, space, noise=lambda: 1.0):
    """The depths measured, in order."""
    measured = []
    base = recorded.speeds[0] * noise()
    while (depth := next_depth(space, base, measured)) is not None:
        measured.append(speed(recorded, depth, noise))
    return measured


def regret(recorded, measured, space):
    """What the best measured depth gives away against the best that the rule lets be tried."""
    start = space.first

    def may(depth):
        return space.parallel or depth <= start or recorded.positions[depth - 2] > DEEPER_ABOVE

    best = max(measured, key=lambda each: each.tokens_s).depth
    top = max(recorded.speeds[depth] for depth in space.depths if may(depth))
    return 1 - recorded.speeds[best] / top


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("method", "start"), [(name, start) for name in ("mtp", "eagle3") for start in RANGES[name][1]]
)
def test_recorded_acceptance(shape, method, start):
    depths, _, parallel = RANGES[method]
    space = Space(depths=depths, start=start, parallel=parallel)
    measured = searched(SHAPES[shape], space)
    assert 2 * (len(measured) + 1) <= len(depths) + 1, "at most half of a sweep, baseline included"
    assert regret(SHAPES[shape], measured, space) <= 0.03


def test_the_dgx_spark_table():
    space = Space(depths=(1, 2, 4), start=2)
    measured = searched(SPARK_MTP, space)
    assert measured[0].depth == 2
    assert max(measured, key=lambda each: each.tokens_s).depth == 2


def decaying(rng, parallel):
    """A made curve: acceptance that decays, a cost that rises, more or less of each."""
    share, rate, decay = 1.0, rng.uniform(0.35, 0.95), rng.uniform(0.85, 1.0)
    lengths, length = [], 1.0
    for _ in range(15):
        share, rate = share * rate, rate * decay
        length += share
        lengths.append(length)
    step = rng.uniform(0.0, 0.05) if parallel else rng.uniform(0.01, 0.35)
    convex = rng.choice([0.0, rng.uniform(0, 0.06)]) / (8 if parallel else 1)
    return modelled(lengths, step=step, any_draft=rng.uniform(0, 0.4), convex=convex)


@pytest.mark.parametrize("method", RANGES)
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_made_curves(method, noise):
    """Of 500 curves of all shapes, with and without noise."""
    depths, starts, parallel = RANGES[method]
    rng = random.Random(20261130)
    lost = []
    for _ in range(500):
        space = Space(depths=depths, start=rng.choice(starts), parallel=parallel)
        recorded = decaying(rng, parallel)
        measured = searched(recorded, space, lambda: rng.gauss(1, noise))
        assert 2 * (len(measured) + 1) <= len(depths) + 1
        lost.append(regret(recorded, measured, space))
    assert sum(each > 0.03 for each in lost) <= 0.02 * len(lost)
    assert max(lost) < 0.12


def test_deeper_only_while_the_last_position_is_above_the_rule():
    space = Space(depths=(1, 2, 3, 4, 5), start=2)
    good = Speed(depth=2, tokens_s=40, length=2.6, positions=(0.9, 0.7))
    poor = Speed(depth=2, tokens_s=40, length=2.49, positions=(0.9, 0.59))
    assert allowed(space, 20.0, [good])[:3] == (1, 2, 3)
    assert allowed(space, 20.0, [poor]) == (1, 2)


def test_parallel_drafters_go_deeper_while_the_curve_rises():
    space = Space(depths=tuple(range(1, 8)), start=4, parallel=True)
    rising = Speed(depth=4, tokens_s=40, length=2.0, positions=(0.5, 0.3, 0.15, 0.05))
    falling = Speed(depth=4, tokens_s=19, length=2.0, positions=(0.5, 0.3, 0.15, 0.05))
    assert allowed(space, 20.0, [rising]) == space.depths
    assert allowed(space, 20.0, [falling]) == (1, 2, 3, 4)


def test_what_is_unfit_is_never_the_best_and_shallower_ones_are_tried():
    space = Space(depths=(1, 2, 3, 4, 5), start=3)
    recorded = modelled(GSM8K)
    measured = [speed(recorded, 3), speed(recorded, 4)]
    assert next_depth(space, 20.0, measured, unfit={3, 4}) in (1, 2)
    assert next_depth(space, 20.0, [*measured, speed(recorded, 2)], unfit={3, 4}) is None
    everything = [speed(recorded, depth) for depth in (1, 2, 3)]
    assert next_depth(space, 20.0, everything, unfit={1, 2, 3}) is None


def test_a_start_outside_the_depths_is_clamped():
    assert Space(depths=(1, 2, 4), start=3).first == 2
    assert Space(depths=(4, 5), start=3).first == 4
    assert next_depth(Space(depths=(6,), start=3), 20.0, []) == 6


def test_one_depth_is_one_run():
    space = Space(depths=(4,), start=4)
    assert next_depth(space, 20.0, [speed(modelled(GSM8K), 4)]) is None


def test_lengths_do_where_no_positions_are_told():
    space = Space(depths=(1, 2, 3, 4, 5), start=3)
    plain = Speed(depth=3, tokens_s=40, length=3.08)
    told = predictions(space, 20.0, [plain])
    assert told[3] == 40
    assert 25 < told[2] < 45
    silent = Speed(depth=3, tokens_s=40, length=None)
    assert allowed(space, 20.0, [silent]) == (1, 2, 3)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.floats(1, 500),
    st.floats(1, 500),
    st.booleans(),
)
def test_whatever_is_measured_the_search_ends(shares, base, found, parallel):
    positions = tuple(sorted(shares, reverse=True))
    space = Space(depths=tuple(range(1, 9)), start=len(positions), parallel=parallel)
    measured = []
    while (depth := next_depth(space, base, measured)) is not None:
        cut = positions[:depth]
        measured.append(Speed(depth=depth, tokens_s=found, length=1 + sum(cut), positions=cut))
    assert len({each.depth for each in measured}) == len(measured) <= space.runs


def test_a_limit_on_time_does_not_forbid_what_is_deeper():
    """A deeper draft may take less time per token; only memory and load grow with depth."""
    space = Space(depths=(1, 2, 3, 4, 5), start=2)
    recorded = modelled(GSM8K, step=0.05, convex=0.0)
    measured = [speed(recorded, 2), speed(recorded, 1)]
    base = recorded.speeds[0]
    assert next_depth(space, base, measured, unfit={1, 2}) == 3
    assert next_depth(space, base, measured, unfit={1, 2}, too_deep={2}) is None
