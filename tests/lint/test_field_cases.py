"""Each field case's Must that speaks of a file somebody wrote, named after the case.

The files are in tests/lint/data (their lines are held there); what stands here is the Must itself.
"""

import pytest

from tests.lint.linting import DATA, lint, llama, service, upstream

__all__ = ["lint"]

R36 = "ghcr.io/nvidia-ai-iot/vllm:0.19.0-r36.4.tegra-aarch64-cu126-22.04"


def of(name: str) -> str:
    return (DATA / f"{name}.yaml").read_text()


def test_c_01_both_mistakes_of_the_command(lint):
    assert lint.errors(of("c-01-serve-again")) == {"entrypoint_repeated", "glued_argument"}


def test_c_02_quotes_privileges_and_a_second_start(lint):
    wanted = {"shell_after_entrypoint", "json_broken", "privileged", "host_pid"}
    assert lint.errors(of("c-02-quotes-in-quotes")) == wanted


def test_c_03_json_that_was_escaped_too_often(lint):
    found = [each for each in lint(of("c-03-escaped-twice")) if each.code == "json_broken"]
    assert "escaped once too often" in found[0].message
    assert len(found) == 6


def test_c_04_all_five_faults(lint):
    found = lint(of("c-04-bare-image"), "agx-orin-64gb", "36.4.7")
    codes = {each.code for each in found}
    assert codes >= {
        "server_not_started",
        "glued_argument",
        "no_gpu_mechanism",
        "no_model_cache",
        "long_context_allowed",
        "floating_tag",
        "no_healthcheck",
    }


def test_c_05_ports_beside_the_hosts_network(lint):
    assert lint.errors(of("c-05-host-and-ports")) == {"ports_with_host_network"}


def test_c_06_exactly_one_way_to_the_gpu(lint):
    assert lint.errors(of("c-06-two-ways-to-the-gpu")) >= {"two_gpu_mechanisms"}
    assert "two_gpu_mechanisms" not in lint.errors(upstream("a/b"))
    assert lint.errors(service("vllm/vllm-openai:v0.27.1", "command: [a/b]")) == {
        "no_gpu_mechanism"
    }


def test_c_07_bare_and_empty_entries(lint):
    found = [each for each in lint(of("c-07-empty-environment")) if each.code == "empty_variable"]
    assert [each.severity.value for each in found] == ["error", "error", "warning"]


@pytest.mark.parametrize("board", [(), ("agx-orin-64gb", "36.4.3"), ("agx-orin-64gb", "36.4.7")])
def test_c_08_the_good_reference_has_warnings_and_no_error(lint, board):
    text = of("c-08-reference")
    assert lint.errors(text, *board) == set()
    assert lint.codes(text, *board) >= {"no_healthcheck", "no_restart", "floating_tag"}


def test_c_09_no_init(lint):
    assert "no_init" in lint.codes(upstream("a/b"))
    assert "no_init" not in lint.codes(upstream("a/b", more=("init: true",)))


@pytest.mark.parametrize(
    "image",
    ["vllm/vllm-openai:latest", "vllm/vllm-openai:v0.27.1", "vllm/vllm-openai:cosmos3"],
)
def test_i_01_no_upstream_image_below_r39(lint, image):
    text = service(image, "runtime: nvidia", "command: [a/b]")
    assert "image_refused" in lint.errors(text, "agx-orin-64gb", "36.4.3")
    assert "image_refused" not in lint.errors(text, "agx-orin-64gb", "39.2.1")


@pytest.mark.parametrize(
    "tag", ["0.19.0-r36.4.tegra-aarch64-cu126-22.04", "latest-jetson-orin", "0.11.0-igpu-cu129"]
)
def test_i_02_no_orin_image_on_thor(lint, tag):
    image = f"ghcr.io/nvidia-ai-iot/vllm:{tag}"
    text = service(image, "runtime: nvidia", "command: [vllm, serve, a/b]")
    assert "image_refused" in lint.errors(text, "agx-thor-t5000")
    assert "image_refused" not in lint.errors(text)


