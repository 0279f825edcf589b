"""Defaults that bite: known per version and board, and replaced by every plan."""

import pytest

from speccompose.engines.defaults import active_defaults, explain_defaults
from tests.plan.stage_cases import case

THOR, ORIN, SPARK = "agx-thor-t5000", "agx-orin-64gb", "dgx-spark"
DENSE, GGUF = "nvidia/Qwen3-8B-NVFP4", "Qwen/Qwen3-8B-GGUF:Q4_K_M"


def found(catalog, engine, version, family):
    rows = active_defaults(catalog.engines[engine], version, family)
    return {row.name: row.value for row in rows}


def test_thor_and_spark_get_a_data_centres_defaults(catalog):
    for version in ("0.14.0", "0.27.1", "0.32.0"):
        for family in ("thor", "dgx-spark"):
            values = found(catalog, "vllm", version, family)
            assert values["--max-num-seqs"] == "1024"
            assert values["--max-num-batched-tokens"] == "8192"
    assert found(catalog, "vllm", "0.33.0", "thor")["--max-num-seqs"] == "1024"
    assert "--max-num-seqs" not in found(catalog, "vllm", "0.33.0", "dgx-spark")
    assert "--max-num-seqs" not in found(catalog, "vllm", "0.27.1", "agx-orin")


@pytest.mark.parametrize(
    ("engine", "version", "name", "value"),
    [
        ("vllm", "0.19.1", "--gpu-memory-utilization", "0.9"),
        ("vllm", "0.20.0", "--gpu-memory-utilization", "0.92"),
        ("vllm", "0.33.0", "VLLM_ENGINE_READY_TIMEOUT_S", "600"),
        ("llama.cpp", "b8708", "--port", "8080"),
        ("llama.cpp", "b11434", "--port", "8080"),
        ("llama.cpp", "b11669", "--port", "9931"),
        ("llama.cpp", "b8708", "--cache-ram", "8192"),
        ("llama.cpp", "b11669", "--cache-ram", "8192"),
    ],
)
def test_values_by_version(catalog, engine, version, name, value):
    assert found(catalog, engine, version, "thor")[name] == value


@pytest.mark.parametrize(("device", "repo"), [(THOR, DENSE), (SPARK, DENSE), (THOR, GGUF)])
def test_every_plan_sets_what_would_bite(catalog, device, repo):
    one = case(catalog, device, repo)
    inputs = one.inputs()
    environment = {**one.environment(), "VLLM_ENGINE_READY_TIMEOUT_S": "900"}
    decisions = explain_defaults(inputs, one.command(), environment)
    told = {each.subject for each in decisions}
    rows = active_defaults(inputs.engine, inputs.version, inputs.device.family)
    same = {row.name for row in rows if row.value in one.command()}
    assert told | same == set(found(catalog, inputs.engine.id, inputs.version, one.device.family))
    assert all("default is" in each.rule and each.source for each in decisions)


def test_a_value_that_is_the_default_is_no_decision(catalog):
    one = case(catalog, THOR, GGUF)
    told = [each.subject for each in explain_defaults(one.inputs(), one.command(), {})]
    assert "--port" not in told
    assert told.count("--cache-ram") == 1
