"""Which service is a server, how it is started, and with what."""

import pytest

from speccompose.lint.arguments import read_arguments
from speccompose.lint.compose_file import read_compose
from speccompose.lint.known_image import engine_by_name, is_floating_tag, read_image
from speccompose.lint.server import read_server
from speccompose.lint.service import read_services
from speccompose.lint.words import Word

R36 = "ghcr.io/nvidia-ai-iot/vllm:0.19.0-r36.4.tegra-aarch64-cu126-22.04"
UP = "vllm/vllm-openai:v0.27.1"
MODULE = "vllm.entrypoints.openai.api_server"
GGML = "ghcr.io/ggml-org/llama.cpp:server-cuda13-b10524"


def server(catalog, image: str, *lines: str):
    body = "".join(f"    {line}\n" for line in lines)
    (file,) = read_compose(f"services:\n  a:\n    image: {image}\n{body}", "f")
    return read_server(read_services(file)[0], catalog)


@pytest.mark.parametrize(
    ("image", "lines", "engine"),
    [
        (UP, (), "vllm"),
        (GGML, (), "llama.cpp"),
        ("me/my-vllm-build:1", (), "vllm"),
        ("me/llama_cpp:b1", (), "llama.cpp"),
        ("me/image:1", ("command: vllm serve a",), "vllm"),
        (
            "me/image:1",
            ("command: python3 -m vllm.entrypoints.openai.api_server --model a",),
            "vllm",
        ),
        ("me/image:1", ("command: /app/llama-server -m a.gguf",), "llama.cpp"),
        ("me/image:1", ("command: bash -c 'cd /x && exec vllm serve a'",), "vllm"),
        ("me/image:1", ("entrypoint: [llama-server]", "command: -m a"), "llama.cpp"),
        ("${REGISTRY}/vllm:v1", (), "vllm"),
        ("me/image:1", ("command: vllm bench serve",), None),
        ("postgres:16", (), None),
        ("ghcr.io/open-webui/open-webui:main", (), None),
    ],
)
def test_which_engine(catalog, image, lines, engine):
    found = server(catalog, image, *lines)
    assert (found.engine.id if found else None) == engine


@pytest.mark.parametrize(
    ("image", "version", "own"),
    [
        (UP, "0.27.1", ("vllm", "serve")),
        ("vllm/vllm-openai:v0.28.0-cu130", "0.28.0", ("vllm", "serve")),
        ("docker.io/vllm/vllm-openai:latest", None, ("vllm", "serve")),
        (R36, "0.19.0", ()),
        ("ghcr.io/nvidia-ai-iot/vllm:latest-jetson-orin", None, ()),
        (GGML, "b10524", ("/app/llama-server",)),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda-b10000", "b10000", ("/app/llama-server",)),
        ("nvcr.io/nvidia/vllm:26.05.post1-py3", "0.21.0", ("/opt/nvidia/nvidia_entrypoint.sh",)),
        ("nvcr.io/nvidia/vllm:26.07-py3", None, ("/opt/nvidia/nvidia_entrypoint.sh",)),
        ("me/vllm:0.6.3-r36.4.0", "0.6.3", None),
        ("Not An Image", None, None),
    ],
)
def test_what_is_known_of_an_image(catalog, image, version, own):
    found = read_image(image, catalog)
    assert (found.version, found.own_entrypoint) == (version, own)


@pytest.mark.parametrize(
    ("tag", "moves"),
    [("latest", True), (None, True), ("nightly-arm64", True), ("v1.2", False), ("1.2-main", True)],
)
def test_tags_that_move(tag, moves):
    assert is_floating_tag(tag) is moves


def test_a_name_that_says_no_engine():
    assert engine_by_name("ollama/ollama") is None


def text_of(found) -> list[str]:
    return [word.text for word in found.start.arguments]


