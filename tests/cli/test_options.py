"""Flags become a request and a board; what cannot be honoured is refused, never dropped."""

import click
import pytest
from click.testing import CliRunner

from speccompose.cli.options import (
    METHODS,
    board_options,
    board_source,
    parse_set,
    stack_options,
    stack_request,
)
from speccompose.errors import UsageError
from speccompose.settings import Settings
from speccompose.vocab.method import MethodRequest
from speccompose.vocab.request import StackRequest
from tests.cli.harness import FACTS

SETTINGS = Settings(
    data_root="/data", overlays=(), cache_dir=None, state_root="/state", secrets_root="/secrets"
)
EVERYTHING = [
    *("--engine", "vllm", "--method", "mtp", "--draft", "a/b", "--depth", "3"),
    *("--workload", "code", "--context", "4096", "--concurrency", "4"),
    *("--gpu-memory-utilization", "0.6", "--image", "i:t", "--name", "n", "--port", "9000"),
    *("--bind", "0.0.0.0", "--api-key-file", "/key", "--insecure", "--force", "--offline"),
    *("--runtime", "native", "--set", "swap-space=8", "--set", "--seed=1"),
    *("--assume-l4t", "36.4.3"),
]


def parse(*argv: str) -> dict:
    @click.command()
    @board_options
    @stack_options
    def verb(**values):
        seen.update(values)

    seen: dict = {}
    done = CliRunner().invoke(verb, argv)
    assert done.exit_code == 0, done.output
    return seen


def test_defaults_are_the_requests_own():
    made = stack_request(parse("--model", "m"), SETTINGS)
    assert made == StackRequest(model="m", state_root="/state", secrets_root="/secrets")


def test_every_option_reaches_the_request():
    made = stack_request(parse("--model", "m", *EVERYTHING), SETTINGS)
    assert made == StackRequest(
        model="m",
        engine="vllm",
        method="mtp",
        draft="a/b",
        depth=3,
        workload="code",
        context_tokens=4096,
        concurrency=4,
        gpu_memory_utilization=0.6,
        image="i:t",
        name="n",
        port=9000,
        bind="0.0.0.0",
        api_key_file="/key",
        insecure=True,
        force=True,
        offline=True,
        runtime="native",
        assume_l4t="36.4.3",
        set_flags=(("--swap-space", "8"), ("--seed", "1")),
        state_root="/state",
        secrets_root="/secrets",
    )


