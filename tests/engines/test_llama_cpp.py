"""llama-server's argument list, word by word, per build and board."""

import pytest

from speccompose.engines import ENGINES
from speccompose.errors import DataError
from tests.plan.stage_cases import OFF, case, replace, values_of

THOR = "agx-thor-t5000"
ORIN = "agx-orin-64gb"
MTP = "unsloth/Qwen3.8-27B-GGUF:Q4_K_M"
PLAIN = "Qwen/Qwen3-8B-GGUF:Q4_K_M"
DEMO = "HuggingFaceTB/SmolLM2-135M-Instruct"


def test_b10373_with_mtp(catalog):
    assert case(catalog, THOR, MTP).command() == (
        "-m",
        "/models/target/Qwen3.8-27B-Q4_K_M.gguf",
        "--alias",
        "unsloth/Qwen3.8-27B-GGUF",
        "--host",
        "127.0.0.1",
        "--port",
        "8080",
        "--metrics",
        "-c",
        str(8192 * 8),
        "-np",
        "8",
        "-ngl",
        "all",
        "-fa",
        "on",
        "-fit",
        "off",
        "--cache-ram",
        "2048",
        "--spec-type",
        "draft-mtp",
        "--spec-draft-n-max",
        "3",
        "--jinja",
        "--temp",
        "1",
        "--top-k",
        "20",
        "--min-p",
        "0",
    )


def test_b10373_with_a_dflash_draft(catalog):
    repo = "ggml-org/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-GGUF:Q4_K_M"
    one = case(catalog, THOR, repo).with_pairing("dflash", draft_file="d/flash.gguf")
    words = one.command()
    assert values_of(words, "--spec-type") == "draft-dflash"
    assert values_of(words, "--spec-draft-n-max") == "15"
    assert values_of(words, "--model-draft") == "/models/draft/d/flash.gguf"
    assert values_of(words, "-ngld") == "all"


def test_a_draft_file_that_nobody_names_has_an_agreed_name(catalog):
    repo = "ggml-org/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-GGUF:Q4_K_M"
    one = case(catalog, THOR, repo).with_pairing("dflash", draft_file=None)
    assert values_of(one.command(), "--model-draft") == "/models/draft/model.gguf"


def test_b8708_takes_a_draft_by_its_file_alone(catalog):
    one = case(catalog, ORIN, DEMO, image="llamacpp-iot-r36", method="draft_model")
    words = one.command()
    assert "--spec-type" not in words
    assert "--spec-draft-n-max" not in words
    assert values_of(words, "--draft-max") == "4"
    assert values_of(words, "--model-draft").startswith("/models/draft/")
    assert values_of(words, "-ngl") == values_of(words, "-ngld") == "all"


def test_b11669_names_the_draft_type(catalog):
    one = case(catalog, ORIN, DEMO, version="b11669", method="draft_model")
    words = one.command()
    assert values_of(words, "--spec-type") == "draft-simple"
    assert values_of(words, "--spec-draft-n-max") == "4"
    assert values_of(words, "-ngl") == values_of(words, "-ngld") == "all"
    assert values_of(words, "--port") == "8080"


def test_ngram_old_and_new(catalog):
    old = case(catalog, ORIN, PLAIN, image="llamacpp-iot-r36", method="ngram").command()
    new = case(catalog, ORIN, PLAIN, method="ngram").command()
    for words in (old, new):
        assert values_of(words, "--spec-type") == "ngram-simple"
    assert values_of(old, "--spec-ngram-size-n") == "4"
    assert values_of(old, "--spec-ngram-size-m") == values_of(old, "--draft-max") == "4"
    assert values_of(new, "--spec-ngram-simple-size-n") == "4"
    assert values_of(new, "--spec-ngram-simple-size-m") == "4"
    assert "--draft-max" not in new


@pytest.mark.parametrize("removed", ["--draft", "--draft-min", "--no-mmap", "--mlock", "-cd"])
def test_removed_names_are_never_rendered(catalog, removed):
    for repo in (MTP, PLAIN, DEMO):
        assert removed not in case(catalog, THOR, repo).command()


def test_a_cpu_gets_no_gpu_flags(catalog):
    one = case(catalog, ORIN, DEMO, image="llamacpp-cpu")
    one.device = replace(one.device, soc=replace(one.device.soc, compute_capability=None))
    words = one.command()
    for flag in ("-ngl", "-ngld", "-fa"):
        assert flag not in words
    assert values_of(words, "-fit") == "off"


def test_context_is_for_every_sequence(catalog):
    for concurrency in (1, 8, 12):
        one = case(catalog, THOR, PLAIN, concurrency=concurrency, context_tokens=2048)
        words = one.command(OFF)
        assert int(values_of(words, "-c")) == 2048 * int(values_of(words, "-np"))


def test_the_key_comes_from_a_file(catalog):
    words = case(catalog, THOR, PLAIN).command(api_key_path="/secrets")
    assert values_of(words, "--api-key-file") == "/secrets/llama-cpp.keys"
    assert "--api-key" not in words


def test_sampling_in_the_servers_words(catalog):
    one = case(catalog, THOR, PLAIN)
    serving = replace(
        one.model.serving,
        sampling={"temperature": 0.7, "repetition_penalty": 1.05, "presence_penalty": 0.0},
        chat_template_kwargs={"enable_thinking": False},
    )
    words = one.with_model(serving=serving).command()
    assert values_of(words, "--temp") == "0.7"
    assert values_of(words, "--repeat-penalty") == "1.05"
    assert values_of(words, "--presence-penalty") == "0"
    assert values_of(words, "--chat-template-kwargs") == '{"enable_thinking":false}'


def test_an_unknown_sampling_field_is_no_silent_drop(catalog):
    one = case(catalog, THOR, PLAIN)
    serving = replace(one.model.serving, sampling={"warmth": 1.0})
    with pytest.raises(DataError):
        one.with_model(serving=serving).command()


def test_speculation_flags_of_the_user_leave_the_baseline(catalog):
    one = case(
        catalog,
        ORIN,
        DEMO,
        method="draft_model",
        version="b11669",
        set_flags=(("spec-synth-len", "2.5"), ("threads", "4")),
    )
    inputs = one.inputs()
    on = ENGINES["llama.cpp"].command(inputs)
    off = ENGINES["llama.cpp"].command(replace(inputs, speculation=OFF))
    assert values_of(on, "--spec-synth-len") == "2.5"
    assert "--spec-synth-len" not in off
    assert values_of(off, "--threads") == "4"


def test_environment_holds_only_what_the_image_needs(catalog):
    assert case(catalog, THOR, PLAIN).environment() == dict(
        catalog.images["llamacpp-iot-cu13"].environment
    )


def test_health_with_the_images_tool(catalog):
    engine = ENGINES["llama.cpp"]
    cpu = case(catalog, ORIN, DEMO, image="llamacpp-cpu")
    assert engine.health_test(cpu.inputs())[1] == "curl"
    orin = case(catalog, ORIN, DEMO)
    assert engine.health_test(orin.inputs())[1] == "python3"


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 8])
def test_a_lookup_is_never_longer_than_its_draft(catalog, depth):
    """llama.cpp drops drafts that are shorter: the server would be healthy and never speculate."""
    words = case(catalog, ORIN, PLAIN, method="ngram", depth=depth).command()
    assert values_of(words, "--spec-ngram-simple-size-n") == str(min(4, depth))
    assert values_of(words, "--spec-ngram-simple-size-m") == str(depth)