@pytest.mark.parametrize(
    ("tag", "refused"),
    [("v0.19.0-cu130", True), ("v0.9.2", True), ("v0.20.0", False), ("v0.33.0", False)],
)
def test_i_03_the_floor_counts_as_numbers(lint, tag, refused):
    text = service(f"vllm/vllm-openai:{tag}", "runtime: nvidia", "command: [a/b]")
    assert ("image_refused" in lint.errors(text, "agx-thor-t5000")) is refused


@pytest.mark.parametrize("command", ["vllm serve a/b", "serve a/b"])
def test_i_04_the_entrypoint_is_not_said_again(lint, command):
    image = "vllm/vllm-openai:v0.27.1"
    twice = service(image, "runtime: nvidia", f"command: {command}")
    assert lint.errors(twice) == {"entrypoint_repeated"}
    own = service(R36, "runtime: nvidia", "command: vllm serve a/b")
    assert lint.errors(own) == set()
    reset = service(image, "runtime: nvidia", "entrypoint: []", "command: vllm serve a/b")
    assert lint.errors(reset) == set()


@pytest.mark.parametrize(
    ("image", "floats"),
    [
        ("ghcr.io/nvidia-ai-iot/vllm:latest-jetson-thor", True),
        ("ghcr.io/nvidia-ai-iot/vllm:gemma4-jetson-orin", True),
        ("vllm/vllm-openai", True),
        ("vllm/vllm-openai:nightly", True),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda", True),
        (R36, False),
        ("vllm/vllm-openai:v0.27.1", False),
        (f"vllm/vllm-openai:latest@sha256:{0:064x}", False),
    ],
)
def test_i_05_floating_tags(lint, image, floats):
    text = service(image, "runtime: nvidia", "command: vllm serve a/b")
    assert ("floating_tag" in lint.codes(text)) is floats


def test_i_06_a_path_that_moved_and_another_processor(lint):
    moved = service("ghcr.io/ggerganov/llama.cpp:server", "command: -m /m/a.gguf")
    (found,) = [each for each in lint(moved) if each.code == "image_refused"]
    assert "ghcr.io/ggml-org/llama.cpp:server" in found.hint
    other = service("vllm/vllm-openai:v0.27.1-x86_64", "runtime: nvidia", "command: [a/b]")
    assert "image_architecture" in lint.codes(other)
    assert "image_refused" in lint.errors(other, "agx-thor-t5000")


def test_h_01_patience(lint):
    test = "healthcheck: {test: [CMD, python3, -c, pass], start_period: %s, interval: 10s}"
    assert "health_impatient" in lint.codes(upstream("a/b", more=(test % "5s",)))
    assert "health_impatient" in lint.codes(upstream("a/b", more=(test % "120s",)))
    assert "health_impatient" not in lint.codes(upstream("a/b", more=(test % "10m",)))


def test_h_02_a_tool_that_the_image_has_not(lint):
    curl = "healthcheck: {test: curl -f http://localhost:8000/health}"
    assert "health_tool" in lint.codes(upstream("a/b", more=(curl,)))
    at_8080 = "healthcheck: {test: curl -f http://localhost:8080/health}"
    assert "health_tool" not in lint.codes(llama("-m", "/models/a.gguf", more=(at_8080,)))


def test_h_04_a_path_that_answers_too_early(lint):
    check = "healthcheck: {test: curl -f http://localhost:8080/v1/models}"
    assert "health_path" in lint.codes(llama("-m", "/models/a.gguf", more=(check,)))


def test_m_01_and_m_07_eight_gigabytes(lint):
    text = of("m-01-eight-gigabytes")
    errors = lint.errors(text, "orin-nano-8gb", "36.5.0")
    assert errors == {"memory_does_not_fit", "utilization_above_bound", "no_speculation_on_8gb"}
    assert "graphs_on_8gb" in lint.codes(text, "orin-nano-8gb", "36.5.0")


def test_m_02_the_default_share_is_told(lint):
    found = [each for each in lint(upstream("a/b")) if each.code == "default_left"]
    assert any("--gpu-memory-utilization" in each.message for each in found)
    assert any("0.92" in each.message for each in found)


