"""The extracted tables against what is known of the versions from elsewhere, row by row.

Each row that a plan can decide is refused, or rendered as the version wants it: removed flags of
tutorials, methods and keys by release, values that came or went, and llama.cpp's renamed flags.
"""

import json

import pytest

from speccompose.engines.flags import check_flags, is_known
from speccompose.engines.names import knows_name
from speccompose.errors import ImageError, SpeculationError
from speccompose.vocab.versions import version_key
from tests.plan.stage_cases import case, values_of

THOR, ORIN = "agx-thor-t5000", "agx-orin-64gb"
DENSE, GGUF = "nvidia/Qwen3-8B-NVFP4", "Qwen/Qwen3-8B-GGUF:Q4_K_M"
BEFORE = {
    "0.16": "0.15.1", "0.17": "0.16.0", "0.18": "0.17.1", "0.19": "0.18.1", "0.20": "0.19.1",
    "0.21": "0.20.2", "0.22": "0.21.0", "0.24": "0.23.0", "0.25": "0.24.0", "0.26": "0.25.1",
    "0.27": "0.26.0", "0.28": "0.27.1", "0.29": "0.28.0", "0.30": "0.29.0", "0.31": "0.30.0",
    "0.32": "0.31.0", "0.33": "0.32.0",
}  # fmt: skip


@pytest.fixture
def vllm(catalog):
    return catalog.engines["vllm"]


@pytest.fixture
def llama(catalog):
    return catalog.engines["llama.cpp"]


METHODS = {
    "0.17": ["extract_hidden_states", "nemotron_h_mtp", "qwen3_5_mtp"],
    "0.18": ["ngram_gpu"],
    "0.20": ["dflash", "exaone4_5_mtp", "hy_v3_mtp"],
    "0.21": ["mimo_v2_mtp", "gemma4_mtp"],
    "0.22": ["custom_class"],
    "0.24": ["minimax_m3_mtp"],
    "0.25": ["dspark", "bailing_hybrid_mtp"],
    "0.26": ["inkling_mtp"],
    "0.27": ["kimi_k3_mtp"],
    "0.28": ["dots3_note_mtp", "bailing_hybrid_v3_mtp"],
    "0.29": ["qwen4_exp_mtp", "hy_v4_mtp"],
    "0.30": ["glm5_next_mtp"],
    "0.33": ["step5_mtp"],
}
OLD_METHODS = ["ngram", "draft_model", "suffix", "eagle", "eagle3", "mtp", "deepseek_mtp"]
FIELDS = {
    "0.17": ["use_local_argmax_reduction", "draft_load_config"],
    "0.18": ["rejection_sample_method"],
    "0.19": ["moe_backend"],
    "0.20": ["synthetic_acceptance_rates", "synthetic_acceptance_length"],
    "0.21": ["attention_backend", "draft_sample_method"],
    "0.24": ["num_speculative_tokens_per_batch_size"],
    "0.25": ["use_heterogeneous_vocab"],
    "0.26": ["kv_cache_dtype"],
    "0.28": ["enable_adaptive_verification", "dspark_draft_topk"],
    "0.29": ["index_share_for_mtp_iteration"],
    "0.30": ["disable_eagle_block_drop"],
    "0.33": ["disable_lookahead_block_hashes", "draft_lm_head_quantization", "fly_window_size"],
}


@pytest.mark.parametrize(
    ("version", "method"), [(each, name) for each, names in METHODS.items() for name in names]
)
def test_methods_by_release(vllm, version, method):
    fields = vllm.speculation_fields
    assert knows_name(fields, version, "method", method)
    assert not knows_name(fields, BEFORE[version], "method", method)


def test_methods_of_every_release_and_those_that_went(vllm):
    for version in ("0.16.0", "0.19.1", "0.27.1", "0.33.0"):
        for method in OLD_METHODS:
            assert knows_name(vllm.speculation_fields, version, "method", method), version
    for method in ("medusa", "mlp_speculator"):
        assert knows_name(vllm.speculation_fields, "0.32.0", "method", method)
        assert not knows_name(vllm.speculation_fields, "0.33.0", "method", method)


@pytest.mark.parametrize(
    ("version", "field"), [(each, name) for each, names in FIELDS.items() for name in names]
)
def test_speculation_keys_by_release(vllm, version, field):
    assert knows_name(vllm.speculation_fields, version, field)
    assert not knows_name(vllm.speculation_fields, BEFORE[version], field)


