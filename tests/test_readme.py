"""The README is true: generated tables are current, and its commands run."""

import re
import shlex
import subprocess
import sys

import pytest

from speccompose.errors import ExitStatus
from tests.generated_docs import (
    README,
    ROOT,
    SEMANTICS,
    STATUS_TEXTS,
    generated,
    numbered_tests,
)

RUN = re.compile(r"<!-- run -->\n```console\n(.*?)```", re.DOTALL)
COMMANDS = [line for block in RUN.findall(README.read_text()) for line in block.splitlines()]


def test_generated_tables_are_current(catalog):
    assert generated(README.read_text(), catalog) == README.read_text(), "run make docs"


def test_every_status_is_explained():
    assert set(STATUS_TEXTS) == {int(status) for status in ExitStatus}


def test_every_semantic_of_a_rollout_has_a_test_of_its_number():
    assert set(numbered_tests()) == set(SEMANTICS) == set(range(1, 30))


def test_there_are_commands_to_run():
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command):
    words = shlex.split(command)
    assert words[0] == "speccompose"
    argv = [sys.executable, "-m", "speccompose", *words[1:]]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_make_targets_named_in_the_readme_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", README.read_text()))
    assert named <= targets
