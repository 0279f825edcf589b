"""Rules one by one where a whole file would say too much: what they leave alone, above all."""

import pytest

from speccompose.lint import (
    board,
    environment,
    faults,
    flags,
    gpu,
    health,
    host,
    image,
    json_values,
    keys,
    lifetime,
    memory,
    model,
    network,
    noted,
    pairs,
    secrets,
    spec,
    speculation,
    starting,
    target,
    together,
    versions,
)
from speccompose.lint.compose_file import read_compose
from speccompose.lint.noted import Ground, Stack
from speccompose.lint.server import read_server
from speccompose.lint.service import read_services
from speccompose.plan.resolve import resolve_named
from tests.lint.linting import llama, service, upstream

R36 = "ghcr.io/nvidia-ai-iot/vllm:0.19.0-r36.4.tegra-aarch64-cu126-22.04"
EAGLE = '{"method":"eagle3","model":"RedHatAI/Qwen3-8B-speculator.eagle3",'


class Asked:
    """A file with the rules' own arguments."""

    def __init__(self, catalog, text: str, *board_named: str) -> None:
        device = None
        if board_named:
            device = resolve_named(board_named[0], (*board_named, None)[1], catalog)
        self.ground = Ground(catalog=catalog, device=device)
        (file,) = read_compose(text, "f")
        self.services = read_services(file)
        found = (read_server(each, catalog) for each in self.services)
        self.servers = tuple(each for each in found if each is not None)
        self.stack = Stack(services=self.services, servers=self.servers)

    def server(self, rule) -> list[str]:
        return [each.finding.message for each in rule(self.servers[0], self.ground)]

    def service(self, rule) -> list[str]:
        return [each.finding.message for each in rule(self.services[0], self.ground)]

    def together(self, rule) -> list[str]:
        return [each.finding.message for each in rule(self.stack, self.ground)]


@pytest.fixture
def ask(catalog):
    return lambda text, *board_named: Asked(catalog, text, *board_named)


def test_a_command_without_a_server_is_not_a_server_that_does_not_start(ask):
    for command in ("sleep 9", "bash", "python3 -m http.server", "/start.sh --foo", "run --x"):
        text = service(R36, "runtime: nvidia", f"command: {command}")
        assert ask(text).server(starting.not_started) == []
        assert ask(text).server(flags.unknown_flags) == []
    for command in ("--model a/b", "Qwen/Qwen3-8B --port 8000", "Qwen/Qwen3-8B"):
        text = service(R36, "runtime: nvidia", f"command: {command}")
        assert len(ask(text).server(starting.not_started)) == 1
    assert ask(service(R36, "runtime: nvidia")).server(starting.not_started) == []


def test_a_dollar_of_the_shell_is_its_own_when_compose_does_not_know_it(ask):
    text = service(R36, "environment: {A: b}", "command: bash -c 'vllm serve $$A --x $$(y)'")
    assert ask(text).server(starting.shell_variable) == []
    assert ask(text).service(starting.bad_interpolation) == []


def test_flags_of_the_python_module_are_flags_too(ask):
    module = "python3 -m vllm.entrypoints.openai.api_server"
    text = service(R36, f"command: {module} --model a/b --nope 1")
    (told,) = ask(text).server(flags.unknown_flags)
    assert "--nope" in told
    positional = service(R36, f"command: {module} a/b")
    assert len(ask(positional).server(flags.values_too_many)) == 1


def test_a_flag_behind_a_variable_is_not_judged(ask):
    assert ask(upstream("a/b", "${FLAG}", "--x${A}")).server(flags.unknown_flags) == []


