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


@pytest.mark.parametrize(
    ("option", "value"),
    [("--depth", "0"), ("--context", "1"), ("--concurrency", "0"), ("--port", "0")],
)
def test_a_value_out_of_range_is_refused(option, value):
    with pytest.raises(UsageError, match="bad option") as caught:
        stack_request(parse("--model", "m", option, value), SETTINGS)
    assert caught.value.hint


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
