"""The verbs that act, on a machine without docker or without a network: told before any change."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from speccompose.device.lock import hold
from speccompose.device.paths import Roots, StackPaths
from tests.cli.harness import THOR, assert_refusal_shape

SMALL = ("--model", "smollm2-135m")
ON_A_STACK = [
    ("pull",),
    ("verify",),
    ("status",),
    ("logs",),
    ("stop",),
    ("remove",),
    ("rollback",),
    ("accept", "--yes"),
    ("deploy",),
]
NO_DOCKER = [*ON_A_STACK[:6], ("deploy",)]
"""rollback and accept have other reasons to refuse this stack first."""


@pytest.fixture
def installed(cli) -> str:
    """A stack that was deployed once; its container is gone."""
    cli("render", *THOR, "--model", "qwen3-8b", "-o", "stack")
    folder = cli.here / "stack"
    digest = json.loads((folder / "plan.json").read_text())["digest"].removeprefix("sha256:")
    home = cli.here / "state" / "stacks" / "qwen3-8b"
    (home / "releases").mkdir(parents=True)
    folder.rename(home / "releases" / digest)
    (home / "current").symlink_to(f"releases/{digest}")
    return "qwen3-8b"


@pytest.mark.parametrize("words", ON_A_STACK, ids=" ".join)
def test_an_unknown_stack(cli, words):
    answer = cli(words[0], "nothing", *words[1:])
    assert answer.status == 2
    assert answer.out == ""
    assert_refusal_shape(answer.err)
    assert "no stack called nothing" in answer.err
    assert cli.written() == []


@pytest.mark.parametrize("words", NO_DOCKER, ids=" ".join)
def test_without_docker(cli, installed, words):
    before = cli.written()
    answer = cli(words[0], installed, *words[1:], PATH=cli.programs("uname"))
    assert answer.status == 15
    assert_refusal_shape(answer.err)
    assert "docker is not installed" in answer.err
    assert "\n  hint: " in answer.err or "\n    -> " in answer.err  # one finding, or several
    assert [path for path in cli.written() if not path.endswith(".lock")] == before


def test_deploy_without_docker(cli):
    answer = cli("deploy", *SMALL, PATH=cli.programs("uname"))
    assert answer.status == 15
    assert_refusal_shape(answer.err)
    assert not (cli.here / "state" / "stacks").exists()


def test_dry_run_without_docker_tells_it_as_a_finding(cli):
    answer = cli("deploy", *SMALL, "--dry-run", PATH=cli.programs("uname"))
    assert answer.status == 15
    assert "no_docker" in answer.out
    assert "+services:" in answer.out.replace(" ", "")
    assert cli.written() == []


def test_dry_run_as_json_is_the_plan(cli):
    answer = cli("deploy", *SMALL, "--dry-run", "--json", PATH=cli.programs("uname"))
    assert answer.json["name"] == "smollm2-135m"
    assert answer.json["digest"].startswith("sha256:")


def test_dry_run_as_json_says_what_changes_and_what_stands_in_the_way(cli):
    answer = cli("deploy", *SMALL, "--dry-run", "--json", PATH=cli.programs("uname"))
    assert answer.status == 15
    assert "no_docker" in [item["code"] for item in answer.json["findings"]]
    assert "untested" not in answer.err
    assert answer.json["current_digest"] is None
    assert "+services:" in answer.json["changes"]


def test_dry_run_of_a_folder_and_of_an_installed_stack(cli, installed):
    path = cli.programs("uname")
    cli("render", *THOR, "--model", "qwen3-8b", "--context", "512", "-o", "other", PATH=path)
    before = cli.written()
    folder = cli("deploy", "./other", "--dry-run", "--json")
    assert folder.status == 15
    assert folder.json["digest"] != folder.json["current_digest"]
    assert [line for line in folder.json["changes"] if "512" in line]
    same = cli("deploy", installed, "--dry-run")
    assert same.status == 15
    assert "qwen3-8b: nothing would change" in same.out
    assert cli.written() == before


def test_dry_run_of_a_changed_folder_is_refused(cli, installed):
    cli("render", *THOR, "--model", "qwen3-8b", "-o", "other")
    (cli.here / "other" / "compose.yaml").write_text("changed")
    assert cli("deploy", "./other", "--dry-run").status == 19


def test_status_without_stacks(cli):
    assert "no stack is installed" in cli("status", PATH=cli.programs("uname")).out
    assert cli("status", "--json").json == {"stacks": []}


@pytest.mark.parametrize("argv", [(), ("x", *SMALL)], ids=["neither", "both"])
def test_deploy_needs_either_a_model_or_a_stack(cli, argv):
    answer = cli("deploy", *argv)
    assert answer.status == 2
    assert "either --model or STACK" in answer.err
    assert_refusal_shape(answer.err)


@pytest.mark.parametrize(
    "more",
    [
        ("--context", "512"),
        ("--replan",),
        ("--assume-l4t", "36.4.3"),
        ("--set", "seed=1"),
        ("--dry-run", "--replan"),
    ],
    ids=" ".join,
)
def test_plan_options_beside_a_stack_are_not_dropped(cli, installed, more):
    answer = cli("deploy", installed, *more)
    assert answer.status == 2
    assert next(word for word in more if word != "--dry-run") in answer.err


BY_FOLDER = [words for words in ON_A_STACK if words[0] not in ("pull", "deploy")]


@pytest.mark.parametrize("words", BY_FOLDER, ids=" ".join)
def test_a_rendered_folder_means_the_stack_of_its_name(cli, installed, words):
    """Each verb answers for the folder as for the name; here, without docker, mostly a refusal."""
    path = cli.programs("uname")
    cli("render", *THOR, "--model", "qwen3-8b", "-o", "sub/mine")
    by_name = cli(words[0], installed, *words[1:], PATH=path)
    if words[0] == "rollback":
        assert by_name.status == 2
    by_folder = cli(words[0], "sub/mine", *words[1:], PATH=path)
    assert (by_folder.status, by_folder.err) == (by_name.status, by_name.err)
    assert "qwen3-8b" in by_folder.err or "docker" in by_folder.err


@pytest.mark.parametrize("words", BY_FOLDER, ids=" ".join)
def test_a_rendered_folder_that_is_not_installed(cli, words):
    cli("render", *THOR, "--model", "qwen3-8b", "--name", "other", "-o", "sub")
    answer = cli(words[0], "./sub", *words[1:])
    assert answer.status == 2
    assert "no stack called other" in answer.err


def test_a_name_and_a_folder_of_another_stack_is_ambiguous(cli, installed):
    cli("render", *THOR, "--model", "qwen3-8b", "--name", "other", "-o", installed)
    answer = cli("remove", installed)
    assert answer.status == 2
    assert_refusal_shape(answer.err)
    assert f"./{installed} means the folder" in answer.err
    assert "no stack called other" in cli("remove", f"./{installed}").err


@pytest.mark.parametrize("text", ["", "{}", '{"name": 3}', "[]"])
def test_a_folder_whose_plan_cannot_be_read(cli, text):
    (cli.here / "sub").mkdir()
    (cli.here / "sub" / "plan.json").write_text(text)
    answer = cli("stop", "./sub")
    assert answer.status == 3
    assert_refusal_shape(answer.err)


def test_a_folder_that_is_no_stack(cli):
    answer = cli("deploy", "./nowhere")
    assert answer.status == 2
    assert "plan.json" in answer.err
    assert_refusal_shape(answer.err)


def test_a_changed_folder_is_19(cli):
    cli("render", *THOR, "--model", "qwen3-8b", "-o", "stack")
    (cli.here / "stack" / "compose.yaml").write_text("changed")
    answer = cli("pull", "./stack")
    assert answer.status == 19
    assert_refusal_shape(answer.err)


DOCKER = """#!/bin/sh
case "$1" in
info) echo '{"ServerVersion": "27.5.1", "Runtimes": {"runc": {}, "nvidia": {}},
  "DockerRootDir": "/", "Driver": "overlay2", "Architecture": "%s", "KernelVersion": "6.1"}';;
