"""Options that say how to deploy: each reaches the board's code, or is refused there."""

import json

import pytest

from tests.cli.harness import assert_refusal_shape

SMALL = ("deploy", "--model", "smollm2-135m", "--offline")


@pytest.mark.parametrize(("seconds", "status"), [("1", 2), ("nan", 2), ("x", 2), ("-1", 2)])
def test_a_time_to_confirm_that_makes_no_sense_is_usage(cli, seconds, status):
    answer = cli(*SMALL, "--confirm-within", seconds, PATH=docker(cli))
    assert answer.status == status, answer.err
    assert cli.written() == []


DOCKER = """#!/bin/sh
case "$1" in
info) echo '{"ServerVersion": "27.5.1", "Runtimes": {"runc": {}}, "DockerRootDir": "/",
  "Driver": "overlay2", "Architecture": "x86_64", "KernelVersion": "6.1"}';;
ps) ;;
image) exit 1;;
compose) echo 2.40.0;;
esac
"""


def docker(cli) -> str:
    program = cli.here.parent / "bin" / "docker"
    if program.exists():
        return str(program.parent)
    path = cli.programs("uname")
    program.write_text(DOCKER)
    program.chmod(0o755)
    return path


def test_a_rollout_id_that_is_none_is_usage(cli):
    (cli.here / "state").mkdir()
    answer = cli(*SMALL, "--rollout", "a b", PATH=docker(cli))
    assert answer.status == 2
    assert_refusal_shape(answer.err)


def test_check_is_the_dry_run_and_a_held_board_shows_in_it(cli):
    (cli.here / "state").mkdir()
    (cli.here / "state" / "hold").write_text("camera job")
    before = cli.written()
    answer = cli(*SMALL, "--check", "--json", PATH=docker(cli))
    found = {item["code"]: item for item in json.loads(answer.out)["findings"]}
    assert answer.status == 15
    assert "camera job" in found["deferred"]["message"]
    assert cli.written() == before


def test_a_held_board_is_13_before_anything_is_pulled(cli):
    (cli.here / "state").mkdir()
    (cli.here / "state" / "hold").write_text("camera job")
    words = [word for word in SMALL if word != "--offline"]
    answer = cli(*words, PATH=docker(cli))
    assert answer.status == 13, answer.err
    assert "camera job" in answer.err
    assert_refusal_shape(answer.err[answer.err.index("error: ") :])


def test_plan_options_stay_refused_beside_a_stack_but_these_are_not(cli):
    words = ("--force", "--take-over", "--allow-downgrade", "--rollout", "r1")
    assert cli("deploy", "nothing", *words, "--context", "4096").status == 2
    answer = cli("deploy", "nothing", *words)
    assert "no stack called nothing" in answer.err
