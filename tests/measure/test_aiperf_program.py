"""AIPerf is found before anything is interrupted, or its absence is told with what to do."""

import re
from pathlib import Path

import pytest

from speccompose.device.command import Completed
from speccompose.device.errors import DeviceError
from speccompose.measure.aiperf_program import find_aiperf, last_words
from tests.measure.fake_aiperf import install


def refusal(*places, beside=None):
    with pytest.raises(DeviceError) as caught:
        find_aiperf(":".join(map(str, places)), beside=beside or Path("/nonexistent"))
    return caught.value


@pytest.mark.parametrize(
    ("said", "version"),
    [("0.11.0", (0, 11)), ("0.13.2", (0, 13)), ("aiperf 0.12.0", (0, 12)), ("0.13", (0, 13))],
)
def test_it_is_found_on_the_path(tmp_path, said, version):
    found = find_aiperf(str(install(tmp_path, version=said)), beside=Path("/nonexistent"))
    assert (found.program, found.version) == (str(tmp_path / "aiperf"), version)


def test_the_one_beside_this_python_comes_first(tmp_path):
    beside, elsewhere = install(tmp_path / "a"), install(tmp_path / "b", version="0.11.0")
    assert find_aiperf(str(elsewhere), beside=beside).version == (0, 13)


def test_none_is_told_with_how_to_get_it(tmp_path):
    error = refusal(tmp_path)
    assert (error.status, error.code) == (15, "aiperf_missing")
    assert "speccompose[aiperf]" in error.hint


@pytest.mark.parametrize("said", ["0.10.0", "0.14.0", "1.0.0", "0.9"])
def test_a_version_that_is_not_known_is_refused(tmp_path, said):
    error = refusal(install(tmp_path, version=said))
    assert (error.status, error.code) == (15, "aiperf_version")
    assert error.brief == f"AIPerf {'.'.join(said.split('.')[:2])} is not one that works here"
    assert "wanted: 0.11 or newer, before 0.14" in error.details


@pytest.mark.parametrize("wrong", [{"version": "unknown"}, {"version_status": 1}])
def test_one_that_does_not_run_is_told(tmp_path, wrong):
    error = refusal(install(tmp_path, **wrong))
    assert (error.status, error.code) == (15, "aiperf_broken")


def test_a_program_of_that_name_that_is_none(tmp_path):
    (tmp_path / "aiperf").write_text("#!/nonexistent/python\n")
    (tmp_path / "aiperf").chmod(0o755)
    error = refusal(tmp_path)
    assert error.code == "aiperf_broken"
    assert "cannot be started" in error.details[0]


def test_the_extra_asks_for_the_versions_that_are_taken():
    root = Path(__file__).resolve().parent.parent.parent
    text = (root / "pyproject.toml").read_text()
    assert re.search(
        r"^aiperf = \[\"aiperf>=0\.11,<0\.14; python_version >= '3\.11'\"\]$", text, re.M
    )


def test_before_twelve_system_messages_are_requests(tmp_path):
    def version(said):
        return find_aiperf(str(install(tmp_path, version=said)), beside=Path("/nonexistent"))

    assert version("0.11.0").sends_system_messages_alone
    assert not version("0.12.0").sends_system_messages_alone


def test_the_environment_is_not_the_users(tmp_path, monkeypatch):
    """Proxies, tokens and HF_HUB_OFFLINE stay out; the scratch folder goes."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy")
    program = tmp_path / "aiperf"
    program.write_text("#!/bin/sh\nenv\necho 0.13.0\n")
    program.chmod(0o755)
    found = find_aiperf(str(tmp_path), beside=Path("/nonexistent"))
    done = found.call([], timeout_s=10, secrets={"ONLY": "this"})
    said = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    assert not {"HF_HUB_OFFLINE", "HTTP_PROXY"} & set(said)
    assert said["ONLY"] == "this"
    assert said["HOME"] == said["TMPDIR"] != str(Path.home())
    assert not Path(said["HOME"]).exists()


def test_last_words_are_those_that_say_what_went_wrong():
    out = "\n".join(
        [
            "10:00:00 INFO     Starting",
            "10:00:01 ERROR    no such file",
            "ValueError: that is wrong",
            "━━━━━",
            *(f"Log File: {number}" for number in range(9)),
        ]
    )
    assert last_words(Completed((), 1, out, "")) == [
        "10:00:01 ERROR no such file",
        "ValueError: that is wrong",
    ]
    assert last_words(Completed((), 1, "", "one\ntwo\n\n")) == ["one", "two"]