def test_arguments_of_entrypoint_and_command(catalog):
    found = server(catalog, "me/vllm:1", "entrypoint: [vllm, serve, a/b]", "command: --port 1")
    assert text_of(found) == ["a/b", "--port", "1"]
    assert found.setting("--port").number == 1


def test_arguments_behind_the_images_own_entrypoint(catalog):
    found = server(catalog, UP, "command: [a/b, --port=1]")
    assert (text_of(found), found.start.by_entrypoint) == (["a/b", "--port=1"], True)


def test_arguments_in_a_script_have_their_lines(catalog):
    found = server(
        catalog,
        R36,
        "command:",
        "  - bash",
        "  - -c",
        "  - |",
        "    export X=1",
        "    vllm serve a/b \\",
        "      --port 1",
    )
    assert [(word.text, word.line) for word in found.start.arguments] == [
        ("a/b", 9),
        ("--port", 10),
        ("1", 10),
    ]


@pytest.mark.parametrize(
    ("flag", "text", "number"),
    [("--port", "8000", 8000), ("-c", "8k", 8000), ("-c", "8K", 8192), ("-np", "-1", -1)],
)
def test_a_setting_by_flag(catalog, flag, text, number):
    found = server(catalog, GGML, f"command: [{flag}, '{text}']").setting(flag)
    assert (found.text, found.number) == (text, number)


@pytest.mark.parametrize(
    ("variable", "flag"),
    [
        ("LLAMA_ARG_PORT", "--port"),
        ("LLAMA_ARG_CTX_SIZE", "-c"),
        ("LLAMA_ARG_N_PARALLEL", "-np"),
        ("LLAMA_ARG_N_GPU_LAYERS", "-ngl"),
        ("LLAMA_ARG_SPEC_TYPE", "--spec-type"),
    ],
)
def test_a_setting_of_llama_cpp_by_variable(catalog, variable, flag):
    found = server(catalog, GGML, f"environment: {{{variable}: '7'}}").setting(flag)
    assert found.text == "7"


def test_what_a_variable_decides_is_not_known(catalog):
    found = server(catalog, UP, "command: [a/b, --port, '${P}']")
    assert found.setting("--port").text is None
    assert not found.whole


def given(catalog, engine: str, *words: str):
    entry = catalog.engines[engine]
    version = "0.27.1" if engine == "vllm" else "b10524"
    return read_arguments(entry, version, [Word(text=text, line=1) for text in words])


def pairs(found) -> list[tuple[str, str | None]]:
    return [(each.name, each.value.text if each.value else None) for each in found.given]


def test_vllm_takes_equals_underscores_beginnings_and_dots(catalog):
    found = given(
        catalog,
        "vllm",
        *("a/b", "--max_model_len=1", "--gpu-memory-util", "0.5", "--speculative-config.method"),
        *("mtp", "--enforce-eager", "-O3", "--served-model-name", "x", "y"),
    )
    assert pairs(found) == [
        ("--max-model-len", "1"),
        ("--gpu-memory-util", "0.5"),
        ("--speculative-config", "mtp"),
        ("--enforce-eager", None),
        ("-O3", None),
        ("--served-model-name", "x"),
    ]
    assert found.given[1].row.name == "--gpu-memory-utilization"
    assert [word.text for word in found.leading] == ["a/b"]
    assert found.strays == ()


def test_llama_cpp_takes_the_next_word(catalog):
    found = given(catalog, "llama.cpp", "-m", "a", "-np", "-1", "--jinja", "--no_mmap", "x")
    assert pairs(found) == [("-m", "a"), ("-np", "-1"), ("--jinja", None), ("--no-mmap", None)]
    assert [word.text for word in found.strays] == ["x"]


def test_glued_words_are_taken_apart_and_marked(catalog):
    found = given(catalog, "vllm", "a/b", "--dtype auto", "--port", "1")
    assert pairs(found) == [("--dtype", "auto"), ("--port", "1")]
    assert [each.glued for each in found.given] == [True, False]