@pytest.mark.parametrize(
    ("given", "whole"),
    [("/key", "/key"), ("key", "{here}/key"), ("./a/key", "{here}/a/key"), ("~/key", "{home}/key")],
)
def test_a_key_file_is_named_by_its_whole_path(tmp_path, monkeypatch, given, whole):
    """Systemd, `accept` and a later deploy run in other folders than this one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    made = stack_request(parse("--model", "m", "--api-key-file", given), SETTINGS)
    assert made.api_key_file == whole.format(here=tmp_path, home="/home/somebody")


@pytest.mark.parametrize("given", ["", " ", "keys/", "~nobody-of-this-name/key"])
def test_a_key_file_that_is_none(given):
    with pytest.raises(UsageError) as caught:
        stack_request(parse("--model", "m", "--api-key-file", given), SETTINGS)
    assert caught.value.code == "bad_key_path"


def test_the_methods_are_those_of_the_vocabulary():
    assert set(METHODS) == set(MethodRequest.__args__)


HUGE = "9" * 30


@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        ("--depth", "0", "expected a whole number >= 1"),
        ("--depth", "65", "expected a whole number <= 64"),
        ("--depth", HUGE, "expected a whole number <= 64"),
        ("--context", "1", "expected a whole number >= 256"),
        ("--context", HUGE, "expected a whole number <= 100000000"),
        ("--concurrency", "0", "expected a whole number >= 1"),
        ("--concurrency", HUGE, "expected a whole number <= 1000000"),
        ("--port", "0", "expected a whole number >= 1"),
        ("--port", "70000", "expected a whole number <= 65535"),
        ("--gpu-memory-utilization", "nan", "expected a number > 0.0"),
        ("--gpu-memory-utilization", "2", "expected a number <= 1.0"),
    ],
)
def test_a_value_out_of_range_is_refused_in_the_users_words(option, value, wanted):
    given = "2.0" if value == "2" else value
    with pytest.raises(UsageError) as caught:
        stack_request(parse("--model", "m", option, value), SETTINGS)
    assert caught.value.brief == f"{option} {given} is out of range"
    assert caught.value.details == (wanted,)
    assert caught.value.code == "bad_option"
    assert caught.value.hint


@pytest.mark.parametrize(
    "given",
    [
        "api-key=SECRET",
        "--api-key=SECRET",
        "api_key=SECRET",
        "api-key SECRET",
        "--API-KEY\tSECRET",
        "hf-token=SECRET",
        "hf-token SECRET",
        "hft=SECRET",
        "ssl-key-password=SECRET",
        "kv-transfer-config.secret=SECRET",
    ],
)
def test_a_secret_is_refused_and_never_told(cli, given):
    with pytest.raises(UsageError) as caught:
        parse_set(given)
    assert caught.value.code == "secret_in_option"
    argv = ("plan", "--device", "agx-thor-t5000", "--model", "qwen3-8b", "--set", given, "--json")
    answer = cli(*argv)
    assert answer.status == 2
    assert "SECRET" not in answer.out + answer.err


def test_what_was_meant_as_a_value_is_not_told():
    with pytest.raises(UsageError) as caught:
        parse_set("two words=1")
    assert "words" not in caught.value.brief
    assert "--two" in caught.value.brief


def test_no_flag_that_an_engine_takes_looks_like_a_secret(catalog):
    """But for those that are one, or name a file that holds one."""
    names = {row.name for engine in catalog.engines.values() for row in engine.flags}
    for name in names - {"--api-key", "--hf-token", "-hft"}:
        assert parse_set(f"{name}=1")


@pytest.mark.parametrize(
    ("given", "pair"),
    [
        ("swap-space=8", ("--swap-space", "8")),
        ("--swap-space=8", ("--swap-space", "8")),
        ("enforce-eager", ("--enforce-eager", "")),
        ("-ngl=99", ("--ngl", "99")),
        ('compilation-config={"a": 1}', ("--compilation-config", '{"a": 1}')),
        ("x=a=b", ("--x", "a=b")),
    ],
)
def test_set(given, pair):
    assert parse_set(given) == pair


@pytest.mark.parametrize("given", ["", "=", "=1", "--", "two words=1", "a\tb=1"])
def test_a_malformed_set_is_refused(given):
    with pytest.raises(UsageError) as caught:
        parse_set(given)
    assert caught.value.code == "bad_set"


def test_boards():
    assert board_source({"device": "x", "l4t": "1.2.3"}, SETTINGS).l4t == "1.2.3"
    read = board_source({"facts": str(FACTS / "d-01.yaml"), "assume_l4t": "38.4.0"}, SETTINGS)
    assert read.assume_l4t == "38.4.0"
    assert "/etc/nv_tegra_release" in read.facts.files


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"device": "x", "root": "/"}, "two_boards"),
        ({"device": "x", "facts": "f"}, "two_boards"),
        ({"root": "/", "facts": "f"}, "two_boards"),
        ({"l4t": "36.4.3"}, "l4t_without_device"),
        ({"l4t": "36.4.3", "facts": "f"}, "l4t_without_device"),
        ({"device": "x", "assume_l4t": "36.4.3"}, "assume_with_device"),
    ],
)
def test_boards_that_exclude_each_other(values, code):
    with pytest.raises(UsageError) as caught:
        board_source(values, SETTINGS)
    assert caught.value.code == code
    assert caught.value.hint