def test_m_04_a_share_is_held_against_what_is_free(lint):
    text = upstream("a/b", "--gpu-memory-utilization", "0.85")
    assert lint.errors(text, "agx-thor-t5000") == set()
    assert "utilization_above_ceiling" in lint.codes(text, "agx-thor-t5000")
    assert "utilization_above_bound" in lint.errors(text, "orin-nx-16gb", "39.2.1")
    assert "utilization_above_bound" in lint.errors(
        upstream("a/b", "--gpu-memory-utilization", "0.98")
    )


@pytest.mark.parametrize(("tokens", "code"), [("65536", "error"), ("16384", "warning")])
def test_m_05_batches_do_not_follow_the_context(lint, tokens, code):
    found = lint(upstream("a/b", "--max-num-batched-tokens", tokens))
    assert [each.severity.value for each in found if each.code == "batched_tokens_large"] == [code]
    small = upstream("a/b", "--max-num-batched-tokens", "4096")
    assert "batched_tokens_large" not in lint.codes(small)


def test_m_06_five_hundredths_for_drafts(lint):
    with_draft = ("-sc", '{"method":"ngram","num_speculative_tokens":3}')
    base = ("a/b", "--gpu-memory-utilization", "0.75")
    quoted = upstream(*base, *with_draft)
    assert "share_without_draft_room" in lint.codes(quoted, "agx-thor-t5000")
    assert "share_without_draft_room" not in lint.codes(upstream(*base), "agx-thor-t5000")


@pytest.mark.parametrize("board", [("orin-nx-16gb", "36.5.0"), ("orin-nx-16gb", "39.2.1")])
def test_m_07_no_separate_draft_on_small_boards(lint, board):
    config = '{"method":"eagle3","model":"RedHatAI/Qwen3-8B-speculator.eagle3",'
    config += '"num_speculative_tokens":3}'
    command = f"command: [vllm, serve, a/b, -sc, '{config}']"
    image = R36 if board[1].startswith("36") else "vllm/vllm-openai:v0.27.1"
    text = service(image, "runtime: nvidia", "entrypoint: ''", command)
    assert "no_drafts_on_board" in lint.errors(text, *board)
    assert "no_drafts_on_board" not in lint.errors(text, "agx-orin-64gb", board[1])


def test_m_08_the_allocator_of_36_4_7_is_told(lint):
    text = service(R36, "runtime: nvidia", "command: vllm serve a/b")
    assert "nvmap_36_4_7" in lint.codes(text, "orin-nano-8gb", "36.4.7")
    assert "nvmap_36_4_7" not in lint.codes(text, "orin-nano-8gb", "36.5.0")


def test_m_09_a_context_that_does_not_fit_the_board(lint):
    base = ("openai/gpt-oss-120b", "--gpu-memory-utilization", "0.8", "--max-model-len")
    assert "context_above_maximum" in lint.errors(upstream(*base, "1048576"), "dgx-spark")
    assert "context_above_tested" in lint.codes(upstream(*base, "16384"), "dgx-spark")


@pytest.mark.parametrize(
    ("tag", "depth", "sequences", "code"),
    [
        ("v0.26.0", 16, None, True),
        ("v0.26.0", 16, "8", False),
        ("v0.26.0", 8, None, False),
        ("v0.29.0", 16, None, False),
    ],
)
def test_s_02_drafts_leave_slots(lint, tag, depth, sequences, code):
    config = f'{{"method":"dflash","model":"x/y","num_speculative_tokens":{depth}}}'
    words = f"[a/b, -sc, '{config}'{f', --max-num-seqs, {sequences}' if sequences else ''}]"
    text = service(f"vllm/vllm-openai:{tag}", "runtime: nvidia", f"command: {words}")
    assert ("no_free_slots" in lint.errors(text)) is code


def test_s_03_a_block_sets_the_depth(lint):
    config = '{"method":"dflash","model":"z-lab/Qwen3.5-122B-DFlash","num_speculative_tokens":%d}'
    image = "vllm/vllm-openai:v0.29.0"
    for depth, told in ((15, False), (16, True)):
        command = f"command: [a/b, -sc, '{config % depth}']"
        assert (
            "depth_out_of_bounds" in lint.codes(service(image, "runtime: nvidia", command))
        ) is told