image) echo '[{"Id": "sha256:1", "Architecture": "%s"}]';;
compose) echo 2.40.0;;
esac
"""


class NoHub(BaseHTTPRequestHandler):
    """A server that is no hub. A closed port would be tried for half a minute (test_hub)."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def no_hub() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), NoHub) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_hub_that_does_not_have_it_is_18(cli, no_hub):
    """The weights are missing, and what should be the hub does not know them."""
    cli("render", *THOR, "--model", "qwen3-8b", "-o", "stack")
    machine = os.uname().machine
    docker = cli.here.parent / "bin" / "docker"
    path = cli.programs("uname")
    docker.write_text(DOCKER % (machine, machine))
    docker.chmod(0o755)
    answer = cli("pull", "./stack", PATH=path, SPECCOMPOSE_HUB=no_hub)
    assert answer.status == 18, answer.err
    assert_refusal_shape(answer.err[answer.err.index("error: ") :])
    assert "nvidia/Qwen3-8B-NVFP4" in answer.err


def test_an_unreadable_token_file_is_usage(cli):
    cli("render", *THOR, "--model", "qwen3-8b", "-o", "stack")
    answer = cli("pull", "./stack", SPECCOMPOSE_HUB_TOKEN_FILE="/nowhere/token")
    assert answer.status == 2
    assert_refusal_shape(answer.err)


def test_a_locked_stack_is_12(cli, installed):
    paths = StackPaths(installed, Roots(cli.here / "state", cli.here / "secrets"))
    with hold(paths, "deploy"):
        answer = cli("stop", installed, PATH=cli.programs("uname"))
    assert answer.status == 12
    assert_refusal_shape(answer.err)


def test_rollback_without_a_release_before(cli, installed):
    answer = cli("rollback", installed)
    assert answer.status == 2
    assert_refusal_shape(answer.err)
