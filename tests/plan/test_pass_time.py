"""Published speed-ups from few physical figures, and how the parts must move it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.plan.acceptance_curve import accepted_length
from speccompose.plan.pass_time import PassTime, distinct_experts

VLLM = {"overhead_ms": 1.0, "step_overhead_ms": 0.3}
LLAMA_CPP = {"overhead_ms": 0.0, "step_overhead_ms": 2.0}
"""As in profiles/engines; test_predict.py proves that they are."""

Q4 = 17106773984 / 27e9
"""Bytes per weight of a Q4_K_M: the file of Qwen3.8-27B over its parameters."""

DSPARK = (0.605, 0.341, 0.186, 0.099, 0.052, 0.027, 0.014)
HEAD_27B, HEAD_35B = 248320 * 5120, 248320 * 2048
MTP_27B = (27e9 - 2 * HEAD_27B) / 64 + HEAD_27B
MTP_35B = (3e9 - HEAD_35B) / 40 + HEAD_35B
ROUTED_35B = 40 * 8 * 3 * 2048 * 512
REST_35B = 3e9 - ROUTED_35B - HEAD_35B
EXPERTS_35B = {"experts": 256, "experts_per_token": 8}
COMMUNITY_GB_S = 27e9 * Q4 * 68 / 1e9
"""The bandwidth that the dense model of the comparison shows its machine to have."""


def ms(size: float, gb_s: float) -> float:
    return size / gb_s / 1e6


def published_27b() -> PassTime:
    return PassTime(one_token_ms=1000 / 68, draft_ms=ms(MTP_27B * Q4, COMMUNITY_GB_S), **LLAMA_CPP)


def qwen_35b(tokens_s: float, gb_s: float) -> PassTime:
    """What is not reading experts is paid once per pass, whatever it is."""
    return PassTime(
        one_token_ms=1000 / tokens_s,
        routed_ms=ms(ROUTED_35B * Q4, gb_s),
        draft_ms=ms(MTP_35B * Q4, gb_s),
        **EXPERTS_35B,
        **LLAMA_CPP,
    )


def rtx_pro_6000() -> PassTime:
    """NVFP4 target; its MTP layer and output head stay in 16 bits."""
    return PassTime(one_token_ms=1000 / 63.3, draft_ms=ms(MTP_27B * 2, 1792), **VLLM)


def thread_at_seven() -> PassTime:
    """The model is not named; the layer's share of a 27B is taken."""
    return PassTime(one_token_ms=1000 / 7, draft_ms=MTP_27B / 27e9 * 1000 / 7, **LLAMA_CPP)


def dspark() -> PassTime:
    """BF16 target of 16381470720 bytes, a block draft of 4521 MiB."""
    one = 1000 / 147.4
    share = 4521 * 1024**2 / 16381470720
    return PassTime(one_token_ms=one, draft_ms=share * one, parallel=True, **VLLM)


def laptop_35b() -> PassTime:
    """Experts in host memory: bound by reading, so bytes alone give the shares."""
    gb_s = (ROUTED_35B + REST_35B) * Q4 * 22.92 / 1e9
    return qwen_35b(22.92, gb_s)


ROWS = {
    "Qwen3-8B DSpark 7": (dspark(), accepted_length(DSPARK), 7, 259.9 / 147.4),
    "Qwen3.6-27B MTP 4": (published_27b(), 3.00, 4, 110 / 68),
    "Qwen3.6-35B-A3B MTP 4": (qwen_35b(58, COMMUNITY_GB_S), 2.89, 4, 99 / 58),
    "Qwen3.8-27B NVFP4 MTP 2": (rtx_pro_6000(), 1 + 2 * 0.59, 2, 96.1 / 63.3),
    "Qwen3.8-27B NVFP4 MTP 4": (rtx_pro_6000(), 1 + 4 * 0.42, 4, 116.3 / 63.3),
    "llama.cpp thread MTP 3": (thread_at_seven(), 1 + 3 * 952 / 1319, 3, 16.8 / 7.0),
    # GH ggml-org/llama.cpp#22673: 35B-A3B on a laptop with 6 GB of GPU memory.
    "laptop 35B-A3B MTP 1": (laptop_35b(), 1 + 0.8835, 1, 27.58 / 22.92),
    "laptop 35B-A3B MTP 2": (laptop_35b(), 1 + 2 * 0.815, 2, 29.39 / 22.92),
    "laptop 35B-A3B MTP 3": (laptop_35b(), 1 + 3 * 0.7127, 3, 27.78 / 22.92),
    "laptop 35B-A3B MTP 4": (laptop_35b(), 1 + 4 * 0.6421, 4, 26.09 / 22.92),
    # Model card of fraQtl/Qwen3.6-35B-A3B-Hi-Fi-MTP-runtime: A100 80 GB, not used for any figure.
    "A100 35B-A3B MTP 4": (qwen_35b(133.61, 2039), 1 + 4 * 0.7599, 4, 1.489),
}


