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


HEALTHY = """#!/bin/sh
case "$1" in
info) echo '{"ServerVersion": "27.5.1", "Runtimes": {"runc": {}, "nvidia": {}},
 "DockerRootDir": "/", "Driver": "vfs", "Architecture": "x86_64", "KernelVersion": "6.1"}';;
compose) echo 2.40.0;;
image|volume) exit 1;;
esac
"""


def with_docker(cli, text: str = HEALTHY) -> str:
    folder = Path(cli.programs("uname"))
    (folder / "docker").write_text(text)
    (folder / "docker").chmod(0o755)
    return str(folder)


def test_each_finding_carries_evidence_and_fixes(cli):
    answer = cli("doctor", "--json", PATH=with_docker(cli))
    found = {item["code"]: item for item in answer.json["findings"]}
    assert found["vfs_driver"]["evidence"] == ["docker info: Driver vfs"]
    assert set(found["vfs_driver"]) == {
        *("severity", "code", "message", "hint", "source", "evidence", "fix")
    }


def test_a_rendered_stack_is_examined_with_its_needs(cli):
    path = with_docker(cli)
    assert cli("render", "--model", "smollm2-135m", "-o", "out").status == 0
    answer = cli("doctor", "./out", "--json", PATH=path)
    codes = {item["code"]: item["severity"] for item in answer.json["findings"]}
    assert codes["would_pull"] == "info"
    assert answer.status == (15 if "error" in codes.values() else 0)
    assert cli("doctor", "no-such-stack", PATH=path).status == 2


def test_a_log_by_hand(cli):
    log = cli.here / "log.txt"
    log.write_text("x\nValueError: No available memory for the cache blocks. Try\n")
    answer = cli("doctor", "--log", "log.txt")
    assert answer.status == 0
    assert answer.out.startswith("cause: kv_none\n")
    body = cli("doctor", "--log", "log.txt", "--json").json
    assert [(item["id"], item["line"]) for item in body["faults"]] == [("kv_none", 2)]
    log.write_text("all is well")
    assert "nothing in this log is known" in cli("doctor", "--log", "log.txt").out


def test_a_log_that_cannot_be_read(cli):
    (cli.here / "binary").write_bytes(b"\xff\xfe\0")
    for name in ("absent", ".", "binary"):
        answer = cli("doctor", "--log", name)
        assert answer.status == 3, name
        assert answer.err.startswith("error: cannot read")
    assert cli("doctor", "stack", "--log", "x").status == 2
    assert cli("logs", "x", "--explain", "--follow").status == 2


def test_offline_never_fails(cli):
    """Sources that nobody reaches are told, and a deploy from what is here still works."""
    answer = cli(
        "doctor", "--online", "--json", PATH=with_docker(cli), SPECCOMPOSE_HUB="http://127.0.0.1:1"
    )
    codes = {item["code"]: item["severity"] for item in answer.json["findings"]}
    assert codes["source_unreachable"] == "warning"
    assert answer.status == 0
