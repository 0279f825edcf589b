"""The on-board program as a process: JSON out, one status, on the oldest Python there is."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docker.stacks import StackText, write_stack

ROOT = Path(__file__).resolve().parent.parent.parent


def run(*words: str, python: str = sys.executable, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [python, "-m", "speccompose.device", *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_stacks(tmp_path):
    done = run("status", SPECCOMPOSE_STATE=str(tmp_path))
    assert (done.returncode, json.loads(done.stdout)) == (0, {"stacks": []})


def test_an_error_is_json_for_programs_and_text_for_people(tmp_path):
    done = run("--state", str(tmp_path), "stop", "nothing")
    error = json.loads(done.stdout)["error"]
    assert done.returncode == error["status"] == 2
    assert done.stderr.startswith("error: no stack called nothing")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("dance",), 2),
        ((), 2),
        (("deploy",), 2),
        (("deploy", "./nowhere"), 3),
        (("probe", "--root", "/nowhere"), 3),
        (("accept", "nothing"), 2),
    ],
)
def test_statuses(tmp_path, words, status):
    assert run("--state", str(tmp_path), *words).returncode == status


def test_without_docker_a_deploy_is_15_and_writes_nothing(tmp_path):
    models, secrets = tmp_path / "state" / "models", tmp_path / "secrets"
    folder = write_stack(tmp_path / "stack", StackText("tiny", 8099, models, secrets))
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    done = run("--state", str(tmp_path / "state"), "deploy", str(folder), PATH=str(bin_dir))
    assert done.returncode == 15
    assert "docker is not installed" in done.stderr
    assert not (tmp_path / "state" / "stacks" / "tiny").exists()


def test_a_changed_folder_is_19(tmp_path):
    text = StackText("tiny", 8099, tmp_path / "models", tmp_path / "secrets")
    folder = write_stack(tmp_path / "stack", text)
    (folder / "compose.yaml").write_text("changed")
    assert run("--state", str(tmp_path / "state"), "deploy", str(folder)).returncode == 19


def test_probe_prints_facts():
    facts = json.loads(run("probe").stdout)
    assert facts["facts"] == 1
    assert "/proc/meminfo" in facts["files"]


def old_python(version: str) -> str:
    """An interpreter of an old version, when this machine has one that runs."""
    places = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
    for candidate in [shutil.which(f"python{version}"), *map(str, sorted(places))]:
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    pytest.skip(f"no Python {version} here; test_the_source_is_python_3_8 checks the grammar")


def test_every_module_and_verb_loads_on_python_3_8(tmp_path):
    python = old_python("3.8")
    modules = sorted(path.stem for path in (ROOT / "speccompose/device").glob("[a-z]*.py"))
    lines = "\n".join(f"import speccompose.device.{name}" for name in modules)
    done = subprocess.run([python, "-c", lines], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert run("status", python=python, SPECCOMPOSE_STATE=str(tmp_path)).returncode == 0
    assert run("deploy", "nothing", python=python, SPECCOMPOSE_STATE=str(tmp_path)).returncode == 2


def test_probe_runs_on_python_3_6_and_the_rest_says_what_it_needs(tmp_path):
    python = old_python("3.6")
    assert json.loads(run("probe", python=python).stdout)["facts"] == 1
    done = run("status", python=python, SPECCOMPOSE_STATE=str(tmp_path))
    assert done.returncode == 15
    assert "Python 3.8" in done.stderr


def test_the_source_is_python_3_8(tmp_path):
    """Where no old interpreter is at hand, the grammar at least."""
    for path in (ROOT / "speccompose/device").glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 8))
    tables = sorted(path.stem for path in (ROOT / "speccompose/device").glob("verb*.py"))
    for name in ("__main__", "probe", "command", "errors", "__init__", *tables):
        path = ROOT / f"speccompose/device/{name}.py"
        ast.parse(path.read_text(), feature_version=(3, 6))
        assert "from __future__" not in path.read_text()
