"""`doctor`: every obstacle of this host at once; nothing is changed."""

from pathlib import Path


def test_no_docker(cli):
    answer = cli("doctor", "--json", PATH=cli.programs("uname"))
    assert answer.status == 15
    found = answer.json["findings"]
    assert "no_docker" in {item["code"] for item in found}
    assert all(item["severity"] in ("info", "warning", "error") for item in found)
    assert list(answer.json) == ["findings"]
    assert cli.written() == []


def test_no_docker_for_people(cli):
    answer = cli("doctor", PATH=cli.programs("uname"))
    assert answer.status == 15
    assert "no_docker" in answer.out
    assert [line for line in answer.out.splitlines() if len(line) > 80] == []


def test_a_machine_that_is_not_known_is_an_obstacle_too(cli):
    """An architecture that no profile is for."""
    uname = Path(cli.programs()) / "uname"
    uname.write_text("#!/bin/sh\necho riscv64\n")
    uname.chmod(0o755)
    answer = cli("doctor", "--json", PATH=str(uname.parent))
    codes = [item["code"] for item in answer.json["findings"] if item["severity"] == "error"]
    assert answer.status == 15
    assert len(codes) >= 2


def test_nothing_stands_in_the_way(cli):
    """A docker that answers as a healthy one does."""
    folder = Path(cli.programs("uname"))
    docker = folder / "docker"
    docker.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        'info) echo \'{"ServerVersion": "27.5.1", "Runtimes": {"runc": {}, "nvidia": {}}, '
        '"DockerRootDir": "/", "Driver": "overlay2", "Architecture": "x86_64", '
        '"KernelVersion": "6.1"}\';;\n'
        "compose) echo 2.40.0;;\n"
        "esac\n"
    )
    docker.chmod(0o755)
    answer = cli("doctor", PATH=str(folder))
    assert answer.status == 0, answer.out
