"""vLLM's argument list, word by word, per version and board."""

import json

import pytest

from speccompose.engines import ENGINES
from tests.plan.stage_cases import OFF, case, replace, values_of

THOR = "agx-thor-t5000"
ORIN = "agx-orin-64gb"
HYBRID = "nvidia/Qwen3.6-27B-NVFP4"
DENSE = "nvidia/Qwen3-8B-NVFP4"


def test_upstream_0271_on_thor(catalog):
    one = case(catalog, THOR, HYBRID)
    kv = str(one.fit().kv_cache_mib * 1024 * 1024)
    assert one.command() == (
        "/models/target",
        "--served-model-name",
        HYBRID,
        "--host",
        "127.0.0.1",
        "--port",
        "8000",
        "--max-model-len",
        "8192",
        "--max-num-seqs",
        "8",
        "--max-num-batched-tokens",
        "2048",
        "--gpu-memory-utilization",
        "0.7",
        "--kv-cache-memory-bytes",
        kv,
        "--generation-config",
        "auto",
        "--reasoning-parser",
        "qwen3",
        "--enable-auto-tool-choice",
        "--tool-call-parser",
        "qwen3_coder",
        "--no-enable-prefix-caching",
        "--speculative-config",
        '{"method":"mtp","num_speculative_tokens":3}',
    )


def test_iot_019_on_orin(catalog):
    """P-09 on L4T 36."""
    repo = "RedHatAI/Qwen3-8B-quantized.w4a16"
    one = case(catalog, ORIN, repo, image="vllm-iot-r36", method="eagle3")
    words = one.command()
    assert words[0] == "/models/target"
    assert "serve" not in words
    assert values_of(words, "--kv-cache-dtype") == "bfloat16"
    assert json.loads(values_of(words, "--speculative-config")) == {
        "method": "eagle3",
        "model": "/models/draft",
        "num_speculative_tokens": 3,
        "draft_tensor_parallel_size": 1,
    }


def test_iot_014_on_orin(catalog):
    repo = "RedHatAI/Qwen3-8B-quantized.w4a16"
    one = case(catalog, ORIN, repo, image="vllm-iot-r36-014", method="ngram")
    words = one.command()
    assert values_of(words, "--kv-cache-dtype") == "bfloat16"
    assert json.loads(values_of(words, "--speculative-config"))["method"] == "ngram"


def test_mtp_up_to_019_asks_for_flashinfer(catalog):
    repo = "Qwen3.5-122B-A10B-hybrid-int4-fp8"
    old = case(catalog, "dgx-spark", repo, version="0.19.1").command()
    new = case(catalog, "dgx-spark", repo, version="0.20.0").command()
    assert values_of(old, "--attention-backend") == "FLASHINFER"
    assert "--attention-backend" not in new


@pytest.mark.parametrize("flag", ["--max-model-len", "--max-num-seqs", "--max-num-batched-tokens"])
def test_sizes_are_always_rendered(catalog, flag):
    """A Thor would otherwise get the data centre's 1024 sequences and 8192 tokens."""
    for device in (THOR, ORIN, "dgx-spark"):
        assert flag in case(catalog, device, HYBRID).command(OFF)


def test_the_model_is_served_under_its_repo_id_from_a_neutral_folder(catalog):
    words = case(catalog, THOR, DENSE, method="dflash").command()
    assert values_of(words, "--served-model-name") == DENSE
    for word in words[1:]:
        assert "dflash" not in word or word.startswith("{")
    assert words[0] == "/models/target"


def test_sampling_and_template_of_the_model(catalog):
    one = case(catalog, THOR, DENSE)
    words = one.command()
    sampling = json.loads(values_of(words, "--override-generation-config"))
    assert sampling == {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0}
    assert isinstance(sampling["top_k"], int)
    serving = replace(one.model.serving, chat_template_kwargs={"enable_thinking": False})
    words = one.with_model(serving=serving).command()
    assert values_of(words, "--default-chat-template-kwargs") == '{"enable_thinking":false}'


def test_lightning_carries_its_needs_and_its_kv_type(catalog):
    repo = "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4"
    thor = case(catalog, THOR, repo).command()
    orin = case(catalog, ORIN, repo).command()
    assert "--trust-remote-code" in thor
    assert values_of(thor, "--mamba-cache-mode") == "align"
    assert values_of(orin, "--kv-cache-dtype") == "bfloat16"
    config = json.loads(values_of(orin, "--speculative-config"))
    assert config["kv_cache_dtype"] == "bfloat16"
    assert (config["method"], config["num_speculative_tokens"]) == ("dspark", 4)


def test_a_model_cannot_take_what_the_plan_owns(catalog):
    one = case(catalog, THOR, DENSE)
    flags = {"--gpu-memory-utilization": "0.99", "--max-model-len": "999999"}
    greedy = one.with_model(serving=replace(one.model.serving, vllm_flags=flags))
    assert values_of(greedy.command(), "--gpu-memory-utilization") == "0.7"
    assert values_of(greedy.command(), "--max-model-len") == "8192"


def test_the_key_comes_from_a_file(catalog):
    words = case(catalog, THOR, DENSE).command(api_key_path="/secrets")
    assert values_of(words, "--config") == "/secrets/vllm.yaml"
    assert "--api-key" not in words


def test_environment_is_offline_and_carries_faults(catalog):
    plain = case(catalog, THOR, HYBRID).environment()
    assert plain["HF_HUB_OFFLINE"] == plain["TRANSFORMERS_OFFLINE"] == "1"
    assert plain["VLLM_NO_USAGE_STATS"] == "1"
    assert "VLLM_GDN_DECODE_KERNEL" not in plain
    newer = case(catalog, THOR, HYBRID, version="0.29.0").environment()
    assert newer["VLLM_GDN_DECODE_KERNEL"] == "triton"
    for values in (plain, newer):
        assert "VLLM_ATTENTION_BACKEND" not in values
        assert "NVIDIA_DISABLE_REQUIRE" not in values
        assert all(values.values())


def test_health_asks_the_port_of_the_command(catalog):
    one = case(catalog, THOR, DENSE)
    inputs = one.inputs(port=8765)
    assert "8765" in ENGINES["vllm"].health_test(inputs)[-1]
    assert values_of(ENGINES["vllm"].command(inputs), "--port") == "8765"


def test_the_baseline_differs_in_speculation_only(catalog):
    one = case(catalog, THOR, DENSE)
    inputs = one.inputs()
    off = ENGINES["vllm"].command(replace(inputs, speculation=OFF))
    on = ENGINES["vllm"].command(inputs)
    at = on.index("--speculative-config")
    assert off == on[:at] + on[at + 2 :]
