"""The docker command line, asked through a fake runner, and what is said when it cannot be."""

import json

import pytest

from speccompose.device.command import TIMED_OUT, Completed
from speccompose.device.docker_cli import Docker
from speccompose.device.errors import DeviceError
from tests.device.fakes import FakeDocker


def test_info_is_typed():
    info = Docker(FakeDocker()).info()
    assert info.version == "28.1.0"
    assert info.runtimes == ("nvidia", "runc")
    assert info.kernel == "6.8.12-tegra"


def test_without_docker_the_way_out_is_named():
    with pytest.raises(DeviceError) as caught:
        Docker(FakeDocker(installed=False)).info()
    assert (caught.value.status, caught.value.code) == (15, "no_docker")
    assert "docker.io" in caught.value.hint


def test_a_daemon_that_is_down():
    with pytest.raises(DeviceError) as caught:
        Docker(FakeDocker(answers=False)).info()
    assert (caught.value.status, caught.value.code) == (15, "docker_down")
    assert "Cannot connect" in caught.value.details[0]


def test_a_daemon_that_is_down_is_also_seen_where_the_client_exits_with_0():
    body = json.dumps({"ServerErrors": ["permission denied while trying to connect"]})
    with pytest.raises(DeviceError) as caught:
        Docker(lambda argv, timeout_s: Completed(tuple(argv), 0, body, "")).info()
    assert caught.value.code == "docker_down"
    assert "group" in caught.value.hint


def test_the_plugin_comes_first_then_the_program():
    both = FakeDocker(compose_versions={"docker compose": "2.20.2", "docker-compose": "v5.6.1"})
    assert Docker(both).compose() == (("docker", "compose"), (2, 20, 2))
    alone = FakeDocker(compose_versions={"docker-compose": "v5.6.1"})
    docker = Docker(alone)
    assert docker.compose() == (("docker-compose",), (5, 6, 1))
    asked = len(alone.calls)
    docker.compose()
    assert len(alone.calls) == asked


@pytest.mark.parametrize(
    ("versions", "told"),
    [({}, "not found"), ({"docker-compose": "1.29.2"}, "docker-compose: 1.29.2")],
)
def test_no_compose_or_the_old_one_is_refused_with_what_was_found(versions, told, tmp_path):
    docker = Docker(FakeDocker(compose_versions=versions), beside=tmp_path)
    with pytest.raises(DeviceError) as caught:
        docker.compose()
    assert (caught.value.status, caught.value.code) == (15, "no_compose")
    assert any(told in line for line in caught.value.details)


def test_the_program_in_a_virtualenv_is_the_last_resort(tmp_path):
    program = tmp_path / "docker-compose"
    program.write_text("")
    docker = Docker(FakeDocker(compose_versions={str(program): "v5.6.1"}), beside=tmp_path)
    assert docker.compose() == ((str(program),), (5, 6, 1))


def test_an_image_is_there_or_not():
    docker = Docker(FakeDocker(images={"a:1": "arm64"}))
    assert docker.image("a:1").architecture == "arm64"
    assert docker.image("a:2") is None


def test_a_container_as_inspect_shows_it():
    fake = FakeDocker()
    service = {"image": "a:1", "entrypoint": ["serve"], "command": ["--port", "1"]}
    fake.up("speccompose-x", {"services": {"server": service}}, False)
    found = Docker(fake).container("speccompose-x", "server")
    assert found.running
    assert (found.health, found.restarts, found.runtime) == ("healthy", 0, "nvidia")
    assert (found.image, found.entrypoint, found.command) == ("a:1", ("serve",), ("--port", "1"))
    assert Docker(fake).container("speccompose-y", "server") is None


def test_a_container_without_a_health_check_has_no_health():
    fake = FakeDocker()
    service = {"image": "a:1", "entrypoint": None, "command": None}
    fake.up("p", {"services": {"server": service}}, False)
    del fake.containers["p"]["State"]["Health"]
    found = Docker(fake).container("p", "server")
    assert (found.health, found.health_exit, found.entrypoint) == (None, None, ())


def test_asking_for_containers_of_a_dead_daemon_names_the_daemon():
    with pytest.raises(DeviceError) as caught:
        Docker(FakeDocker(answers=False)).container("p", "server")
    assert caught.value.code == "docker_down"


def test_a_docker_that_hangs_is_asked_once_and_told():
    asked = []

    def hangs(argv, timeout_s):
        asked.append(timeout_s)
        return Completed(tuple(argv), TIMED_OUT, "", "docker timed out")

    for ask in (lambda d: d.container("p", "server"), lambda d: d.image("a:1"), Docker.info):
        asked.clear()
        with pytest.raises(DeviceError) as caught:
            ask(Docker(hangs).within(10.0))
        assert (caught.value.status, caught.value.code) == (15, "docker_down")
        assert asked == [10.0]


@pytest.mark.parametrize("garbage", ["hello", "[]", "[{}]", "[1]", '{"Id": "x"}', "[" * 100_000])
def test_what_is_no_answer_is_not_taken_for_nothing_there(garbage):
    docker = Docker(lambda argv, timeout_s: Completed(tuple(argv), 0, garbage, ""))
    for ask in (lambda: docker.container("p", "server"), lambda: docker.image("a:1")):
        with pytest.raises(DeviceError) as caught:
            ask()
        assert (caught.value.status, caught.value.code) == (15, "docker_fault")
    with pytest.raises(DeviceError) as caught:
        docker.info()
    assert caught.value.code == "docker_down"