@pytest.mark.parametrize(
    ("tag", "flag", "severity"),
    [
        ("latest", "--swap-space", ["warning"]),
        ("latest", "--no-such-flag", ["error"]),
        ("v0.17.0", "--swap-space", []),
        ("v0.27.1", "--swap-space", ["error"]),
        ("v0.99.0", "--no-such-flag", ["warning"]),
    ],
)
def test_a_version_that_nobody_knows_makes_a_warning(ask, tag, flag, severity):
    """`latest` may still be an old one; 0.99 may have what the tables do not."""
    text = service(f"vllm/vllm-openai:{tag}", "runtime: nvidia", f"command: [a/b, {flag}, '1']")
    asked = ask(text)
    found = flags.unknown_flags(asked.servers[0], asked.ground)
    assert [each.finding.severity.value for each in found] == severity


def test_known_versions_are_in_order(catalog):
    known = versions.known_versions(catalog.engines["vllm"], catalog)
    assert known.index("0.20.0") < known.index("0.33")
    assert versions.is_covered(catalog.engines["vllm"], "0.33.1", catalog)
    assert not versions.is_covered(catalog.engines["vllm"], "0.34.0", catalog)


@pytest.mark.parametrize("value", ['{"a": 1}', "{}", ' {"a": "$$b"}'])
def test_json_that_is_json(ask, value):
    text = service(R36, f"command: [vllm, serve, a/b, --hf-overrides, '{value}']")
    assert ask(text).server(json_values.broken_json) == []


def test_a_template_in_braces_is_no_json(ask):
    text = llama("-m", "/models/a.gguf", "--chat-template", "{{ messages }}")
    assert ask(text).server(json_values.broken_json) == []


def test_dotted_flags_and_json_are_one_config(ask):
    text = upstream("a/b", "--speculative-config.method", "ngram", "--spec-tokens", "3")
    asked = ask(text)
    found = spec.read_speculation(asked.servers[0], asked.ground.catalog)
    assert (found.method, found.depth, found.known) == ("ngram", 3, True)
    assert asked.server(speculation.missing_parts) == []


def test_kinds_of_llama_cpp_are_the_catalogs_methods(ask):
    asked = ask(llama("-m", "/models/a.gguf", "--spec-type", "ngram-mod,draft-mtp"))
    found = spec.read_speculation(asked.servers[0], asked.ground.catalog)
    assert (found.method, found.engine_method) == ("mtp", "draft-mtp")
    asked = ask(llama("-m", "/models/a.gguf", "--spec-type", "none"))
    assert spec.read_speculation(asked.servers[0], asked.ground.catalog) is None


def test_dspark_takes_its_depth_from_the_checkpoint(ask):
    text = upstream("a/b", "-sc", '{"method":"dspark","model":"x/y"}')
    assert ask(text).server(speculation.missing_parts) == []


def test_a_path_that_names_its_own_method_flips_nothing(ask):
    text = upstream(
        "a/b", "-sc", EAGLE.replace("RedHatAI", "/m/eagle3") + '"num_speculative_tokens":3}'
    )
    assert ask(text).server(speculation.flipped_method) == []
    mtp = upstream("/models/dflash-target", "-sc", '{"method":"mtp","num_speculative_tokens":1}')
    assert len(ask(mtp).server(speculation.flipped_method)) == 1


def test_a_draft_of_the_base_model_is_no_foreign_one(ask):
    config = EAGLE + '"num_speculative_tokens":3}'
    text = upstream("RedHatAI/Qwen3-8B-quantized.w4a16", "-sc", config)
    assert ask(text).server(pairs.foreign_draft) == []
    assert ask(text).server(pairs.depth_out_of_bounds) == []


@pytest.mark.parametrize(
    ("words", "volumes", "model_id"),
    [
        (("nvidia/Qwen3-8B-NVFP4",), "[]", "qwen3-8b"),
        (("/models/target",), "['/srv/nvidia--Qwen3-8B-NVFP4:/models/target']", "qwen3-8b"),
        (("/hub/models--Qwen--Qwen3-8B",), "['hub:/hub']", "qwen3-8b"),
        (("/m", "--served-model-name", "openai/gpt-oss-120b"), "['./x:/m']", "gpt-oss-120b"),
        (("/m", "--served-model-name", "gpt-4"), "['./x:/m']", None),
        (("someone/unheard-of",), "[]", None),
    ],
)
def test_the_model_is_known_by_repo_folder_or_name(ask, words, volumes, model_id):
    asked = ask(upstream(*words, more=(f"volumes: {volumes}",)))
    found = target.known_target(asked.servers[0], asked.ground.catalog)
    assert (found.model.id if found else None) == model_id


