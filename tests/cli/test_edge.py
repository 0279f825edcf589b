"""The edge: every failure becomes one message and one status; a bug says that it is one."""

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from speccompose.errors import ExitStatus
from tests.cli.harness import THOR, assert_refusal_shape

ROOT = Path(__file__).resolve().parent.parent.parent
QWEN = ("--model", "qwen3-8b")


def test_done(cli):
    assert cli("plan", *THOR, *QWEN).status == ExitStatus.DONE


def test_a_bad_option_names_the_help(cli):
    answer = cli("plan", "--engine", "tgi")
    assert answer.status == ExitStatus.USAGE
    assert_refusal_shape(answer.err)
    assert "hint: speccompose plan --help" in answer.err


def test_a_bug_is_status_1_with_a_trace(cli, data_root):
    """A template that asks for a value which no view has can only be our mistake."""
    data = cli.here.parent / "data"
    for name in ("profiles", "images"):
        data.mkdir(exist_ok=True)
        (data / name).symlink_to(data_root / name)
    shutil.copytree(data_root / "compose", data / "compose")
    (data / "compose" / "compose.yaml.j2").write_text("name: {{ nothing }}\n")
    argv = ("render", *THOR, *QWEN, "-o", "stack")
    answer = cli(*argv, SPECCOMPOSE_DATA=str(data), SPECCOMPOSE_CACHE="")
    assert answer.status == ExitStatus.BUG
    assert "Traceback" in answer.err
    assert "bug of speccompose" in answer.err
    assert cli.written() == []


def test_a_compose_file_that_says_something_else_is_our_bug(cli, data_root):
    data = cli.here.parent / "data"
    data.mkdir()
    for name in ("profiles", "images"):
        (data / name).symlink_to(data_root / name)
    shutil.copytree(data_root / "compose", data / "compose")
    template = data / "compose" / "compose.yaml.j2"
    template.write_text(
        template.read_text().replace("    command:\n", '    command:\n      - "x"\n')
    )
    argv = ("render", *THOR, *QWEN, "-o", "stack")
    answer = cli(*argv, SPECCOMPOSE_DATA=str(data), SPECCOMPOSE_CACHE="")
    assert answer.status == ExitStatus.BUG
    assert "does not say what was planned (command)" in " ".join(answer.err.split())
    assert cli.written() == []


@pytest.mark.parametrize("sign", ["INT", "TERM", "HUP"])
def test_interrupted(cli, sign):
    """A docker that sends us the signal: as Ctrl-C, a stopped service, or a lost session."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    fake = Path(cli.programs("sh", "uname")) / "docker"
    fake.write_text(f"#!/bin/sh\nkill -{sign} $PPID\nexec /bin/sleep 5\n")
    fake.chmod(0o755)
    folder = cli.here / "state" / "stacks" / "x" / "releases"
    folder.mkdir(parents=True)
    answer = cli("status", PATH=str(fake.parent))
    assert answer.status == ExitStatus.INTERRUPTED
    assert answer.err.strip() == "interrupted"


def test_a_reader_that_has_gone_is_no_error():
    line = f"{sys.executable} -m speccompose catalog list --json | /usr/bin/head -c 10"
    code = f"set -o pipefail; {line}"
    done = subprocess.run(["bash", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
