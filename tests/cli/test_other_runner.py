"""--runner aiperf: made when it is needed, asked for answers as long as wanted, never silently."""

from pathlib import Path

import pytest

from speccompose.cli.other_runner import output_tokens_of, runner_of, tell_reports
from speccompose.device.dataset import builtin
from speccompose.device.errors import DeviceError
from speccompose.errors import UsageError
from tests.cli.harness import assert_refusal_shape
from tests.measure.fake_aiperf import install
from tests.measure.test_aiperf_report import measured

GIVEN = {"runner": "aiperf", "quick": False, "category": "qa", "requests": 2, "osl": None}


def test_it_is_looked_for_only_when_it_is_known_what_is_measured(tmp_path, monkeypatch):
    """An acceptance refused for another reason does not want AIPerf."""
    monkeypatch.setenv("PATH", str(tmp_path))
    maker = runner_of(GIVEN)
    assert maker.name == "aiperf"
    with pytest.raises(DeviceError) as caught:
        maker.make(builtin(), tmp_path)
    assert caught.value.code == "aiperf_missing"


def test_what_was_asked_for_reaches_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin")))
    made = runner_of({**GIVEN, "osl": 99}).make(builtin(), tmp_path / "kept")
    assert (made.asked.category, made.asked.requests, made.asked.output_tokens) == ("qa", 2, 99)
    assert (made.root, made.dataset) == (tmp_path / "kept", builtin())
    assert runner_of(GIVEN).make(builtin(), tmp_path).asked.output_tokens == 4096


def test_the_native_runner_needs_nobody():
    native = {**GIVEN, "runner": "native"}
    assert runner_of(native) is None
    assert output_tokens_of(native) is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"quick": True}, "quick_with_runner"),
        ({"runner": "native", "osl": 9}, "osl_without_aiperf"),
    ],
)
def test_options_that_do_not_go_together(change, code):
    with pytest.raises(UsageError) as caught:
        runner_of({**GIVEN, **change})
    assert caught.value.code == code


@pytest.mark.parametrize("verb", ["accept", "tune"])
def test_an_option_of_the_other_runner_is_refused(cli, verb):
    answer = cli(verb, "x", "--yes", "--osl", "9")
    assert answer.status == 2
    assert_refusal_shape(answer.err)
    assert "--osl 9 goes with --runner aiperf only" in answer.err


def test_answers_are_as_long_as_said():
    assert output_tokens_of(GIVEN) == 4096
    assert output_tokens_of({**GIVEN, "osl": 64}) == 64


def test_its_reports_are_told_after_a_measurement(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin")))
    for depth in ("depth-0", "depth-3"):
        measured(tmp_path / "kept" / depth / "aiperf" / "c1-r1", 10.0)
    said = []
    tell_reports(GIVEN, str(tmp_path / "kept"), said.append)
    assert [line.message.partition(": ")[0] for line in said] == [
        "AIPerf's throughput report of depth-0",
        "AIPerf's throughput report of depth-3",
    ]
    assert all(Path(line.message.partition(": ")[2]).exists() for line in said)


def test_a_report_that_fails_costs_a_note(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin", report_fails=True)))
    measured(tmp_path / "kept/depth-0/aiperf/c1-r1", 10.0)
    said = []
    tell_reports(GIVEN, str(tmp_path / "kept"), said.append)
    assert "none: Error: no SPEED-Bench" in said[0].message


def test_nothing_is_told_where_nothing_was_measured(tmp_path):
    said = []
    tell_reports({**GIVEN, "runner": "native"}, str(tmp_path), said.append)
    tell_reports(GIVEN, None, said.append)
    assert said == []
