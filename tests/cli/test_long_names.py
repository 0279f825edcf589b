"""Names that no file system takes, and folders that are gone, for every verb that takes one."""

import pytest

from tests.cli.harness import assert_refusal_shape

LONG = "n" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("accept", LONG, "--yes"),
        ("tune", LONG, "--yes"),
        ("doctor", LONG),
        ("verify", LONG),
        ("status", LONG),
        ("accept", "--compare", LONG, "b"),
        ("lint", LONG),
        ("lock", "-o", LONG, "--model", "qwen3-8b", "--device", "agx-orin-64gb"),
        ("fleet", "plan", LONG),
    ],
)
def test_a_name_that_is_too_long(cli, words):
    answer = cli(*words)
    assert_refusal_shape(answer.err)
    assert answer.status in (2, 3), answer
    told = " ".join(answer.err.split())
    assert "name too long" in told or "no stack" in told, told


def test_a_state_folder_that_is_too_long(cli, monkeypatch):
    monkeypatch.setenv("SPECCOMPOSE_STATE", f"/{LONG}")
    answer = cli("status")
    assert answer.status in (3, 15), answer


def test_options_that_mean_nothing_beside_each_other(cli):
    said = cli("accept", "--compare", "a", "b", "--strict", "--requests", "5", "--quick")
    assert_refusal_shape(said.err)
    assert said.status == 2
    assert all(name in said.err for name in ("--strict", "--requests", "--quick"))
    said = cli("bundle", "-o", "f", "folder", "--method", "none", "--port", "5")
    assert said.status == 2
    assert all(name in said.err for name in ("--method", "--port"))
    said = cli("lock", "--model", "qwen3-8b", "--device", "agx-orin-64gb", "--offline")
    assert (said.status, "--offline" in said.err) == (2, True)
