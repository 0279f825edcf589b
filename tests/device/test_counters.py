"""Prometheus pages of both engines, as they print them."""

from hypothesis import given
from hypothesis import strategies as st

from speccompose.device.counters import Counters, read_counters

LLAMA = """\
# HELP llamacpp:spec_decode_num_drafts_total Speculative: Total verification steps
# TYPE llamacpp:spec_decode_num_drafts_total counter
llamacpp:spec_decode_num_drafts_total 8
llamacpp:spec_decode_num_draft_tokens_total 32
llamacpp:spec_decode_num_accepted_tokens_total 20
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 8
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 6
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="10"} 1
llamacpp:n_tokens_max 512
"""
VLLM = """\
# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
vllm:spec_decode_num_drafts_total{engine="0",model_name="a b"} 3.0
vllm:spec_decode_num_drafts_total{engine="1",model_name="a b"} 1.0
vllm:spec_decode_num_drafts_created{engine="0",model_name="a b"} 1.7e+09
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="a b"} 12.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="a b"} 6.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="a b",position="0"} 3.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="a b",position="0"} 1.0
"""


def test_llama_cpp():
    found = read_counters(LLAMA, "llama.cpp")
    assert found[:3] == (8, 32, 20)
    assert found.per_position == (8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    assert found.mean_accepted_length == 3.5


def test_vllm_adds_its_engines():
    assert read_counters(VLLM, "vllm") == Counters(4, 12, 6, (4,))


def test_a_server_without_counters_is_not_one_that_counted_nothing():
    assert read_counters("llamacpp:n_decode_total 5\n", "llama.cpp") is None
    assert read_counters(VLLM, "llama.cpp") is None
    zero = read_counters("llamacpp:spec_decode_num_drafts_total 0\n", "llama.cpp")
    assert zero == Counters(0, 0, 0)
    assert zero.mean_accepted_length is None


def test_what_a_request_did_is_a_difference():
    before, after = Counters(1, 4, 2, (1, 1)), Counters(3, 12, 8, (3, 3, 2))
    assert after.since(before) == Counters(2, 8, 6, (2, 2, 2))
    assert after.since(None) == after


@given(st.text())
def test_no_page_is_too_odd_to_read(text):
    read_counters(text, "vllm")
    read_counters("vllm:spec_decode_num_drafts_total " + text, "vllm")
