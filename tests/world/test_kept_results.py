"""A kept result is read wherever it lies, whatever version wrote it."""

import json
import os

import pytest

from speccompose.errors import DataError, UsageError
from speccompose.world.kept_results import (
    find_acceptance,
    load_acceptance,
    load_tuning,
    newest_tuning,
)

OLD = {
    "outcome": "rejected",
    "synthetic": False,
    "reasons": ["it loses"],
    "runs": [
        {
            "arm": "baseline",
            "concurrency": 1,
            "repeat": 1,
            "output_tokens_s": 20.0,
            "tpot_ms_p50": 50.0,
            "ttft_ms_p50": None,
            "mean_accepted_length": None,
        }
    ],
}
TUNED = {
    "outcome": "chosen",
    "synthetic": False,
    "depth": 2,
    "method": "mtp",
    "reasons": [],
    "curve": [{"depth": 0, "measured": True}],
}


def keep(folder, body):
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(body))
    return folder


def test_the_contracts_fields_are_enough(tmp_path):
    result = load_acceptance(keep(tmp_path / "a", OLD))
    assert result.runs[0].output_tokens_s == 20.0
    assert (result.subject, result.comparisons) == (None, ())
    assert load_acceptance(tmp_path / "a" / "result.json") == result


def test_a_newer_versions_keys_are_let_through(tmp_path):
    assert load_acceptance(keep(tmp_path / "a", {**OLD, "weather": "rain"})).outcome == "rejected"


def test_a_tuning(tmp_path):
    result = load_tuning(keep(tmp_path / "a", TUNED))
    assert (result.depth, result.curve[0].depth) == (2, 0)


def test_a_stack_means_its_newest(tmp_path):
    home = tmp_path / "stacks" / "mine" / "accept"
    keep(home / "20261130T070000Z", OLD)
    keep(home / "20261130T080000Z", {**OLD, "outcome": "accepted"})
    (home / "20261130T090000Z").mkdir()
    assert find_acceptance("mine", tmp_path).outcome == "accepted"
    assert find_acceptance(str(home / "20261130T070000Z"), tmp_path).outcome == "rejected"


@pytest.mark.parametrize("what", ["nothing", "../etc", "a/b"])
def test_nothing_of_that_name(tmp_path, what):
    with pytest.raises(UsageError) as caught:
        find_acceptance(what, tmp_path)
    assert caught.value.code == "no_result"


@pytest.mark.parametrize("text", ["", "[]", '{"outcome": "great"}', '{"outcome": 1', "\xff"])
def test_what_is_no_result_is_told(tmp_path, text):
    file = tmp_path / "result.json"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(DataError) as caught:
        load_acceptance(file)
    assert caught.value.code == "bad_result"


def test_a_tuning_is_no_acceptance(tmp_path):
    with pytest.raises(DataError, match="no result of accept"):
        load_acceptance(keep(tmp_path / "a", TUNED))


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="pipe"):
        load_acceptance(tmp_path / "pipe")


def test_the_newest_search_is_the_one_that_ended_last_and_counts(tmp_path):
    """Folders of searches are named by what was searched: their order says nothing."""
    home = tmp_path / "stacks" / "chat" / "tune"
    for name, hour, outcome, depth in (
        ("ffff", 10, "chosen", 1),
        ("0000", 11, "chosen", 2),
        ("8888", 12, "invalid", None),
    ):
        at = f"2026-11-30T{hour}:00:00Z"
        keep(home / name, {**TUNED, "started_at": at, "outcome": outcome, "depth": depth})
    assert newest_tuning("chat", tmp_path).depth == 2
    assert newest_tuning("other", tmp_path) is None
