"""Flags: what a version knows, what it refuses and in which words, and the order of a list."""

import pytest

from speccompose.engines.flags import FlagList, check_flags, find_flag, is_known, require_flag
from speccompose.errors import ExitStatus, ImageError


@pytest.fixture
def vllm(catalog):
    return catalog.engines["vllm"]


@pytest.fixture
def llama(catalog):
    return catalog.engines["llama.cpp"]


@pytest.mark.parametrize(
    ("version", "flag", "known"),
    [
        ("0.16.0", "--moe-backend", False),
        ("0.17.0", "--moe-backend", True),
        ("0.17.1", "--swap-space", True),
        ("0.18.1", "--swap-space", False),
        ("0.9.2", "--spec-method", False),
        ("0.22.0", "--spec-method", True),
        ("0.27.1", "--no-enable-prefix-caching", True),
        ("0.27.1", "--never-heard-of", False),
    ],
)
def test_versions_of_vllm_flags(vllm, version, flag, known):
    assert is_known(vllm, version, flag) == known


@pytest.mark.parametrize(
    ("version", "flag", "value", "known"),
    [
        ("b8708", "--draft-max", "4", True),
        ("b8708", "--spec-draft-n-max", "4", False),
        ("b10373", "--draft-max", "4", False),
        ("b10373", "--spec-draft-n-max", "4", True),
        ("b8708", "--spec-type", "ngram-simple", True),
        ("b8708", "--spec-type", "draft-simple", False),
        ("b9246", "--spec-type", "draft-mtp", True),
        ("b9246", "--spec-type", "draft-dflash", False),
        ("b10373", "--spec-type", "draft-dspark", True),
        ("b8708", "-ngl", "all", True),
        ("b8708", "-ngl", "99", True),
        ("b10373", "-ngl", "all", True),
        ("b10373", "--mlock", None, True),
        ("b11669", "--mlock", None, False),
    ],
)
def test_builds_of_llama_cpp_flags_and_values(llama, version, flag, value, known):
    assert is_known(llama, version, flag, value) == known


def test_the_longest_value_name_decides(vllm):
    assert is_known(vllm, "0.20.2", "--kv-cache-dtype", "nvfp4")
    assert not is_known(vllm, "0.20.2", "--kv-cache-dtype", "nvfp4_4over6")
    assert is_known(vllm, "0.14.0", "--kv-cache-dtype", "bfloat16")


def test_too_new_names_both_versions(vllm):
    with pytest.raises(ImageError) as caught:
        check_flags(vllm, "0.19.0", ["--spec-method", "mtp"])
    assert caught.value.status == ExitStatus.IMAGE
    assert caught.value.brief == "flag --spec-method needs vLLM >= 0.22, image has 0.19.0"


def test_gone_names_the_successor(llama):
    """P-02."""
    with pytest.raises(ImageError) as caught:
        require_flag(llama, "b10373", "--draft-max")
    assert "gone from llama.cpp b8764" in caught.value.brief
    assert caught.value.hint == "use --spec-draft-n-max"


def test_draft_model_flag_never_existed(llama):
    """P-02: --draft-model is no flag of any build."""
    assert find_flag(llama, "--draft-model") is None
    with pytest.raises(ImageError) as caught:
        require_flag(llama, "b11669", "--draft-model")
    assert "--model-draft" in (caught.value.hint or "")


def test_a_value_may_be_too_new(llama):
    with pytest.raises(ImageError) as caught:
        check_flags(llama, "b8708", ["--spec-type", "draft-mtp"])
    assert "b9246" in caught.value.brief
    assert "b8708" in caught.value.brief


def test_a_missing_value_is_seen(vllm):
    with pytest.raises(ImageError):
        check_flags(vllm, "0.27.1", ["--enforce-eager", "--port"])


def test_values_that_look_like_flags_are_values(llama):
    check_flags(llama, "b11669", ["--seed", "-1", "--metrics", "--chat-template", "--x"])


def test_order_is_that_of_the_first_put(vllm):
    flags = FlagList(vllm, "0.27.1")
    flags.put("--port", "1")
    flags.put("--enforce-eager")
    flags.put("--host", "::1")
    flags.put("--port", "2")
    assert flags.arguments() == ("--port", "2", "--enforce-eager", "--host", "::1")


def test_a_flag_its_no_form_and_its_aliases_are_one(vllm, llama):
    flags = FlagList(vllm, "0.27.1")
    flags.put("--enable-prefix-caching")
    flags.put("--no-enable-prefix-caching")
    assert flags.arguments() == ("--no-enable-prefix-caching",)
    assert flags.holds("--no-enable-prefix-caching")
    assert not flags.holds("--enable-prefix-caching")
    other = FlagList(llama, "b10373")
    other.put("-c", "1")
    other.put("--ctx-size", "2")
    assert other.arguments() == ("--ctx-size", "2")
    assert other.value("-c") == "2"


def test_put_if_known_leaves_out_what_the_version_lacks(llama):
    flags = FlagList(llama, "b8708")
    assert not flags.put_if_known("--spec-type", "draft-mtp")
    assert flags.put_if_known("--spec-type", "ngram-mod")
    assert flags.values() == {"--spec-type": "ngram-mod"}