@pytest.mark.parametrize(("time", "length", "depth", "published"), ROWS.values(), ids=ROWS)
def test_published_rows_within_20_percent(time, length, depth, published):
    assert time.speedup(length, depth) == pytest.approx(published, rel=0.20)


def test_experts_are_what_makes_a_deep_draft_dear():
    dense = PassTime(one_token_ms=30)
    mixture = PassTime(one_token_ms=30, routed_ms=8, **EXPERTS_35B)
    assert dense.verify_ratio(4) == 1.0
    assert mixture.verify_ratio(4) > 1.9


@pytest.mark.parametrize(
    ("tokens", "ratio"), [(1, 1.0), (2, 1.969), (3, 2.907), (5, 4.697), (10**6, 32.0)]
)
def test_distinct_experts_of_8_in_256(tokens, ratio):
    assert distinct_experts(tokens, 256, 8) == pytest.approx(ratio, abs=0.001)


def test_a_dense_model_has_one_expert():
    assert distinct_experts(9, 1, 1) == 1.0


def test_arithmetic_counts_once_it_takes_longer_than_reading():
    time = PassTime(one_token_ms=10, token_compute_ms=1)
    assert [time.verify_ratio(depth) for depth in (1, 9, 15)] == [1.0, 1.0, 1.6]


def test_a_block_costs_one_draft_step_whatever_its_depth():
    sequential = PassTime(one_token_ms=10, draft_ms=1)
    block = PassTime(one_token_ms=10, draft_ms=1, parallel=True)
    assert block.draft_ratio(15) == block.draft_ratio(1) == sequential.draft_ratio(1)
    assert sequential.draft_ratio(15) == pytest.approx(1.5)


def test_without_costs_every_accepted_token_is_gained():
    assert PassTime(one_token_ms=10).speedup(3.5, 4) == 3.5


def test_passes_that_draft_nothing_neither_gain_nor_lose():
    time = PassTime(one_token_ms=10, overhead_ms=5)
    always, half = time.speedup(1.2, 4), time.speedup(1.2, 4, 0.5)
    assert always < half < 1.0


times = st.builds(
    PassTime,
    one_token_ms=st.floats(1, 200),
    routed_ms=st.floats(0, 1),
    experts=st.just(128),
    experts_per_token=st.integers(1, 8),
    draft_ms=st.floats(0, 20),
    parallel=st.booleans(),
    overhead_ms=st.floats(0, 3),
    step_overhead_ms=st.floats(0, 3),
)
lengths = st.floats(1, 17)
depths = st.integers(1, 16)


@given(times, lengths, depths, st.floats(0.01, 20))
def test_a_dearer_draft_is_never_faster(time, length, depth, more):
    dearer = msgspec.structs.replace(time, draft_ms=time.draft_ms + more)
    assert dearer.speedup(length, depth) < time.speedup(length, depth)


@given(times, lengths, lengths, depths)
def test_more_accepted_tokens_are_never_slower(time, one, other, depth):
    few, many = sorted((one, other))
    assert time.speedup(few, depth) <= time.speedup(many, depth)


@given(times, lengths, depths)
def test_a_deeper_draft_pays_only_by_its_tokens(time, length, depth):
    assert time.cost(depth + 1) >= time.cost(depth) >= 1.0
    assert time.speedup(length, depth + 1) <= time.speedup(length, depth)
    assert time.speedup(length, depth) <= length


@given(st.integers(1, 40), st.integers(1, 8))
def test_tokens_never_need_fewer_experts_nor_more_than_there_are(tokens, per_token):
    now, next_one = (distinct_experts(n, 128, per_token) for n in (tokens, tokens + 1))
    assert 1.0 - 1e-9 <= now <= next_one <= 128 / per_token + 1e-9
