"""Compose is called with its project, its folder and its one file, always."""

from pathlib import Path

import pytest

from speccompose.device.command import Completed
from speccompose.device.compose_cli import Compose
from speccompose.device.docker_cli import Docker
from speccompose.device.errors import DeviceError
from tests.device.fakes import FakeDocker


def compose(board, **fake: object) -> tuple[Compose, FakeDocker]:
    docker = FakeDocker(**fake)
    return Compose(Docker(docker), "speccompose-tiny", board.write()), docker


def test_up_names_everything_and_pulls_nothing(board):
    made, docker = compose(board)
    made.up()
    words = docker.calls[-1]
    assert words[:4] == ("docker", "compose", "--project-name", "speccompose-tiny")
    assert words[words.index("--project-directory") + 1] == str(made.folder)
    assert words[words.index("--file") + 1] == str(made.folder / "compose.yaml")
    assert words[-5:] == ("up", "--detach", "--remove-orphans", "--pull", "never")


def test_an_old_compose_is_not_given_what_it_does_not_know(board):
    made, docker = compose(board, compose_versions={"docker compose": "2.2.3"})
    made.up(recreate=True)
    assert "--pull" not in docker.calls[-1]
    assert docker.calls[-1][-1] == "--force-recreate"


def test_volumes_go_only_when_asked(board):
    made, docker = compose(board)
    made.down()
    assert "--volumes" not in docker.calls[-1]
    made.down(volumes=True)
    assert "--volumes" in docker.calls[-1]


def test_overrides_are_read_after_the_release_s_own_file(board):
    made, docker = compose(board)
    made._replace(overrides=(Path("/tmp/over.yaml"),)).stop()
    files = [w for i, w in enumerate(docker.calls[-1]) if docker.calls[-1][i - 1] == "--file"]
    assert files == [str(made.folder / "compose.yaml"), "/tmp/over.yaml"]


def test_what_compose_says_is_told_without_secrets(board):
    def run(argv, timeout_s):
        if "version" in argv:
            return Completed(tuple(argv), 0, "2.40.0", "")
        return Completed(tuple(argv), 1, "", "network busy\nbad hf_abcdefghijkl token\n")

    with pytest.raises(DeviceError) as caught:
        Compose(Docker(run), "p", board.write()).up()
    assert caught.value.code == "compose_failed"
    assert caught.value.details == ("network busy", "bad hf_*** token")