@pytest.mark.parametrize(
    ("board", "depth", "told"),
    [
        (("agx-thor-t5000",), 5, False),
        (("agx-orin-64gb",), 5, True),
        (("agx-orin-64gb",), 3, False),
        (("dgx-spark",), 3, True),
    ],
)
def test_s_04_eagle3_starts_where_the_board_says(lint, board, depth, told):
    config = f'{{"method":"eagle3","model":"x/y","num_speculative_tokens":{depth}}}'
    text = upstream("a/b", "-sc", config)
    assert ("depth_above_start" in lint.codes(text, *board)) is told


def test_p_02_flags_of_the_build(lint):
    old = "ghcr.io/nvidia-ai-iot/llama_cpp:b8708-r36.4-tegra-aarch64-cu126-22.04"
    command = "command: llama-server -m /m/a.gguf -md /m/d.gguf --draft-max 4"
    volumes = "volumes: ['./m:/m']"
    assert "flag_refused" not in lint.codes(service(old, "runtime: nvidia", volumes, command))
    new = llama("-m", "/models/a.gguf", "-md", "/models/d.gguf", "--draft-max", "4")
    assert "flag_refused" in lint.errors(new)
    assert "flag_unknown" in lint.errors(llama("-m", "/models/a.gguf", "--draft-model", "x"))


def test_p_08_a_draft_of_another_model(lint):
    config = '{"method":"eagle3","model":"%s","num_speculative_tokens":3}'
    wrong = upstream("openai/gpt-oss-120b", "-sc", config % "RedHatAI/Qwen3-8B-speculator.eagle3")
    right = upstream("Qwen/Qwen3-8B", "-sc", config % "RedHatAI/Qwen3-8B-speculator.eagle3")
    assert "draft_of_another_model" in lint.errors(wrong)
    assert "draft_of_another_model" not in lint.errors(right)


def test_b_01_published_ports_on_a_jetson(lint):
    text = upstream("a/b", more=("ports: ['127.0.0.1:8000:8000']",))
    assert "ports_on_jetson" in lint.codes(text, "agx-thor-t5000")
    assert "ports_on_jetson" not in lint.codes(text, "dgx-spark")


def test_b_03_a_terminal(lint):
    assert "terminal" in lint.codes(upstream("a/b", more=("tty: true",)))


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("always", True),
        ("unless-stopped", True),
        ("on-failure", True),
        ("on-failure:3", False),
        ("'no'", False),
    ],
)
def test_b_04_restarts_have_an_end(lint, policy, told):
    text = upstream("a/b", more=(f"restart: {policy}",))
    assert ("restart_unbounded" in lint.codes(text)) is told


def test_n_01_offline_needs_weights(lint):
    offline = "environment: {HF_HUB_OFFLINE: '1'}"
    assert "offline_without_weights" in lint.errors(upstream("a/b", more=(offline,)))
    kept = "volumes: ['hub:/root/.cache/huggingface']"
    assert "offline_without_weights" not in lint.errors(upstream("a/b", more=(offline, kept)))


def test_x_01_no_secret_is_repeated(lint):
    found = lint(of("x-01-secrets"))
    assert {each.code for each in found} >= {
        "secret_in_file",
        "secret_in_environment",
        "secret_in_arguments",
    }
    told = " ".join(f"{each.message} {each.hint}" for each in found)
    assert "hf_this" not in told
    assert "planted-secret" not in told


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("network_mode: host",), True),
        (("ports: ['8000:8000']",), True),
        (("ports: ['0.0.0.0:8000:8000']",), True),
        (("ports: [8000]",), True),
        (("ports: ['127.0.0.1:8000:8000']",), False),
        (("ports: ['[::1]:8000:8000']",), False),
        (("ports: ['8000:8000']", "environment: {VLLM_API_KEY: '${K}'}"), False),
        ((), False),
    ],
)
def test_x_02_a_wide_bind_wants_a_key(lint, lines, told):
    assert ("insecure_bind" in lint.codes(upstream("a/b", more=lines))) is told


def test_x_02_also_on_the_hosts_network(lint):
    bound = upstream("a/b", "--host", "127.0.0.1", more=("network_mode: host",))
    assert "insecure_bind" not in lint.codes(bound)
    wide = llama("-m", "/models/a.gguf", "--host", "0.0.0.0", more=("network_mode: host",))
    assert "insecure_bind" in lint.codes(wide)
