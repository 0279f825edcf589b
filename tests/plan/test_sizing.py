"""Every part has a size, unknown figures are bounded or refused, never guessed."""

import pytest

from speccompose.errors import MemoryFitError
from speccompose.plan.sizing import Sizing, kv_room_mib, measure, share_of
from tests.plan.stage_cases import OFF, case, replace

THOR = "agx-thor-t5000"
DENSE = "nvidia/Qwen3-8B-NVFP4"
HYBRID = "nvidia/Qwen3.6-27B-NVFP4"


def sizing(one, speculation=None, context=8192) -> Sizing:
    return Sizing(
        device=one.device,
        choice=one.choice,
        speculation=one.best() if speculation is None else speculation,
        model=one.model,
        request=one.request,
        engine=one.catalog.engines[one.choice.image.engine],
        context_tokens=context,
    )


def test_weights_of_unknown_size_are_refused(catalog):
    one = case(catalog, THOR, DENSE).with_checkpoint(weights_mib=None)
    with pytest.raises(MemoryFitError) as caught:
        measure(sizing(one))
    assert caught.value.code == "weights_unknown"
    assert "inspect" in (caught.value.hint or "")


def test_a_draft_of_unknown_size_counts_like_its_target(catalog):
    one = case(catalog, THOR, DENSE, method="dflash").with_pairing("dflash", draft_mib=None)
    known = one.with_pairing("dflash", draft_mib=2000)
    assert (measure(sizing(one)).draft_mib, measure(sizing(one)).draft_known) == (6101, False)
    assert (measure(sizing(known)).draft_mib, measure(sizing(known)).draft_known) == (2000, True)
    assert measure(sizing(one, OFF)).draft_mib == 0


def test_memory_in_use_counts_as_reserved(catalog):
    """The reserve is what is missing from MemTotal, at least the board's."""
    one = case(catalog, THOR, DENSE)
    total = one.device.memory_mib
    busy = one.with_device(available_mib=total - 30000)
    assert measure(sizing(busy, OFF)).os_reserve_mib == 30000
    assert measure(sizing(one, OFF)).os_reserve_mib == 4096


@pytest.mark.parametrize(
    ("device_id", "repo", "mib"),
    [
        ("dgx-spark", DENSE, 6861),
        (THOR, DENSE, 6144),
        ("orin-nx-16gb", DENSE, 2560),
        ("orin-nx-8gb", DENSE, 1536),
        ("orin-nx-8gb", "Qwen/Qwen3-8B-GGUF", 512),
    ],
)
def test_runtime_is_looked_up_by_module_then_family(catalog, device_id, repo, mib):
    one = case(catalog, device_id, repo)
    bare = replace(one.model.geometry, vocab_size=None)
    parts = measure(sizing(one.with_model(geometry=bare), OFF))
    step = one.catalog.engines[one.choice.image.engine]
    activations = step.memory.activation_mib_per_1k_batched_tokens * 2
    assert parts.runtime_mib == mib + activations + parts.prompt_cache_mib


def test_the_prompt_cache_of_llama_cpp_is_counted(catalog):
    one = case(catalog, THOR, "Qwen/Qwen3-8B-GGUF")
    parts = measure(sizing(one, OFF))
    assert parts.prompt_cache_mib == 2048
    assert parts.runtime_mib > parts.prompt_cache_mib


def test_output_rows_grow_with_depth_and_sequences(catalog):
    """M-06."""
    one = case(catalog, THOR, HYBRID)
    shallow = measure(sizing(one)).runtime_mib
    deeper = measure(sizing(one.but(depth=15))).runtime_mib
    wider = measure(sizing(one.but(concurrency=7 * 8, method="mtp"))).runtime_mib
    assert shallow < deeper < wider


def test_shm_stays_small(catalog):
    for device_id in ("orin-nano-8gb", "orin-nx-16gb", "agx-orin-64gb", THOR, "dgx-spark"):
        one = case(catalog, device_id, DENSE)
        assert measure(sizing(one, OFF)).shm_mib * 10 <= one.device.memory_mib


def test_vllm_wants_the_load_llama_cpp_allocates_every_slot(catalog):
    vllm = measure(sizing(case(catalog, THOR, DENSE), OFF))
    assert vllm.kv_least_mib == vllm.kv_wanted_mib
    loaded = measure(sizing(case(catalog, THOR, DENSE, concurrency=4), OFF))
    assert loaded.kv_least_mib == vllm.kv_least_mib
    assert loaded.kv_wanted_mib > 3 * vllm.kv_wanted_mib
    llama = measure(sizing(case(catalog, THOR, "Qwen/Qwen3-8B-GGUF"), OFF))
    assert llama.kv_least_mib == llama.kv_wanted_mib
    assert llama.kv_wanted_mib > 7 * vllm.kv_wanted_mib


def test_prefix_caching_keeps_one_more_state(catalog):
    """The fault that switches it off with MTP before 0.29 saves a state too."""
    off = measure(sizing(case(catalog, THOR, HYBRID), OFF)).cost
    old = measure(sizing(case(catalog, THOR, HYBRID, version="0.27.1"))).cost
    new = measure(sizing(case(catalog, THOR, HYBRID, version="0.29.0"))).cost
    assert (off.states, old.states, new.states) == (2, 1 + 3, 2 + 3)
    llama = measure(sizing(case(catalog, THOR, "unsloth/Qwen3.8-27B-GGUF"))).cost
    assert llama.states == 1 + 3


def test_room_is_what_the_share_and_the_board_leave(catalog):
    one = case(catalog, THOR, DENSE)
    at = sizing(one, OFF)
    parts = measure(at)
    share = share_of(at)
    assert share is not None
    assert kv_room_mib(at, parts, share) == int(0.75 * 125772) - parts.fixed_mib
    board = 125772 - 4096 - 2048 - parts.shm_mib
    assert kv_room_mib(at, parts, None) == board - parts.fixed_mib


def test_a_wider_kv_type_counts_wider(catalog):
    one = case(catalog, THOR, "Qwen/Qwen3-8B-GGUF", method="none")
    wide = one.but(set_flags=(("ctk", "f32"), ("ctv", "f32")))
    small = one.but(set_flags=(("ctk", "q8_0"), ("ctv", "q8_0")))
    plain = measure(sizing(one)).cost.token_bytes
    assert measure(sizing(wide)).cost.token_bytes == 2 * plain
    assert measure(sizing(small)).cost.token_bytes == plain * 34 // 64
