"""confirm, recover, drift and prune as verbs: status, JSON, text."""

import json

import pytest

from tests.cli.harness import assert_refusal_shape
from tests.cli.test_orders import docker


def test_nothing_here(cli):
    path = docker(cli)
    assert "nothing has drifted" in cli("drift", PATH=path).out
    assert json.loads(cli("drift", "--json", PATH=path).out) == {"drift": []}
    assert "no stack" in cli("recover", PATH=path).out
    assert "nothing to prune" in cli("prune", PATH=path).out
    assert json.loads(cli("prune", "--json", "--dry-run", PATH=path).out)["dry_run"] is True
    assert cli.written() == []


@pytest.mark.parametrize("words", [("confirm", "nothing"), ("drift", "nothing")])
def test_an_unknown_stack(cli, words):
    answer = cli(*words, PATH=docker(cli))
    assert answer.status == 2
    assert_refusal_shape(answer.err)


def stopped(cli) -> None:
    """A stack that was deployed once; its container is gone."""
    from tests.cli.harness import THOR

    cli("render", *THOR, "--model", "qwen3-8b", "-o", "stack")
    folder = cli.here / "stack"
    digest = json.loads((folder / "plan.json").read_text())["digest"].removeprefix("sha256:")
    home = cli.here / "state" / "stacks" / "qwen3-8b"
    (home / "releases").mkdir(parents=True)
    folder.rename(home / "releases" / digest)
    (home / "current").symlink_to(f"releases/{digest}")


def test_a_container_that_is_gone_has_drifted_and_that_is_16(cli):
    stopped(cli)
    answer = cli("drift", PATH=docker(cli))
    assert answer.status == 16
    assert "qwen3-8b: container_missing" in answer.out
    found = json.loads(cli("drift", "qwen3-8b", "--json", PATH=docker(cli)).out)["drift"]
    assert {"container_missing", "weights_changed"} <= {item["code"] for item in found}


def test_what_is_committed_has_nothing_to_confirm(cli):
    stopped(cli)
    answer = cli("confirm", "qwen3-8b", "--rollout", "r1", PATH=docker(cli))
    assert answer.status == 2
    assert "nothing of rollout r1 to confirm" in answer.err
    answer = cli("confirm", "qwen3-8b", "--no", PATH=docker(cli))
    assert (answer.status, answer.out.splitlines()[0]) == (0, "qwen3-8b is committed already")


def test_recover_without_docker_is_15_where_something_is_open(cli):
    stopped(cli)
    home = cli.here / "state" / "stacks" / "qwen3-8b"
    digest = "sha256:" + next((home / "releases").iterdir()).name
    before = {"current": None, "previous": None, "running": False}
    text = {"version": 1, "stack": "qwen3-8b", "phase": "switching", "digest": digest}
    text |= {"container": None, "since": "", "before": before}
    (home / "state.json").write_text(json.dumps(text))
    path = docker(cli)
    program = cli.here.parent / "bin" / "docker"
    program.rename(program.with_name("off"))
    answer = cli("recover", PATH=path)
    assert answer.status == 15
    assert "docker is not installed" in answer.out
    program.with_name("off").rename(program)
    answer = cli("recover", "--json", PATH=path)
    assert (answer.status, json.loads(answer.out)["stacks"][0]["phase"]) == (0, "rolled_back")
