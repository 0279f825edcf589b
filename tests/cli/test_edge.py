"""The edge: every failure becomes one message and one status; a bug says that it is one."""

import os
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


def shell(line: str, **environment: str) -> subprocess.CompletedProcess:
    """A command line as a shell runs it; `{us}` is the program."""
    line = line.format(us=f"{sys.executable} -m speccompose", plan=f"plan {' '.join(THOR + QWEN)}")
    environ = {**os.environ, "PYTHONUNBUFFERED": "", **environment}
    return subprocess.run(
        ["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, env=environ
    )


FULL = "error: cannot write the output: No space left on device\n"
CLOSED = "error: cannot write the output: it is closed\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("{us} {plan} >/dev/full", 1, FULL),
        ("{us} --version >/dev/full", 1, FULL),
        ("{us} plan --help >/dev/full", 1, FULL),
        ("{us} {plan} >&-", 1, CLOSED),
        ("{us} --version >&-", 1, CLOSED),
        ("{us} {plan} 2>&- >/dev/null", 0, ""),
        ("{us} {plan} <&- >&- 2>&-", 1, ""),
        ("{us} {plan} --depth 0 2>/dev/full", 2, ""),
        ("{us} {plan} >/dev/full 2>/dev/full", 1, ""),
    ],
)
def test_an_output_that_takes_nothing(line, status, said, unbuffered):
    done = shell(line, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (status, said)


@pytest.mark.parametrize("output", [">/dev/full", ">&-", "> >(exec 0<&-; sleep 2)"])
def test_a_refusal_keeps_its_status_and_its_message(output):
    done = shell("{us} {plan} --depth 0 --json " + output)
    assert done.returncode == ExitStatus.USAGE, done.stderr
    assert "--depth 0 is out of range" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_argument_that_is_no_text(cli):
    for argv in (("plan", "--model", "a\udcff"), ("\udcff",), ("plan", "--facts", "b\udcff")):
        answer = cli(*argv)
        assert answer.status == ExitStatus.USAGE
        assert_refusal_shape(answer.err)
        assert "\\udcff" in answer.err


def test_the_current_folder_is_gone(cli):
    gone = cli.here / "gone"
    gone.mkdir()
    cli.monkeypatch.chdir(gone)
    gone.rmdir()
    answer = cli("plan", *THOR, *QWEN)
    assert answer.status == ExitStatus.USAGE
    assert_refusal_shape(answer.err)
