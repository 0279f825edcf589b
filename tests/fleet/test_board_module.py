"""The module that Ansible copies to boards: run as there, with a program that answers."""

import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from speccompose.device.incoming import incoming_folder
from speccompose.device.paths import Roots
from speccompose.fleet.library import speccompose_board
from speccompose.fleets import bundle_bytes
from speccompose.plan.reread import read_service
from speccompose.world.stack_folder import write_stack
from tests.golden_cases import render_case

ROOT = Path(__file__).resolve().parents[2]
MODULE = Path(speccompose_board.__file__)
PROGRAM = b"""\
import json, sys
data = sys.stdin.buffer.read()
print(json.dumps({"argv": sys.argv[1:], "sum": sum(data), "bytes": len(data)}))
"""


def run(place: Path, payload: bytes = b"", program: bytes = PROGRAM, **call: object) -> dict:
    """As Ansible runs a WANT_JSON module: the file, and a file of arguments."""
    whole = {"argv": ["check", "report"], "sudo": False, "timeout_s": 20, "changes": True, **call}
    arguments = {
        "call": base64.b64encode(json.dumps(whole).encode()).decode(),
        "payload": base64.b64encode(payload).decode(),
        "program": base64.b64encode(program).decode(),
    }
    file, temporary = place / "arguments", place / "tmp"
    file.write_text(json.dumps(arguments))
    temporary.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, str(MODULE), str(file)]
    done = subprocess.run(
        argv, env=environment, capture_output=True, text=True, check=True, timeout=20
    )
    assert list(temporary.iterdir()) == [], "a program for one call goes with it"
    return json.loads(done.stdout)


def test_f_01_the_program_gets_words_and_bytes_as_they_are(tmp_path):
    """Nothing is echoed, quoted or read by a shell on the way (F-01, C-03)."""
    config = '{"method":"mtp","num_speculative_tokens":2}'
    words = ["check", config, "$(id)", "a 'b' \"c\"", "{{ x }}"]
    payload = bytes(range(256)) * 300
    done = run(tmp_path, payload, argv=words)
    assert done["answer"] == {"argv": words[1:], "sum": sum(payload), "bytes": len(payload)}


@pytest.mark.parametrize("case", ["thor-qwen3-8b-dflash", "agx-orin-r39-qwen3.6-27b-mtp"])
def test_c_03_what_was_planned_is_what_a_board_reads(case, catalog, tmp_path):
    """Plan -> YAML -> tar -> base64 -> the board's folder -> argv -> JSON."""
    stack = render_case(case, catalog)
    rendered, roots = tmp_path / "rendered", Roots(tmp_path / "state", tmp_path / "secrets")
    write_stack(stack, rendered)
    trees = ("--state", str(roots.state), "--secrets", str(roots.secrets))
    words = ("receive", stack.name, "--digest", stack.digest)
    argv = [sys.executable, "-m", "speccompose.device", *trees, *words]
    done = run(tmp_path, bundle_bytes(rendered), b"", argv=argv)
    assert done["status"] == 0, done
    folder = incoming_folder(stack.name, stack.digest, roots)
    service = read_service((folder / "compose.yaml").read_text())
    plan = json.loads((folder / "plan.json").read_text())
    assert list(service.command) == plan["command"]
    config = json.loads(service.command[service.command.index("--speculative-config") + 1])
    planned = plan["speculation"]
    assert (config["method"], config["num_speculative_tokens"]) == (
        planned["method"],
        planned["depth"],
    )


def test_a_program_that_is_not_there_is_not_enrolled(tmp_path):
    done = run(tmp_path, program=b"", argv=[str(tmp_path / "check"), "rollout"])
    assert (done["failed"], done["reason"]) == (True, "not_enrolled")


def test_f_02_nobody_is_waited_for(tmp_path):
    done = run(tmp_path, program=b"import time; time.sleep(30)", timeout_s=1)
    assert (done["failed"], done["reason"]) == (True, "timeout")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("sudo: a password is required\n", "sudo"),
        ("sudo: a terminal is required to read the password; use -S\n", "sudo"),
        ("sudo: /usr/local/lib/speccompose/check: command not found\n", "not_enrolled"),
    ],
)
def test_f_02_a_right_that_is_missing_is_named(said, reason):
    done = speccompose_board.told(1, "", f"a banner\n{said}")
    assert (done["failed"], done["reason"]) == (True, reason)
    assert done["msg"] == said.strip()


@pytest.fixture
def nobody():
    """Somebody who is not root; root needs no sudo."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def sudo(monkeypatch):
    """A sudo that tells its words and refuses, where everybody may run it."""
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "sudo"
        program.write_text('#!/bin/sh\necho "sudo: $*" >&2\nexit 1\n')
        for path in (Path(place), program):
            path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
        yield


def test_f_02_sudo_is_told_to_ask_nobody(sudo, nobody):
    call = {"argv": ["check", "report"], "sudo": True, "timeout_s": 20}
    done = speccompose_board.run(call, b"", b"")
    assert (done["reason"], done["msg"]) == ("sudo", "sudo: -n -- check report")