@pytest.mark.parametrize(
    ("field", "last", "first_without"),
    [
        ("disable_by_batch_size", "0.16.0", "0.17.0"),
        ("speculative_token_tree", "0.20.2", "0.21.0"),
        ("synthetic_acceptance_rate", "0.19.1", "0.20.0"),
    ],
)
def test_speculation_keys_that_went(vllm, field, last, first_without):
    assert knows_name(vllm.speculation_fields, last, field)
    assert not knows_name(vllm.speculation_fields, first_without, field)


def test_the_key_that_is_there_to_be_refused(vllm):
    for version in ("0.14.0", "0.33.0"):
        assert not knows_name(vllm.speculation_fields, version, "tensor_parallel_size")
        assert knows_name(vllm.speculation_fields, version, "draft_tensor_parallel_size")


@pytest.mark.parametrize(
    ("flag", "value", "since"),
    [
        ("-sc", "{}", "0.19"),
        ("--spec-method", "mtp", "0.22"),
        ("--device-memory-utilization", "0.7", "0.31"),
        ("--max-num-active-seqs", "8", "0.31"),
        ("--per-request-spec-decode-metrics", "summary", "0.29"),
        ("--performance-mode", "balanced", "0.17"),
        ("--moe-backend", "triton", "0.17"),
        ("--linear-backend", "auto", "0.22"),
        ("--max-num-queued-reqs", "8", "0.29"),
        ("--custom-histogram-buckets", "x", "0.32"),
        ("--load-format", "instanttensor", "0.18"),
        ("--load-format", "modelexpress", "0.22"),
        ("--load-format", "ipc_cache", "0.30"),
        ("--kv-cache-dtype", "float16", "0.18"),
        ("--kv-cache-dtype", "nvfp4", "0.20"),
        ("--kv-cache-dtype", "int8_per_token_head", "0.20"),
        ("--kv-cache-dtype", "int4_per_token_head", "0.25"),
        ("--kv-cache-dtype", "nvfp4_4over6", "0.28"),
        ("--kv-cache-dtype", "nvfp4_ds_mla", "0.30"),
        ("--kv-cache-dtype", "ultraquant_4bit", "0.32"),
        ("--enable-mamba-cache-stochastic-rounding", None, "0.20"),
        ("--mamba-cache-philox-rounds", "4", "0.20"),
    ],
)
def test_vllm_flags_and_values_by_release(vllm, flag, value, since):
    assert is_known(vllm, since, flag, value)
    assert not is_known(vllm, BEFORE[since], flag, value)


@pytest.mark.parametrize(
    ("words", "first_without"),
    [
        (["--disable-log-requests"], "0.17"),
        (["--logits-processor-pattern", "x"], "0.17"),
        (["--swap-space", "4"], "0.18"),
        (["--max-num-partial-prefills", "1"], "0.27"),
        (["--max-long-partial-prefills", "1"], "0.27"),
        (["--calculate-kv-scales"], "0.28"),
        (["--override-attention-dtype", "x"], "0.28"),
        (["--load-format", "gguf"], "0.24"),
        (["--load-format", "bitsandbytes"], "0.28"),
    ],
)
def test_what_tutorials_still_use_is_refused_with_the_release_that_ended_it(
    vllm, words, first_without
):
    check_flags(vllm, BEFORE[first_without], words)
    with pytest.raises(ImageError) as caught:
        check_flags(vllm, first_without, words)
    assert f"is gone from vLLM {first_without} on" in caught.value.brief


@pytest.mark.parametrize(
    "words",
    [
        ["--kv-cache-dtype", "int3"],
        ["--attention-backend", "FLASH"],
        ["--enforce-eager", "true"],
        ["--reasoning-parser", "qwen33"],
        ["--gdn-prefill-backend", "cuda"],
    ],
)
def test_values_that_no_release_takes(vllm, words):
    with pytest.raises(ImageError):
        check_flags(vllm, "0.27.1", words)


def test_backends_in_any_case(vllm):
    check_flags(vllm, "0.27.1", ["--attention-backend", "flash_attn", "--moe-backend", "TRITON"])