def test_a_gguf_is_known_by_its_file(ask):
    asked = ask(llama("-m", "/models/Qwen3-8B-Q4_K_M.gguf", "--alias", "Qwen/Qwen3-8B-GGUF"))
    found = target.known_target(asked.servers[0], asked.ground.catalog)
    assert (found.model.id, found.checkpoint.quant) == ("qwen3-8b", "Q4_K_M")


def test_what_a_build_or_a_variable_brings_is_not_missing(ask):
    built = "services:\n  a:\n    build: .\n    command: vllm serve /models/x\n"
    assert ask(built).server(model.unmounted_path) == []
    variable = upstream("/models/x", more=("volumes: ['${DIR}:${TARGET}']",))
    assert ask(variable).server(model.unmounted_path) == []
    assert ask(upstream("--config", "/c.yaml")).server(model.no_model) == []


@pytest.mark.parametrize(
    "more",
    [
        ("volumes: ['~/.cache/huggingface:/root/.cache/huggingface']",),
        ("volumes: ['hub:/cache']", "environment: {HF_HOME: /cache}"),
        ("volumes: ['hub:/models']",),
    ],
)
def test_a_cache_that_is_kept(ask, more):
    told = ask(upstream("a/b", more=more)).server(model.no_cache)
    assert all("lost with the container" not in each for each in told)


def test_a_cache_beside_the_one_that_is_named_is_none(ask):
    more = ("volumes: ['hub:/root/.cache/huggingface']", "environment: {HF_HOME: /data/hub}")
    (told,) = ask(upstream("a/b", more=more)).server(model.no_cache)
    assert "lost with the container" in told


def test_an_image_that_nobody_knows_is_said_to_be_unknown(ask):
    asked = ask(service("me/vllm:1.0", "command: vllm serve a/b"))
    assert len(asked.server(image.unknown_image)) == 1
    assert asked.server(gpu.no_way) == []
    assert asked.server(image.too_old) == []


def test_a_cpu_board_needs_no_gpu(ask):
    text = "services:\n  a:\n    image: speccompose/llamacpp-cpu:0.7.0-b11669\n"
    assert ask(text).server(gpu.no_way) == []
    for tag, told in (("server", 0), ("server-vulkan", 0), ("server-cuda", 1)):
        text = service(f"ghcr.io/ggml-org/llama.cpp:{tag}", "command: -m /m/a.gguf")
        assert len(ask(text).server(gpu.no_way)) == told


def test_a_device_that_is_no_gpu_is_no_way_to_one(ask):
    reserved = "deploy: {resources: {reservations: {devices: [{driver: tpu}, 3]}}}"
    text = service("vllm/vllm-openai:v0.27.1", "command: [a/b]", reserved)
    assert len(ask(text).server(gpu.no_way)) == 1


def test_known_faults_of_another_method_or_model_are_not_told(ask):
    assert ask(upstream("nvidia/Qwen3.6-27B-NVFP4")).server(faults.unheeded_faults) == []
    config = '{"method":"mtp","num_speculative_tokens":3}'
    heeded = upstream("nvidia/Qwen3.6-27B-NVFP4", "--no-enable-prefix-caching", "-sc", config)
    assert ask(heeded).server(faults.unheeded_faults) == []
    unknown = upstream("someone/unheard-of", "-sc", config)
    assert ask(unknown).server(faults.unheeded_faults) == []


