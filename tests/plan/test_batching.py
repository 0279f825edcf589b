"""Sequences and batched tokens: the slot rule, the faults' minimums, the user's own figure."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.errors import SpeculationError, UsageError
from speccompose.plan.batching import slots_per_sequence
from speccompose.vocab.plan import SpeculationPlan
from tests.plan.stage_cases import case

THOR = "agx-thor-t5000"


def plan(method, depth):
    return SpeculationPlan(method=method, depth=depth, reason="test")


@pytest.mark.parametrize(
    ("method", "depth", "slots"),
    [
        ("dflash", 15, 14),
        ("dspark", 4, 3),
        ("draft_model", 4, 1),
        ("mtp", 3, 0),
        ("eagle3", 5, 0),
        ("ngram", 4, 0),
        (None, 0, 0),
    ],
)
def test_slots_of_each_method(method, depth, slots):
    assert slots_per_sequence(plan(method, depth)) == slots


@pytest.mark.parametrize(
    ("device", "engine", "concurrency", "sequences"),
    [
        (THOR, "vllm", 1, 8),
        (THOR, "vllm", 20, 20),
        ("orin-nano-8gb", "llama.cpp", 1, 2),
        ("orin-nano-8gb", "llama.cpp", 3, 3),
        ("orin-nano-8gb", "vllm", 1, 2),
        ("orin-nano-8gb", "vllm", 4, 4),
        ("orin-nx-8gb", "vllm", 1, 8),
        ("orin-nx-8gb", "vllm", 12, 12),
        ("orin-nx-16gb", "vllm", 1, 8),
    ],
)
def test_sequences(catalog, device, engine, concurrency, sequences):
    repo = {"vllm": "Qwen/Qwen3.5-0.8B", "llama.cpp": "HuggingFaceTB/SmolLM2-135M-Instruct"}
    one = case(catalog, device, repo[engine], concurrency=concurrency, method="none")
    one = one.with_model(context_tokens=1024)
    assert one.fit().sequences == sequences


def test_the_context_never_becomes_the_batch(catalog):
    """M-05."""
    one = case(catalog, "dgx-spark", "nvidia/Qwen3.6-27B-NVFP4", context_tokens=65536)
    assert one.fit().batched_tokens == 2048


@pytest.mark.parametrize("depth", [15, 16])
def test_deep_dflash_never_leaves_a_batch_without_tokens(catalog, depth):
    """S-02: 16 tokens under the defaults scheduled -1792."""
    one = case(catalog, "dgx-spark", "nvidia/Qwen3-8B-NVFP4", version="0.26.0", method="dflash")
    for concurrency in (1, 8, 100, 256):
        memory = one.but(concurrency=concurrency, depth=depth).fit()
        slots = memory.sequences * (depth - 1)
        assert memory.batched_tokens > slots


def test_a_load_that_no_batch_can_hold_is_refused(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", method="dflash", depth=15, concurrency=1024)
    with pytest.raises(SpeculationError) as caught:
        one.fit()
    assert caught.value.code == "no_free_slots"


@pytest.mark.parametrize(("version", "tokens"), [("0.26.0", 4096), ("0.28.0", 2048)])
def test_the_slot_rule_ends_with_028(catalog, version, tokens):
    one = case(
        catalog,
        THOR,
        "nvidia/Qwen3-8B-NVFP4",
        version=version,
        method="dflash",
        depth=7,
        concurrency=512,
    )
    assert one.fit().batched_tokens == tokens


def test_gemma_gets_the_batch_it_needs(catalog):
    one = case(catalog, THOR, "google/gemma-4-E2B-it-qat-w4a16-ct", method="none")
    assert one.fit().batched_tokens >= 2496


def test_the_user_may_set_the_batch_within_reason(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3.6-27B-NVFP4")
    flag = "--max-num-batched-tokens"
    assert one.but(set_flags=((flag, "4096"),)).fit().batched_tokens == 4096
    for text in ("65536", "-1", "many", "0"):
        with pytest.raises(UsageError) as caught:
            one.but(set_flags=((flag, text),)).fit()
        assert caught.value.code == "batched_tokens_refused"


def test_the_users_batch_must_leave_slots(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", method="dflash", depth=15)
    with pytest.raises(UsageError):
        one.but(set_flags=(("max-num-batched-tokens", "112"),)).fit()
    assert one.but(set_flags=(("max-num-batched-tokens", "113"),)).fit().batched_tokens == 113


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.integers(1, 15), st.sampled_from(["0.20.2", "0.25.1", "0.27.1"]))
def test_every_planned_batch_schedules_tokens(catalog, concurrency, depth, version):
    one = case(
        catalog,
        THOR,
        "nvidia/Qwen3-8B-NVFP4",
        version=version,
        method="dflash",
        depth=depth,
        concurrency=concurrency,
    )
    memory = one.fit()
    assert memory.sequences * (depth - 1) < memory.batched_tokens <= 8192
