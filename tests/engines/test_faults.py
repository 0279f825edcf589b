"""Known faults bite where they were seen and nowhere else."""

import pytest
from msgspec.structs import replace

from speccompose.engines.faults import active_faults, minimum, triggered


def active(catalog, version, model, method, family="thor"):
    faults = active_faults(
        catalog.engines["vllm"],
        version,
        family=family,
        model=catalog.models[model],
        method=method,
    )
    return {fault.id: fault for fault in faults}


@pytest.mark.parametrize(
    ("version", "family", "kernel"),
    [
        ("0.27.1", "thor", None),
        ("0.28.0", "thor", "triton"),
        ("0.29.0", "thor", "triton"),
        ("0.30.0", "thor", None),
        ("0.28.0", "agx-orin", "triton"),
        ("0.33.0", "agx-orin", "triton"),
        ("0.34.0", "agx-orin", None),
        ("0.29.0", "dgx-spark", None),
    ],
)
def test_the_gdn_kernel(catalog, version, family, kernel):
    environment = {}
    for fault in active(catalog, version, "qwen3.6-27b", "mtp", family).values():
        environment.update(fault.environment)
    assert environment.get("VLLM_GDN_DECODE_KERNEL") == kernel


def test_the_gdn_kernel_is_for_hybrids_with_mtp_only(catalog):
    assert "gdn-decode-kernel-thor" not in active(catalog, "0.28.0", "qwen3.6-27b", None)
    assert "gdn-decode-kernel-thor" not in active(catalog, "0.28.0", "qwen3-8b", "mtp")


@pytest.mark.parametrize(
    ("version", "bites"), [("0.17.0", True), ("0.28.0", True), ("0.29.0", False)]
)
def test_prefix_caching_with_mtp(catalog, version, bites):
    found = active(catalog, version, "qwen3.6-27b", "mtp")
    assert ("hybrid-mtp-prefix-cache" in found) == bites


def test_architectures_are_compared_by_their_beginning(catalog):
    gemma = {"gemma4-batched-tokens"}
    for model in catalog.models.values():
        found = active(catalog, "0.27.1", model.id, None)
        assert (gemma <= set(found)) == model.id.startswith("gemma-4")


def test_nemotron_gets_aligned_state(catalog):
    flags = active(catalog, "0.27.1", "nemotron-3.5-lightning-30b-a3b", "dspark")
    assert flags["nemotron-h-state-cache"].flags == {"--mamba-cache-mode": "align"}
    assert "nemotron-h-state-cache" not in active(
        catalog, "0.14.0", "nemotron-3.5-lightning-30b-a3b", None
    )


def test_the_largest_minimum_counts(catalog):
    found = active(catalog, "0.27.1", "gemma-4-e2b", "dflash").values()
    assert minimum(found, "batched_tokens") == 2496
    assert minimum(found, "free_slots") == 1
    assert minimum(found, "never") == 0


def test_when_flags_wait_for_a_value(catalog):
    fault = active(catalog, "0.24.0", "qwen3-8b", "dflash")["dflash-fp8-kv"]
    assert triggered(fault, {"--kv-cache-dtype": "fp8_e4m3"}.get)
    assert not triggered(fault, {"--kv-cache-dtype": "bfloat16"}.get)
    assert not triggered(fault, {}.get)
    assert not triggered(fault, {"--kv-cache-dtype": None}.get)


def test_architectures_that_a_fault_spares(catalog):
    spared = catalog.models["qwen3-8b"]
    other = replace(spared, architecture="OlmoForCausalLM")
    vllm = catalog.engines["vllm"]
    for model, bites in ((spared, False), (other, True)):
        faults = active_faults(vllm, "0.19.0", family="thor", model=model, method="eagle3")
        assert any(fault.id.startswith("eagle3-targets") for fault in faults) == bites


@pytest.mark.parametrize(
    ("version", "model", "refused"),
    [
        ("0.16.0", "nemotron-nano-9b-v2", True),
        ("0.17.0", "nemotron-nano-9b-v2", False),
        ("0.19.0", "gemma-4-31b", True),
        ("0.19.1", "gemma-4-31b", False),
        ("0.14.0", "gpt-oss-120b", False),
        ("0.22.0", "gemma-4-31b", False),
    ],
)
def test_targets_of_eagle3(catalog, version, model, refused):
    found = active(catalog, version, model, "eagle3")
    assert any(name.startswith("eagle3-targets") for name in found) == refused