def test_a_fault_of_one_board_is_told_for_it_alone(ask):
    config = '{"method":"mtp","num_speculative_tokens":3}'
    command = f"command: [nvidia/Qwen3.6-27B-NVFP4, --no-enable-prefix-caching, -sc, '{config}']"
    text = service("vllm/vllm-openai:v0.28.0", "runtime: nvidia", command)
    assert ask(text).server(faults.unheeded_faults) == []
    (told,) = ask(text, "agx-thor-t5000").server(faults.unheeded_faults)
    assert "sm_110" in told
    assert ask(text, "dgx-spark").server(faults.unheeded_faults) == []


@pytest.mark.parametrize("share", ["0.5", "0.75", "1.0", "${SHARE}", "x"])
def test_shares_alone_are_never_too_many(ask, share):
    text = upstream("a/b", "--gpu-memory-utilization", share)
    assert ask(text).together(together.shares_add_up) == []


def test_shares_of_profiles_do_not_add_up(ask):
    one = (
        "    image: vllm/vllm-openai:v0.27.1\n    command: [a/b, --gpu-memory-utilization, '0.8']\n"
    )
    text = f"services:\n  a:\n{one}  b:\n{one}    profiles: [big]\n"
    assert ask(text).together(together.shares_add_up) == []
    assert len(ask(text.replace("    profiles: [big]\n", "")).together(together.shares_add_up)) == 1


def test_who_waits_does_not_start_together(ask):
    head = "    image: vllm/vllm-openai:v0.27.1\n    command: [a/b]\n"
    waits = "    depends_on: {a: {condition: service_healthy}}\n"
    both = f"services:\n  a:\n{head}  b:\n{head}"
    assert ask(both + waits).together(together.starting_together) == []
    assert len(ask(both).together(together.starting_together)) == 1


def test_ports_of_two_bridges_do_not_collide_inside(ask):
    body = "    image: vllm/vllm-openai:v0.27.1\n    command: [a/b]\n"
    body += "    ports: ['127.0.0.1:%d:8000']\n"
    text = f"services:\n  a:\n{body % 8000}  b:\n{body % 8001}"
    assert ask(text).together(together.same_port) == []
    assert len(ask(text.replace("8001", "8000")).together(together.same_port)) == 1


@pytest.mark.parametrize(
    ("version", "port"), [("b10524", 8080), ("b11669", 9931), ("b11500", 9931)]
)
def test_the_port_that_llama_cpp_takes_by_itself(ask, version, port):
    text = service(f"me/llama.cpp:{version}", "command: llama-server -m /m/a.gguf")
    assert network.port_of(ask(text).servers[0]) == port


def test_a_port_that_nobody_can_tell(ask):
    assert network.port_of(ask(upstream("a/b", "--port", "$P")).servers[0]) is None
    assert network.port_of(ask(service("me/llama.cpp:x", "command: -m a")).servers[0]) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("1m30s", 90),
        ("2h", 7200),
        ("500ms", 0.5),
        ("10", None),
        ("x", None),
        (5, None),
    ],
)
def test_durations_of_compose(text, seconds):
    assert health.seconds(text) == seconds


def test_a_check_of_another_host_is_left_alone(ask):
    check = "healthcheck: {test: 'curl http://proxy:9/health', start_period: 10m}"
    assert ask(upstream("a/b", more=(check,))).server(health.wrong_port) == []


def test_patience_is_the_boards(ask):
    check = "healthcheck: {test: x, start_period: 60s}"
    text = "services:\n  a:\n    image: speccompose/llamacpp-cpu:0.7.0-b11669\n"
    text += f"    command: llama-server -m /m/a.gguf\n    {check}\n"
    assert ask(text).server(health.short_patience) == []
    assert len(ask(text, "agx-thor-t5000").server(health.short_patience)) == 1


