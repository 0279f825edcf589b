"""`tune` reads depths and limits, asks before it interrupts, and prints what was found."""

import json

import pytest

from speccompose.cli.tune import parse_depths, show, wanted_of
from speccompose.device.measured_stack import Prompts
from speccompose.errors import DeployError, UsageError
from speccompose.tuning import Tuned
from speccompose.tuning_session import Wanted
from speccompose.vocab.tuning_result import TuneLimits
from tests.cli.harness import assert_refusal_shape
from tests.report.samples import tuned

NOTHING = dict.fromkeys(
    ("depths", "concurrency", "max_tpot_ms", "max_ttft_ms", "max_e2e_ms", "max_memory_mib")
)
PLAIN = {
    **NOTHING,
    **dict.fromkeys(("exhaustive", "apply_it", "fresh", "quick"), False),
    **dict.fromkeys(("dataset", "category", "requests", "osl")),
    "runner": "native",
}


@pytest.mark.parametrize(
    ("text", "depths"),
    [
        ("1,2,4", (1, 2, 4)),
        ("0,1,2,4", (1, 2, 4)),
        ("1-5", (1, 2, 3, 4, 5)),
        ("7, 3-4,3", (3, 4, 7)),
        ("64", (64,)),
    ],
)
def test_depths(text, depths):
    assert parse_depths(text) == depths


@pytest.mark.parametrize(
    "text", ["", "0", "x", "1,", "5-1", "65", "-1", "1-", "1.5", "1-999", "0-0"]
)
def test_what_is_no_depth(text):
    with pytest.raises(UsageError) as caught:
        parse_depths(text)
    assert caught.value.status == 2
    assert "--depths" in caught.value.brief


def test_nothing_given_is_the_plain_search():
    assert wanted_of(PLAIN) == Wanted()


def test_everything_given():
    wanted = wanted_of(
        {
            **PLAIN,
            "depths": "1,2",
            "concurrency": 4,
            "max_tpot_ms": 30.5,
            "max_memory_mib": 9000,
            "exhaustive": True,
            "apply_it": True,
            "requests": 7,
        }
    )
    assert wanted.limits == TuneLimits(tpot_ms=30.5, memory_mib=9000)
    assert wanted.prompts == Prompts(None, None, 7)
    assert wanted.command("mine") == (
        "speccompose tune mine --yes --fresh --depths 1,2 --concurrency 4 --max-tpot-ms 30.5 "
        "--max-memory-mib 9000 --exhaustive --requests 7"
    )


def test_another_runner_is_named_in_the_command():
    wanted = wanted_of({**PLAIN, "runner": "aiperf"})
    assert wanted.command("mine").endswith("--runner aiperf --osl 4096")


def test_nobody_is_there_to_ask(cli):
    answer = cli("tune", "x")
    assert answer.status == 2
    assert_refusal_shape(answer.err)
    assert "--yes" in answer.err


@pytest.mark.parametrize(
    "words",
    [
        ("--depths", "none"),
        ("--max-tpot-ms", "0"),
        ("--max-memory-mib", "-1"),
        ("--concurrency", "0"),
        ("--concurrency", "100000"),
        ("--requests", "0"),
    ],
    ids=" ".join,
)
def test_values_out_of_range(cli, words):
    answer = cli("tune", "x", "--yes", *words)
    assert answer.status == 2
    assert_refusal_shape(answer.err)


def test_an_unknown_stack(cli):
    answer = cli("tune", "x", "--yes")
    assert (answer.status, answer.out) == (2, "")
    assert "no stack called x" in answer.err


@pytest.mark.parametrize("as_json", [False, True])
def test_the_result_is_printed_before_what_went_wrong_after_it(capsys, as_json):
    failure = DeployError("tiny was not deployed: it fell over")
    with pytest.raises(DeployError):
        show(Tuned(result=tuned(), status=8, failure=failure), as_json)
    out = capsys.readouterr().out
    if as_json:
        assert json.loads(out)["depth"] == 2
    else:
        assert out.startswith("tiny: depth 2 is best")
