"""`check doctor` as a process: JSON findings, status 15 when a deploy would fail, no crash."""

import json
import subprocess
import sys
from pathlib import Path

from speccompose.world.program import onboard_program

DOCKER = """#!/bin/sh
case "$1" in
info) echo '{"ServerVersion": "27.5.1", "Runtimes": {"runc": {}}, "DockerRootDir": "/",
 "Driver": "vfs", "Architecture": "x86_64", "KernelVersion": "6.1"}';;
compose) echo 2.40.0;;
esac
"""


def check(
    tmp_path: Path, *words: str, docker: str | None, verb: str = "doctor"
) -> subprocess.CompletedProcess:
    program = tmp_path / "check"
    program.write_bytes(onboard_program())
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    if docker is not None:
        (programs / "docker").write_text(docker)
        (programs / "docker").chmod(0o755)
    return subprocess.run(
        [sys.executable, str(program), "--state", str(tmp_path / "state"), verb, *words],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_host_that_can_serve(tmp_path):
    done = check(tmp_path, docker=DOCKER)
    body = json.loads(done.stdout)
    found = {item["code"]: item for item in body["findings"]}
    assert done.returncode == 0, done.stderr
    assert found["vfs_driver"]["severity"] == "warning"
    assert "warning" in done.stderr
    assert "vfs_driver: docker stores images" in done.stderr
    assert not (tmp_path / "state").exists()


def test_a_host_that_cannot(tmp_path):
    done = check(tmp_path, docker=None)
    body = json.loads(done.stdout)
    assert (done.returncode, body["outcome"]) == (15, "refused")
    assert "no_docker" in {item["code"] for item in body["findings"]}


def test_a_clock_of_somebody_else(tmp_path):
    done = check(tmp_path, "--now", "1000000", docker=DOCKER)
    assert "clock_skewed" in {item["code"] for item in json.loads(done.stdout)["findings"]}
    assert done.returncode == 15


def test_a_folder_that_is_no_stack(tmp_path):
    done = check(tmp_path, str(tmp_path), docker=DOCKER)
    assert done.returncode == 3
    assert "error" in json.loads(done.stdout)


def test_a_log_is_explained_on_the_board(tmp_path):
    log = tmp_path / "log"
    log.write_text("x\nllama_model_load: unknown model architecture: 'new'\n")
    done = check(tmp_path, "--log", str(log), docker=None, verb="explain")
    (found,) = json.loads(done.stdout)["faults"]
    assert (found["id"], found["line"], done.returncode) == ("architecture_unknown", 2, 0)
    absent = check(tmp_path, "--log", str(tmp_path / "no"), docker=None, verb="explain")
    assert absent.returncode == 3