@pytest.mark.parametrize(
    ("variable", "told"),
    [
        ("OPENAI_API_KEY: EMPTY", 0),
        ("OPENAI_API_KEY: none", 0),
        ("MAX_TOKEN: 512", 0),
        ("HF_TOKEN: ''", 0),
        ("API_KEY_FILE: /run/secrets/key", 0),
        ("HF_TOKEN: abcd", 1),
        ("HF_TOKEN: $HF_TOKEN", 1),
        ("HF_TOKEN:", 1),
        ("NOTE: hf_abcdefghijkl", 1),
    ],
)
def test_what_is_a_secret_in_the_environment(ask, variable, told):
    text = upstream("a/b", more=("environment:", f"  {variable}"))
    assert len(ask(text).service(secrets.in_environment)) == told


@pytest.mark.parametrize(
    ("size", "told"), [("8g", 0), ("12gb", 0), ("13g", 1), ("16384m", 1), ("x", 0), ("64", 0)]
)
def test_shared_memory_is_held_against_the_largest_board(ask, size, told):
    text = upstream("a/b", more=(f"shm_size: {size}",))
    assert len(ask(text).server(host.shared_memory)) == told


def test_capabilities_that_a_server_may_have(ask):
    text = upstream("a/b", more=("cap_add: [IPC_LOCK]", "security_opt: ['no-new-privileges:true']"))
    assert ask(text).server(host.wide_rights) == []


def test_extensions_and_known_keys_are_no_mistakes(ask):
    text = upstream("a/b", more=("x-note: y", "develop: {}", "gpus: all"))
    assert ask(text).service(keys.unknown_key) == []


def test_a_restart_policy_of_deploy_counts(ask):
    more = ("deploy: {restart_policy: {condition: on-failure, max_attempts: 3}}",)
    assert ask(upstream("a/b", more=more)).server(lifetime.no_restart) == []


@pytest.mark.parametrize("variable", ["A: ''", "LLAMA_ARG_X: 1", "B: ${B:-}"])
def test_variables_that_may_be_as_they_are(ask, variable):
    text = llama("-m", "/models/a.gguf", more=("environment:", f"  {variable}"))
    told = ask(text).server(environment.empty_variable)
    assert all("ends on it" not in each for each in told)


def test_a_board_without_its_model_is_judged_by_what_is_known(ask):
    config = (
        EAGLE.replace("RedHatAI/Qwen3-8B-speculator.eagle3", "a/b") + '"num_speculative_tokens":3}'
    )
    asked = ask(upstream("someone/unheard-of", "-sc", config), "agx-thor-t5000")
    assert asked.server(board.refused_speculation) == []
    assert asked.server(board.memory_does_not_fit) == []
    assert asked.server(board.unfit_checkpoint) == []


def test_memory_is_the_files_own_figures(ask):
    """A context that fits with one sequence, and none that fits at all."""
    base = ("openai/gpt-oss-120b", "--gpu-memory-utilization", "0.8", "--max-num-seqs", "1")
    fits = upstream(*base, "--max-model-len", "8192")
    assert ask(fits, "dgx-spark").server(board.memory_does_not_fit) == []
    tight = upstream(*base[:1], "--gpu-memory-utilization", "0.5", "--max-model-len", "8192")
    (told,) = ask(tight, "dgx-spark").server(board.memory_does_not_fit)
    assert "does not fit" in told


def test_context_of_llama_cpp_is_shared_by_its_slots(ask):
    text = llama("-m", "/models/a.gguf", "-c", "32768", "-np", "8")
    assert ask(text).server(memory.slots_share_context) == []
    text = llama("-m", "/models/a.gguf", "-c", "8192", "-np", "8")
    assert len(ask(text).server(memory.slots_share_context)) == 1


def test_a_refusal_keeps_code_and_source(catalog):
    from speccompose.errors import ImageError

    error = ImageError("--image is odd", ["asked for x", "a fact"], code="c", source="s")
    found = noted.refused(3, error).finding
    assert (found.code, found.message, found.source) == ("c", "the image is odd: a fact", "s")
