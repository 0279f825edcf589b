"""`accept` asks before it interrupts a stack, and cannot ask where nobody is."""

import json
from pathlib import Path

import pytest

from speccompose.acceptance import Judged
from speccompose.cli.accept import confirm, prompts_of, show
from speccompose.device.measured_stack import Prompts
from speccompose.errors import DeployError, UsageError
from tests.cli.harness import assert_refusal_shape
from tests.report.samples import judged, run

NATIVE = {"runner": "native", "osl": None}


def test_nobody_is_there_to_ask(cli):
    answer = cli("accept", "x")
    assert answer.status == 2
    assert_refusal_shape(answer.err)
    assert "--yes" in answer.err


def test_a_dataset_that_is_not_there_is_told_before_anything_else(cli):
    answer = cli("accept", "x", "--yes", "--dataset", "missing.jsonl")
    assert answer.status == 3
    assert "cannot be read" in answer.err


def test_prompts_are_of_the_folder_that_one_stands_in():
    given = {"dataset": "mine.jsonl", "category": "qa", "requests": 3, **NATIVE}
    assert prompts_of(given) == Prompts(Path.cwd() / "mine.jsonl", "qa", 3)
    assert prompts_of({**dict.fromkeys(given), **NATIVE}) == Prompts()


def test_the_native_runner_is_the_one_there_is(cli):
    answer = cli("accept", "x", "--yes", "--runner", "native")
    assert "no stack called x" in answer.err


def test_a_stack_is_needed(cli):
    answer = cli("accept", "--yes")
    assert answer.status == 2
    assert "STACK" in answer.err
    assert_refusal_shape(answer.err)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_verdict_is_printed_before_what_went_wrong_after_it(capsys, as_json):
    result = judged("rejected", run("baseline", 1, 20.0), run("speculative", 1, 19.0))
    failure = DeployError("tiny was not deployed: it fell over")
    with pytest.raises(DeployError):
        show("tiny", Judged(result=result, status=8, failure=failure), as_json)
    out = capsys.readouterr().out
    if as_json:
        assert json.loads(out)["outcome"] == "rejected"
    else:
        assert out.startswith("tiny: rejected")


def test_yes_asks_nothing():
    confirm("x", yes=True)


def test_the_refusal_has_a_code_of_its_own():
    with pytest.raises(UsageError) as caught:
        confirm("x", yes=False)
    assert caught.value.code == "needs_yes"
