"""A metrics page as activity: both engines, labels summed, nonsense left out."""

import pytest

from speccompose.device.watch_metrics import UNKNOWN, Activity, read_activity

VLLM = """
# HELP vllm:num_requests_running Number of requests in model execution batches.
vllm:num_requests_running{engine="0",model_name="m"} 2.0
vllm:num_requests_running{engine="1",model_name="m"} 1.0
vllm:num_requests_waiting{engine="0",model_name="m"} 4.0
vllm:generation_tokens_total{engine="0",model_name="m"} 1000.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 200.0
vllm:iteration_tokens_total_count{engine="0",model_name="m"} 30.0
vllm:iteration_tokens_total_bucket{engine="0",le="1.0",model_name="m"} 9.0
"""
LLAMA = """
llamacpp:requests_processing 1
llamacpp:requests_deferred 2
llamacpp:tokens_predicted_total 10
llamacpp:prompt_tokens_total 20
llamacpp:n_decode_total 5
"""


def test_both_engines():
    assert read_activity(VLLM, "vllm") == Activity(7.0, 1230.0, 1000.0)
    assert read_activity(LLAMA, "llama.cpp") == Activity(3.0, 35.0, 10.0)


def test_a_step_of_a_long_prompt_is_progress():
    """Chunked prefill: no token is generated, but the engine takes steps."""
    later = VLLM.replace("total_count{engine=\"0\",model_name=\"m\"} 30.0",
                         "total_count{engine=\"0\",model_name=\"m\"} 31.0")  # fmt: skip
    assert read_activity(later, "vllm").progress == 1231.0


@pytest.mark.parametrize("text", [None, "", "no metrics here", "llamacpp:requests_processing x\n"])
def test_what_says_nothing_is_unknown(text):
    assert read_activity(text, "llama.cpp") == UNKNOWN


def test_what_is_no_number_is_left_out():
    text = "llamacpp:n_decode_total NaN\nllamacpp:tokens_predicted_total +Inf\n"
    assert read_activity(text, "llama.cpp") == UNKNOWN


def test_the_other_engines_page_says_nothing():
    assert read_activity(LLAMA, "vllm") == UNKNOWN
