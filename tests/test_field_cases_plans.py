"""Field cases about pairs, depth, memory and Compose (P, S, M, C), end to end on the plan."""

import json

import pytest

from speccompose.errors import SpecComposeError
from speccompose.pipeline import render_plan
from speccompose.plan.reread import read_service
from tests.field_boards import (
    R36,
    UPSTREAM,
    after,
    all_text,
    codes,
    field,
    named,
    recorded,
)

__all__ = ["field"]

THOR, SPARK = named("agx-thor-t5000"), named("dgx-spark")
ORIN_R36, ORIN_R39 = named("agx-orin-64gb", "36.4.3"), named("agx-orin-64gb", "39.2.1")
NX, NANO = named("orin-nx-16gb", "36.4.7"), named("orin-nano-8gb", "36.4.7")
EVERY_BOARD = [THOR, SPARK, ORIN_R36, ORIN_R39]
GGUF = "unsloth/Qwen3.8-27B-GGUF:Q4_K_M"


def board_name(value: object) -> str:
    return f"{value.device}-{value.l4t}" if hasattr(value, "device") else str(value)


def speculation(plan) -> dict:
    return json.loads(after(plan.command, "--speculative-config"))


@pytest.mark.parametrize(
    ("board", "depth", "image"),
    [(ORIN_R36, 3, R36), (ORIN_R39, 3, UPSTREAM), (THOR, 5, UPSTREAM)],
    ids=board_name,
)
def test_p_09_qwen3_8b_with_eagle3(field, board, depth, image):
    plan = field.plan(board, method="eagle3")
    plain = field.plan(board, method="none", engine="vllm")
    assert (plan.choice.image.id, plan.speculation.depth) == (image, depth)
    assert speculation(plan)["num_speculative_tokens"] == depth
    shares = (plain.memory.gpu_memory_utilization, plan.memory.gpu_memory_utilization)
    assert shares[0] - shares[1] == pytest.approx(0.05)


@pytest.mark.parametrize("board", [NX, NANO], ids=board_name)
def test_p_09_not_on_small_boards(field, board):
    assert field.refused(board, method="eagle3").status in (6, 7)
    assert field.refused(board, "gemma-4-e2b", method="eagle3").status == 7


@pytest.mark.parametrize("board", [THOR, SPARK, ORIN_R36, ORIN_R39, NX], ids=board_name)
def test_p_02_flags_of_the_pinned_llama_cpp(field, board):
    method = "ngram" if board in (NX, ORIN_R36) else "draft_model"
    plan = field.plan(board, "smollm2-135m", method=method)
    words = set(plan.command)
    assert not words & {"--draft-model", "--draft", "--draft-min"}
    new = plan.choice.build.version != "b8708"
    assert ("--spec-draft-n-max" in words) == (new and method == "draft_model")
    assert ("--draft-max" in words) == (not new)
    assert ("--model-draft" in words) == (method == "draft_model")


def test_p_02_mtp_inside_the_file_has_no_draft(field):
    plan = field.plan(THOR, GGUF, method="mtp")
    assert after(plan.command, "--spec-type") == "draft-mtp"
    assert after(plan.command, "--spec-draft-n-max") == "3"
    assert not {"--model-draft", "-md", "--draft-model"} & set(plan.command)


@pytest.mark.parametrize("tag", ["v0.20.0", "v0.26.0", "v0.27.1", "v0.31.0"])
@pytest.mark.parametrize("concurrency", [1, 8, 64])
@pytest.mark.parametrize(
    "model", ["qwen3.5-122b-a10b", "qwen3-8b", "nemotron-3.5-lightning-30b-a3b"]
)
def test_s_02_batched_tokens_hold_every_slot(field, tag, concurrency, model):
    image = f"vllm/vllm-openai:{tag}"
    options = {"method": "dflash", "image": image, "concurrency": concurrency}
    try:
        plan = field.plan(SPARK, model, **options)
    except SpecComposeError:
        assert field.refused(SPARK, model, **options).status in (5, 6, 7)
        return
    sequences = int(after(plan.command, "--max-num-seqs"))
    batched = int(after(plan.command, "--max-num-batched-tokens"))
    assert sequences >= concurrency
    assert batched > plan.speculation.depth * sequences
    assert speculation(plan)["num_speculative_tokens"] <= 15


@pytest.mark.parametrize(
    ("model", "block"),
    [("qwen3-4b", 16), ("qwen3-8b", 8), ("qwen3.5-122b-a10b", 16), ("qwen3.8-27b", 8)],
)
def test_s_03_dflash_depth_follows_the_block(field, model, block):
    board = SPARK if model == "qwen3.5-122b-a10b" else THOR
    plan = field.plan(board, model, method="dflash", engine="vllm")
    assert plan.speculation.depth == min(15, block - 1)
    deeper = field.plan(board, model, method="dflash", engine="vllm", depth=block)
    assert deeper.speculation.depth == block
    assert {item.severity for item in deeper.speculation.findings} & {"warning"}


