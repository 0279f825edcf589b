"""KV and state: the published figures come out, and the bounds hold."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.plan.kv import UNKNOWN_BYTES_PER_TOKEN, KvLayout, kv_cost
from speccompose.vocab.model import Geometry, LinearState, Pairing
from speccompose.vocab.plan import SpeculationPlan

CHECKED = datetime.date(2026, 11, 30)
OFF = SpeculationPlan(method=None, depth=0, reason="off")
LAYOUT = KvLayout(element_bytes=2, block_tokens=1, batch_tokens=2048)


def geometry(**more) -> Geometry:
    values = {
        "layers": 40,
        "attention_layers": 10,
        "kv_heads": 2,
        "head_dim_k": 256,
        "head_dim_v": 256,
        "source": "test",
        "checked": CHECKED,
    }
    return Geometry(**{**values, **more})


def speculating(method, depth=3, draft=None, **pairing) -> SpeculationPlan:
    pair = Pairing(
        method=method, draft=draft, engines=("vllm",), source="test", checked=CHECKED, **pairing
    )
    return SpeculationPlan(
        method=method, depth=depth, draft_repo=draft, pairing=pair, reason="test"
    )


# 30 gated delta net layers: 32 value heads and 16 key heads of 128, convolution of 4.
QWEN_35B_A3B = geometry(
    linear=LinearState(layers=30, conv_elements=8192 * 3, state_elements=32 * 128 * 128),
    mtp_layers=1,
)


def test_published_check_value_of_qwen36_35b_a3b():
    assert kv_cost(QWEN_35B_A3B, OFF, LAYOUT, context_tokens=8192).token_bytes == 20480
    with_mtp = kv_cost(QWEN_35B_A3B, speculating("mtp"), LAYOUT, context_tokens=8192)
    assert with_mtp.token_bytes == 22528


def test_aligned_blocks_are_as_large_as_vllm_reports():
    """1072 tokens were reported with MTP at 3; the bound for the convolution is a little larger."""
    layout = KvLayout(element_bytes=2, block_tokens=16, batch_tokens=2048, aligned=True)
    block = kv_cost(QWEN_35B_A3B, OFF, layout, context_tokens=8192).block_tokens
    assert 1024 <= block <= 1088
    assert block % 16 == 0
    plain = kv_cost(geometry(), OFF, layout, context_tokens=8192)
    assert plain.block_tokens == 16


def test_state_is_kept_once_more_for_every_drafted_token():
    off = kv_cost(QWEN_35B_A3B, OFF, LAYOUT, context_tokens=8192)
    deep = kv_cost(QWEN_35B_A3B, speculating("mtp", depth=3), LAYOUT, context_tokens=8192)
    assert (off.states, deep.states) == (1, 4)
    assert off.state_bytes == 30 * (8192 * 3 + 32 * 128 * 128) * 4
    growth = deep.request_bytes(1) - deep.attention_bytes(1)
    assert growth >= 4 * off.state_bytes


def test_sliding_layers_stop_at_their_window():
    model = geometry(sliding_layers=20, window_tokens=512)
    short = kv_cost(model, OFF, LAYOUT, context_tokens=256)
    middle = kv_cost(model, OFF, LAYOUT, context_tokens=4096)
    long = kv_cost(model, OFF, LAYOUT, context_tokens=131072)
    assert short.window_bytes < middle.window_bytes == long.window_bytes
    assert long.token_bytes == kv_cost(geometry(), OFF, LAYOUT, context_tokens=1).token_bytes


def test_engines_that_do_not_know_the_window_pay_for_all():
    """Gemma 4 before vLLM 0.21."""
    model = geometry(sliding_layers=20, window_tokens=512)
    layout = KvLayout(element_bytes=2, block_tokens=1, batch_tokens=2048, sliding_as_full=True)
    cost = kv_cost(model, OFF, layout, context_tokens=131072)
    assert cost.window_bytes == 0
    assert cost.token_bytes == 3 * 20480


def test_unknown_geometry_is_512_kib_per_token():
    cost = kv_cost(None, OFF, LAYOUT, context_tokens=8192)
    assert cost.token_bytes == UNKNOWN_BYTES_PER_TOKEN == 524288
    assert not cost.known


@pytest.mark.parametrize(
    ("speculation", "extra", "known"),
    [
        (speculating("ngram"), 0, True),
        (speculating("mtp"), 2048, True),
        (speculating("mtp", draft="lab/assistant"), 0, True),
        (speculating("mtp", draft="lab/a", draft_kv_bytes_per_token=99), 99, True),
        (speculating("dflash", draft="lab/d", draft_kv_bytes_per_token=4096), 4096, True),
        (speculating("dflash", draft="lab/d"), 20480, False),
        (speculating("draft_model", draft="lab/d"), 20480, False),
    ],
)
def test_what_the_draft_adds(speculation, extra, known):
    cost = kv_cost(geometry(mtp_layers=1), speculation, LAYOUT, context_tokens=8192)
    assert cost.token_bytes == 20480 + extra
    assert cost.known == known


@given(st.integers(256, 262144), st.integers(1, 64), st.integers(1, 2048))
def test_a_request_has_room_for_its_context_and_lookahead(context, depth, block):
    layout = KvLayout(element_bytes=2, block_tokens=block, batch_tokens=2048)
    cost = kv_cost(geometry(), speculating("mtp", depth=depth), layout, context_tokens=context)
    assert cost.attention_bytes(context) >= cost.token_bytes * (context + 1)


@given(st.integers(256, 100000), st.integers(1, 16), st.integers(0, 16))
def test_more_never_costs_less(context, requests, more):
    cost = kv_cost(QWEN_35B_A3B, speculating("mtp"), LAYOUT, context_tokens=context)
    least = cost.least_bytes(context, sequences=requests + more)
    load = cost.load_bytes(context, requests=requests, sequences=requests + more)
    assert least <= load
    assert load <= cost.load_bytes(context + 1, requests=requests, sequences=requests + more)
    assert load <= cost.load_bytes(context, requests=requests + 1, sequences=requests + more + 1)
