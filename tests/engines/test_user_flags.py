"""--set: appended, replacing, or refused; never dropped and never against the plan."""

import pytest

from speccompose.engines import llama_cpp, vllm
from speccompose.engines.user_flags import normalise_name, set_value
from speccompose.errors import ExitStatus, ImageError, UsageError
from tests.plan.stage_cases import case, values_of

THOR = "agx-thor-t5000"
HYBRID = "nvidia/Qwen3.6-27B-NVFP4"
DENSE = "nvidia/Qwen3-8B-NVFP4"
GGUF = "Qwen/Qwen3-8B-GGUF"


def command(catalog, repo, *flags, **request):
    one = case(catalog, THOR, repo, set_flags=tuple(flags), **request)
    return one.command()


def test_names_get_their_dashes(catalog):
    vllm_entry, llama = catalog.engines["vllm"], catalog.engines["llama.cpp"]
    assert normalise_name(vllm_entry, "max-logprobs") == "--max-logprobs"
    assert normalise_name(llama, "ub") == "-ub"
    assert normalise_name(llama, "--temp") == "--temp"
    assert normalise_name(llama, "unheard-of") == "--unheard-of"


def test_the_last_value_of_any_spelling_counts(catalog):
    llama = catalog.engines["llama.cpp"]
    flags = (("ubatch-size", "256"), ("temp", "1"), ("-ub", "128"))
    assert set_value(llama, flags, "-ub") == "128"
    assert set_value(llama, flags, "-b") is None


def test_a_new_flag_is_appended(catalog):
    words = command(catalog, DENSE, ("max-logprobs", "5"))
    assert words[-2:] == ("--max-logprobs", "5")


def test_a_planned_value_is_replaced_in_place(catalog):
    plain = command(catalog, DENSE)
    words = command(catalog, DENSE, ("generation-config", "vllm"))
    assert len(words) == len(plain)
    assert values_of(words, "--generation-config") == "vllm"
    assert words.index("--generation-config") == plain.index("--generation-config")


def test_flags_without_a_value(catalog):
    assert "--enable-log-requests" in command(catalog, DENSE, ("enable-log-requests", ""))
    assert "--enforce-eager" in command(catalog, DENSE, ("enforce-eager", "true"))
    with pytest.raises(UsageError) as caught:
        command(catalog, DENSE, ("enforce-eager", "false"))
    assert "--no-enforce-eager=true" in (caught.value.hint or "")


def test_unknown_flags_name_near_ones(catalog):
    with pytest.raises(ImageError) as caught:
        command(catalog, DENSE, ("max-logprob", "5"))
    assert caught.value.status == ExitStatus.IMAGE
    assert "--max-logprobs" in (caught.value.hint or "")


def test_flags_that_the_version_lacks_are_refused(catalog):
    with pytest.raises(ImageError) as caught:
        command(catalog, DENSE, ("per-request-spec-decode-metrics", "summary"))
    assert "0.29" in caught.value.brief
    assert "0.27.1" in caught.value.brief


@pytest.mark.parametrize("flag", sorted(vllm.OWNED))
def test_vllm_flags_that_the_plan_owns(catalog, flag):
    with pytest.raises(UsageError) as caught:
        command(catalog, DENSE, (flag, "1"))
    assert caught.value.status == ExitStatus.USAGE
    assert caught.value.hint == vllm.OWNED[flag]


@pytest.mark.parametrize("flag", sorted(llama_cpp.OWNED))
def test_llama_cpp_flags_that_the_plan_owns(catalog, flag):
    with pytest.raises(UsageError) as caught:
        command(catalog, GGUF, (flag, "1"))
    assert caught.value.hint == llama_cpp.OWNED[flag]


@pytest.mark.parametrize(
    ("repo", "flag"),
    [
        (GGUF, "--ctx-size"),
        (GGUF, "parallel"),
        (GGUF, "-md"),
        (GGUF, "-cram"),
        (GGUF, "a"),
        (DENSE, "-tp"),
        (DENSE, "--speculative-config.num_speculative_tokens"),
        (DENSE, "speculative-config"),
    ],
)
def test_aliases_and_dotted_forms_are_owned_too(catalog, repo, flag):
    with pytest.raises(UsageError):
        command(catalog, repo, (flag, "1"))


def test_what_a_fault_needs_stays(catalog):
    with pytest.raises(ImageError) as caught:
        command(catalog, HYBRID, ("enable-prefix-caching", "true"))
    assert "corrupts" in caught.value.details[0]
    words = command(catalog, HYBRID, ("enable-prefix-caching", "true"), force=True)
    assert "--enable-prefix-caching" in words
    assert "--no-enable-prefix-caching" not in words


def test_a_user_flag_may_wake_a_fault(catalog):
    """fp8 KV and DFlash exclude each other up to 0.25."""
    one = case(catalog, THOR, DENSE, version="0.24.0", method="dflash")
    with pytest.raises(ImageError) as caught:
        one.but(set_flags=(("kv-cache-dtype", "fp8"),)).command()
    assert "0.25" in caught.value.details[0]