@pytest.mark.parametrize(
    ("build", "words", "says"),
    [
        ("b10373", ["--draft-max", "8"], "--spec-draft-n-max"),
        ("b10373", ["--draft", "8"], "--spec-draft-n-max"),
        ("b11669", ["--draft-min", "1"], "--spec-draft-n-min"),
        ("b11669", ["--spec-ngram-size-n", "4"], "--spec-ngram-simple-size-n"),
        ("b11669", ["--no-mmap"], "--load-mode"),
        ("b11669", ["--mlock"], "--load-mode"),
        ("b10373", ["-cd", "4096"], "b9113"),
        ("b11669", ["--spec-type", "mtp"], "draft-mtp"),
        ("b11669", ["--spec-type", "eagle3"], "b9246"),
        ("b11669", ["--spec-type", "draft"], "b9246"),
        ("b11669", ["--spec-draft-conf-min", "1"], "--spec-draft-"),
        ("b11669", ["-fa", "--port", "1"], "does not take -fa --port"),
        ("b11669", ["-ngl", "max"], "does not take -ngl max"),
        ("b11669", ["-ctk", "q3_0"], "q4_0"),
        ("b10373", ["--spec-draft-sampling", "greedy"], "b11368"),
        ("b10524", ["--spec-synth-len", "2"], "b10666"),
        ("b10524", ["--moe-cache-mib", "1"], "b11669"),
        ("b8708", ["--spec-type", "draft-simple"], "b9246"),
        ("b8708", ["--load-mode", "none"], "b10108"),
    ],
)
def test_llama_cpp_refusals_name_what_to_use_or_when(llama, build, words, says):
    with pytest.raises(ImageError) as caught:
        check_flags(llama, build, words)
    error = caught.value
    assert says in " ".join([error.brief, *error.details, error.hint or ""])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            "b8708",
            ["--no-mmap", "--draft-max", "8", "-md", "x", "-ngld", "all", "--draft-min", "1"],
        ),
        ("b10373", ["--mlock", "--spec-type", "draft-dflash", "--spec-draft-n-max", "7"]),
        ("b10524", ["--load-mode", "mmap+mlock", "--spec-type", "draft-mtp,ngram-mod"]),
        ("b11669", ["--load-mode", "auto", "--spec-synth-len", "2.5", "-fa", "1", "-ngl", "99"]),
        ("b11669", ["--spec-draft-p-min", "0.5", "--no-webui", "--kv-unified", "-ctv", "q8_0"]),
    ],
)
def test_llama_cpp_lists_that_builds_take(llama, build, words):
    check_flags(llama, build, words)


def test_floors_of_methods_are_not_older_than_their_names(catalog):
    for method in catalog.methods.values():
        vllm, llama = (method.engines.get(name) for name in ("vllm", "llama.cpp"))
        if vllm is not None and version_key(vllm.since) >= version_key("0.14"):
            fields = catalog.engines["vllm"].speculation_fields
            assert knows_name(fields, vllm.since, "method", vllm.argument), method.id
        if llama is not None and method.id != "draft_model":
            known = is_known(
                catalog.engines["llama.cpp"], llama.since, "--spec-type", llama.argument
            )
            assert known, method.id


def test_the_quantised_v_cache_keeps_flash_attention(catalog):
    one = case(catalog, THOR, GGUF, set_flags=(("cache-type-v", "q8_0"),))
    assert values_of(one.command(), "-fa") == "on"
    off = one.but(set_flags=(("cache-type-v", "q8_0"), ("fa", "off")))
    with pytest.raises(ImageError) as caught:
        off.command()
    assert "quantised V cache" in caught.value.details[0]
    assert values_of(off.but(force=True).command(), "-fa") == "off"
    alone = one.but(set_flags=(("fa", "off"),))
    assert values_of(alone.command(), "-fa") == "off"


def test_async_scheduling_does_not_go_with_ngram(catalog):
    asked = {"set_flags": (("async-scheduling", ""),)}
    with pytest.raises(ImageError) as caught:
        case(catalog, THOR, DENSE, method="ngram", **asked).command()
    assert "--async-scheduling" in caught.value.brief
    assert "--async-scheduling" in case(catalog, THOR, DENSE, method="eagle3", **asked).command()


@pytest.mark.parametrize(("version", "refused"), [("0.20.2", True), ("0.22.0", False)])
def test_eagle3_had_a_list_of_targets(catalog, version, refused):
    """DeepSeek-like stand-in: an architecture that was never on the list."""
    one = case(catalog, THOR, DENSE, version=version, method="eagle3")
    assert one.propose()
    other = one.with_model(architecture="OlmoForCausalLM")
    if not refused:
        assert other.propose()
        return
    with pytest.raises(SpeculationError) as caught:
        other.propose()
    assert "list" in caught.value.brief


def test_every_method_of_the_newest_release_renders_keys_that_it_knows(catalog):
    for method in ("dflash", "eagle3", "ngram"):
        for version in ("0.20.2", "0.27.1", "0.33.0"):
            words = case(catalog, THOR, DENSE, version=version, method=method).command()
            told = json.loads(values_of(words, "--speculative-config"))
            for name, value in told.items():
                known = catalog.engines["vllm"].speculation_fields
                assert knows_name(known, version, name, str(value)), (method, version, name)
