"""Sentences that a person can check."""

import math

from speccompose.device.acceptance_file import Rules
from speccompose.device.intervals import Ratio
from speccompose.device.verdict_text import (
    Comparison,
    accepted_length_text,
    gain_text,
    load_text,
    repeats_text,
    tpot_text,
)

RULES = Rules((1, 8), 3, 12, 128, 30.0, -20.0, 10.0, 0.97, 1.05)


def comparison(measure, concurrency, base, other, low, high):
    return Comparison(
        measure, concurrency, math.log(base), math.log(other), Ratio(other / base, low, high)
    )


def test_sentences():
    assert gain_text(comparison("output_tokens_s", 1, 50, 71, 1.38, 1.46), RULES) == (
        "concurrency 1: 50.0 -> 71.0 tokens/s, +42.0 % (95%: +38.0 to +46.0 %); "
        "accepted from +30 %, rejected below +10 %"
    )
    assert tpot_text(comparison("tpot_ms_p50", 1, 20, 14, 0.68, 0.72), RULES) == (
        "concurrency 1: TPOT p50 20.00 -> 14.00 ms, -30.0 % (95%: -32.0 to -28.0 %); "
        "accepted from -20 %"
    )
    assert load_text(comparison("output_tokens_s", 8, 200, 196, 0.95, 1.01), RULES) == (
        "concurrency 8: 200.0 -> 196.0 tokens/s, ratio 0.980 (95%: 0.950 to 1.010); "
        "no regression from 0.97"
    )
    assert "(95%: -99.8 to over +999 %)" in gain_text(
        comparison("output_tokens_s", 1, 41.6, 8.8, 0.002, 664.0), RULES
    )
    assert accepted_length_text(2.345, RULES) == "mean accepted length 2.35; rejected up to 1.05"
    assert accepted_length_text(None, RULES) == "mean accepted length: not told by the engine"
    assert repeats_text(5) == "5 repeats per arm and concurrency"