@pytest.mark.parametrize(
    ("board", "eagle3"), [(THOR, 5), (ORIN_R36, 3), (ORIN_R39, 3), (SPARK, 1)], ids=board_name
)
def test_s_04_eagle3_depth_is_the_boards(field, board, eagle3):
    assert field.plan(board, method="eagle3").speculation.depth == eagle3


def test_s_04_draft_model_starts_at_4(field):
    for board in (THOR, SPARK, ORIN_R39):
        assert field.plan(board, "smollm2-135m", method="draft_model").speculation.depth == 4


STACKS = [
    (THOR, "qwen3-8b", {"method": "dflash"}),
    (THOR, GGUF, {"method": "mtp"}),
    (ORIN_R36, "qwen3-8b", {"method": "eagle3"}),
    (ORIN_R39, "qwen3.6-27b", {}),
    (SPARK, "qwen3.5-122b-a10b", {"method": "mtp"}),
    (NX, "qwen3-8b", {}),
    (NANO, "gemma-4-e2b", {}),
]


@pytest.fixture(params=STACKS, ids=lambda case: f"{board_name(case[0])}-{case[1].split('/')[-1]}")
def stack(request, field):
    board, model, options = request.param
    plan = field.plan(board, model, **options)
    return plan, field.service(plan)


def test_c_01_one_word_per_item_and_no_serve(stack):
    _, service = stack
    assert isinstance(service["command"], list)
    assert "serve" not in service["command"]
    assert not [item for item in service["command"] if item.startswith("-") and " " in item]
    assert all(isinstance(item, str) for item in service["command"])


def test_c_02_json_is_one_item_that_reads_back(stack):
    plan, service = stack
    flags = [item for item in service["command"] if item.startswith("{")]
    planned = [item for item in plan.command if item.startswith("{")]
    assert [json.loads(item) for item in flags] == [json.loads(item) for item in planned]
    assert not {"privileged", "pid", "ipc"} & service.keys()


def test_c_03_no_shell_stands_between_plan_and_container(stack, field):
    plan, service = stack
    text = render_plan(plan, field.catalog).file("compose.yaml").content.decode()
    read = read_service(text)
    assert read.command == plan.command
    assert not {"sh", "bash", "-c"} & {*service["entrypoint"], service["command"][0]}
    if "--speculative-config" in read.command:
        assert json.loads(after(read.command, "--speculative-config"))["num_speculative_tokens"]


def test_c_04_nothing_of_a_bare_run_line_is_missing(field):
    plan = field.plan(ORIN_R36, "qwen3-8b")
    service = field.service(plan)
    assert [*service["entrypoint"], service["command"][0]] == ["vllm", "serve", "/models/target"]
    assert service["runtime"] == "nvidia"
    assert {mount["target"] for mount in service["volumes"]} >= {"/models/target"}
    assert "@sha256:" in service["image"]
    assert service["healthcheck"]["test"]
    assert "VLLM_ALLOW_LONG_MAX_MODEL_LEN" not in service["environment"]
    error = field.refused(ORIN_R36, "qwen3-8b", context_tokens=131076)
    assert error.status == 2


def test_c_04_the_context_is_bounded_by_memory_too(field):
    """131072 tokens are within the model, and more than a board of 32 GB holds."""
    board = named("agx-orin-32gb", "36.4.3")
    asked = {"model": "llama-3.1-8b", "engine": "vllm", "context_tokens": 131072}
    assert field.refused(board, **asked).status == 6
    assert after(field.plan(ORIN_R36, **asked).command, "--max-model-len") == "131072"


def test_c_05_host_network_publishes_nothing(stack):
    plan, service = stack
    assert ("network_mode" in service) != ("ports" in service)
    if "network_mode" in service:
        assert after(plan.command, "--port") == str(plan.port)
        assert after(plan.command, "--host") == plan.bind == "127.0.0.1"


def test_c_06_one_way_to_the_gpu(stack):
    _, service = stack
    ways = [key for key in ("runtime", "gpus", "deploy", "devices") if key in service]
    assert ways == ["runtime"]


def test_c_07_no_bare_environment_entry(stack):
    plan, service = stack
    environment = service.get("environment", {})
    assert isinstance(environment, dict)
    assert all(isinstance(value, str) and value for value in environment.values())
    assert not [item for item in plan.environment if item.startswith("LLAMA_ARG_")]


def test_c_07_a_dollar_is_doubled(field):
    plan = field.plan(THOR, "qwen3-8b", engine="vllm", set_flags=(("--seed", "$HOME"),))
    assert "$$HOME" in field.service(plan)["command"]
    assert "$HOME" in plan.command


