"""Stage 5: the parts add up, headroom stays, and what does not fit is refused with a way out."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from speccompose.errors import ExitStatus, MemoryFitError, SpeculationError
from tests.plan.stage_cases import OFF, board, case, codes

THOR = "agx-thor-t5000"
SPARK = "dgx-spark"
BOARDS = [THOR, "agx-orin-64gb", "agx-orin-32gb", "orin-nx-16gb", "orin-nano-8gb", SPARK]
REPOS = [
    "nvidia/Qwen3.6-27B-NVFP4",
    "nvidia/Qwen3-8B-NVFP4",
    "google/gemma-4-E2B-it",
    "Qwen/Qwen3.5-0.8B",
    "unsloth/Qwen3.8-27B-GGUF",
    "Qwen/Qwen3-8B-GGUF",
    "HuggingFaceTB/SmolLM2-135M-Instruct",
    "Qwen3.5-122B-A10B-hybrid-int4-fp8",
]


def refused(one, speculation=None) -> MemoryFitError:
    with pytest.raises(MemoryFitError) as caught:
        one.fit(speculation)
    assert caught.value.status == ExitStatus.MEMORY
    return caught.value


@settings(max_examples=150, deadline=None)
@given(
    device=st.sampled_from(BOARDS),
    repo=st.sampled_from(REPOS),
    busy=st.floats(0, 1),
    context=st.none() | st.integers(256, 8000),
    concurrency=st.integers(1, 40),
)
def test_parts_add_up_and_headroom_stays(catalog, device, repo, busy, context, concurrency):
    one = case(catalog, device, repo, context_tokens=context, concurrency=concurrency)
    total = one.device.memory_mib
    most = one.device.available_mib
    one.device = board(catalog, device, total_mib=total, available_mib=int(most * busy))
    for speculation in one.propose():
        try:
            memory = one.fit(speculation)
        except MemoryFitError:
            continue
        parts = (
            memory.os_reserve_mib
            + memory.weights_mib
            + memory.draft_mib
            + memory.kv_cache_mib
            + memory.runtime_mib
            + memory.shm_mib
            + memory.headroom_mib
        )
        assert parts == memory.total_mib == total
        assert memory.headroom_mib >= 2048
        assert memory.used_mib - memory.os_reserve_mib <= memory.available_mib - 2048
        if memory.gpu_memory_utilization is not None:
            share = memory.gpu_memory_utilization * total
            assert share <= memory.available_mib - 2048 + 1
            inside = memory.weights_mib + memory.draft_mib + memory.kv_cache_mib
            assert inside + memory.runtime_mib <= share + 1


@settings(max_examples=60, deadline=None)
@given(
    repo=st.sampled_from(REPOS),
    context=st.integers(256, 4000),
    more=st.integers(1, 4000),
)
def test_more_context_never_takes_less(catalog, repo, context, more):
    one = case(catalog, SPARK, repo, method="none")
    less = one.but(context_tokens=context).fit()
    greater = one.but(context_tokens=context + more).fit()
    assert less.used_mib <= greater.used_mib


@settings(max_examples=60, deadline=None)
@given(available=st.integers(2048, 60000), less=st.integers(0, 20000))
def test_what_fits_fits_with_more_memory_too(catalog, available, less):
    assume(available - less >= 2048)
    one = case(catalog, "agx-orin-64gb", "RedHatAI/Qwen3-8B-quantized.w4a16", method="none")
    one.device = board(catalog, "agx-orin-64gb", total_mib=62841, available_mib=available - less)
    try:
        one.fit()
    except MemoryFitError:
        return
    one.device = board(catalog, "agx-orin-64gb", total_mib=62841, available_mib=available)
    assert one.fit()


def test_a_refusal_has_both_numbers_and_all_figures(catalog):
    """What would fit instead is added once, when nothing fits (test_ladder)."""
    error = refused(case(catalog, "agx-orin-32gb", "nvidia/Qwen3.6-27B-NVFP4"))
    assert "needs" in error.brief
    assert "there are" in error.brief
    assert "vLLM may take" in "\n".join(error.details)
    assert error.memory.weights_mib == 20981
    assert str(error.memory.kv_cache_mib) in error.details[0]


def test_8gb_board_with_vllm_is_eager_small_and_alone(catalog):
    """M-01."""
    one = case(catalog, "orin-nano-8gb", "Qwen/Qwen3.5-0.8B", image="vllm-iot-r36")
    memory = one.fit()
    command = one.command()
    assert memory.sequences == 2
    assert memory.context_tokens <= 4096
    assert "--enforce-eager" in command
    assert "--speculative-config" not in command
    assert memory.gpu_memory_utilization is not None
    assert memory.gpu_memory_utilization <= 0.55


def test_a_7b_on_nx_never_takes_the_default_share(catalog):
    """M-02."""
    one = case(catalog, "orin-nx-16gb", "Qwen/Qwen3.5-0.8B", image="vllm-iot-r36", method="none")
    memory = one.fit()
    assert memory.gpu_memory_utilization is not None
    taken = memory.gpu_memory_utilization * memory.total_mib
    assert taken <= memory.total_mib - memory.os_reserve_mib - 2048


def test_available_counts_not_free(catalog):
    """M-03: MemFree is not even part of the resolved board."""
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4")
    assert one.fit().available_mib == one.device.available_mib


def test_a_busy_spark_gets_less_or_a_refusal(catalog):
    """M-04."""
    one = case(catalog, SPARK, "nvidia/Qwen3-8B-NVFP4", method="none")
    one.device = board(catalog, SPARK, total_mib=122429, available_mib=57600)
    memory = one.fit()
    assert memory.gpu_memory_utilization == 0.45
    one.device = board(catalog, SPARK, total_mib=122429, available_mib=14080)
    assert f"122429 less {122429 - 14080} in use" in "\n".join(refused(one).details)


def test_27b_with_dflash_on_spark(catalog):
    """M-05: share 0.80 becomes 0.75, the draft is counted, the batch stays small."""
    one = case(catalog, SPARK, "nvidia/Qwen3-8B-NVFP4", method="dflash", context_tokens=40960)
    memory = one.fit()
    assert memory.gpu_memory_utilization == 0.75
    assert memory.batched_tokens <= 8192
    assert memory.draft_mib > 0


def test_a_draft_adds_weights_kv_and_rows(catalog):
    """M-06."""
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4")
    without = one.fit(OFF)
    with_draft = one.fit()
    assert with_draft.draft_mib > 0
    assert with_draft.kv_bytes_per_token > without.kv_bytes_per_token
    assert with_draft.runtime_mib > without.runtime_mib


def test_eagle3_on_nano_is_refused_before_memory_is_asked(catalog):
    """M-07."""
    one = case(catalog, "orin-nano-8gb", "RedHatAI/Qwen3-8B-quantized.w4a16", method="eagle3")
    with pytest.raises(SpeculationError):
        one.propose()


def test_a_million_tokens_on_spark(catalog):
    """M-09: longer than published is warned of, and KV stands inside the plan."""
    repo = "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4"
    one = case(catalog, SPARK, repo, context_tokens=1048576)
    memory = one.fit()
    assert "context_above_tested" in codes(memory.findings)
    assert memory.headroom_mib >= 2048


def test_kv_oversubscribed_counts_requests(catalog):
    one = case(
        catalog, "agx-orin-64gb", "RedHatAI/Qwen3-8B-quantized.w4a16", concurrency=40, method="none"
    )
    one.device = board(catalog, "agx-orin-64gb", total_mib=62841, available_mib=30000)
    memory = one.fit()
    found = next(each for each in memory.findings if each.code == "kv_oversubscribed")
    full = int(found.message.split()[0])
    assert 1 <= full < 40
    assert "kv_oversubscribed" not in codes(one.but(concurrency=1).fit().findings)
    each = memory.kv_bytes_per_token * 8192
    assert full * each <= memory.kv_cache_mib * 1024 * 1024


def test_kv_is_what_the_load_needs_not_all_that_is_left(catalog):
    """On one shared pool the rest belongs to the host (rules section 4)."""
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", method="none")
    alone = one.fit()
    four = one.but(concurrency=4).fit()
    assert alone.kv_cache_mib < 1.05 * 8192 * alone.kv_bytes_per_token / 1024 / 1024
    assert 3.9 * alone.kv_cache_mib < four.kv_cache_mib < 4.1 * alone.kv_cache_mib


def test_missing_geometry_is_bounded_and_said(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3-8B-NVFP4", method="none").with_model(geometry=None)
    memory = one.fit()
    assert memory.kv_bytes_per_token == 512 * 1024
    assert "model_facts_incomplete" in codes(memory.findings)


def test_same_question_same_answer(catalog):
    one = case(catalog, THOR, "nvidia/Qwen3.6-27B-NVFP4")
    assert one.fit() == one.fit()


def test_every_figure_has_a_reason(catalog):
    memory = case(catalog, THOR, "nvidia/Qwen3.6-27B-NVFP4").fit()
    subjects = {each.subject for each in memory.decisions}
    assert {
        "context tokens",
        "sequences",
        "batched tokens",
        "KV cache",
        "runtime memory",
        "gpu memory utilization",
    } <= subjects
    assert all(each.source for each in memory.decisions)