def test_c_08_the_reference_plus_pin_health_and_bounded_restart(field):
    plan = field.plan(
        ORIN_R36, "qwen3-4b", context_tokens=4096, gpu_memory_utilization=0.5, method="none"
    )
    service = field.service(plan)
    assert plan.choice.image.id == R36
    assert (service["network_mode"], service["runtime"]) == ("host", "nvidia")
    assert after(plan.command, "--gpu-memory-utilization") == "0.5"
    assert after(plan.command, "--max-model-len") == "4096"
    assert after(plan.command, "--max-num-batched-tokens") == "2048"
    (weights,) = [each for each in service["volumes"] if each["target"] == "/models/target"]
    assert (weights["type"], weights["read_only"]) == ("bind", True)
    assert service["command"][0] == "/models/target"
    assert int(service["shm_size"].removesuffix("m")) >= 64
    assert "@sha256:" in service["image"]
    assert service["restart"] == "on-failure:3"
    assert int(service["healthcheck"]["start_period"].removesuffix("s")) >= 600


def test_c_09_an_init_and_a_grace_period(stack):
    _, service = stack
    assert service["init"] is True
    assert service["stop_grace_period"]


def test_m_01_vllm_on_8_gb_is_small_and_eager(field):
    plan = field.plan(named("orin-nano-8gb"), "qwen3.5-0.8b", engine="vllm")
    assert plan.memory.gpu_memory_utilization <= 0.55
    assert int(after(plan.command, "--max-num-seqs")) <= 2
    assert int(after(plan.command, "--max-model-len")) <= 4096
    assert "--enforce-eager" in plan.command
    assert plan.speculation.method is None
    assert plan.memory.headroom_mib >= 2048
    assert field.refused(named("orin-nano-8gb"), "qwen3-4b", engine="vllm").status == 6


def test_m_02_gguf_on_nx_goes_to_llama_cpp(field):
    plan = field.plan(recorded("m-02"), "Qwen/Qwen3-8B-GGUF", context_tokens=512)
    assert plan.choice.image.engine == "llama.cpp"
    assert plan.memory.headroom_mib >= 2048


def test_m_03_page_cache_is_not_used_memory(field):
    plan = field.plan(recorded("m-03"))
    assert "page_cache" in codes(plan)
    assert plan.memory.available_mib == 107520


def test_m_04_a_busy_spark(field):
    plan = field.plan(recorded("m-04"))
    share = plan.memory.gpu_memory_utilization
    assert share * plan.memory.total_mib <= plan.memory.available_mib - 2048
    error = field.refused(recorded("m-04"), gpu_memory_utilization=0.5)
    assert error.status == 6
    assert "57600" in all_text(error)


def test_m_05_batched_tokens_do_not_follow_the_context(field):
    batched = {
        context: int(
            after(
                field.plan(
                    SPARK, "qwen3.5-122b-a10b", method="dflash", context_tokens=context
                ).command,
                "--max-num-batched-tokens",
            )
        )
        for context in (8192, 65536)
    }
    assert len(set(batched.values())) == 1
    assert max(batched.values()) <= 32768
    plan = field.plan(SPARK, "qwen3-8b", method="dflash")
    assert plan.memory.gpu_memory_utilization == 0.75
    assert plan.memory.draft_mib > 0


@pytest.mark.parametrize("board", EVERY_BOARD, ids=board_name)
def test_m_06_five_hundredths_once(field, board):
    by_hand = field.plan(board, method="eagle3", gpu_memory_utilization=0.6)
    assert by_hand.memory.gpu_memory_utilization == pytest.approx(0.55)
    forced = field.plan(board, method="eagle3", gpu_memory_utilization=0.6, force=True)
    assert forced.memory.gpu_memory_utilization == pytest.approx(0.6)
    off = field.plan(board, method="none", gpu_memory_utilization=0.6)
    assert off.memory.gpu_memory_utilization == pytest.approx(0.6)
    assert (off.memory.draft_mib, by_hand.memory.draft_mib > 0) == (0, True)


@pytest.mark.parametrize("board", [NX, NANO], ids=board_name)
@pytest.mark.parametrize("method", ["eagle3", "draft_model", "dflash"])
def test_m_07_no_separate_draft_on_small_boards(field, board, method):
    error = field.refused(board, "gemma-4-e2b", method=method)
    assert (error.status, error.code) == (7, "no_drafts_on_board")
    text = all_text(error)
    assert board.device.rsplit("-", 1)[0] in text
    assert "memory" in text
    assert "MTP" in error.hint


def test_m_08_the_allocator_of_36_4_7_is_told(field):
    plan = field.plan(recorded("m-08"))
    assert "nvmap_36_4_7" in codes(plan)
    finding = next(item for item in plan.findings if item.code == "nvmap_36_4_7")
    assert "utilization" not in finding.message + (finding.hint or "")
    assert "VMM" not in " ".join(plan.command)
    assert "nvmap_36_4_7" not in codes(field.plan(recorded("d-13-36.4.0")))
