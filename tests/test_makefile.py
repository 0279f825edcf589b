"""`make deploy`: this board or a fleet, never both, and the verb's own status and words."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.fleet_folder import fleet_text

ROOT = Path(__file__).resolve().parent.parent
VENV = os.path.relpath(sys.prefix, ROOT)


def make(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run make with the environment that runs the tests; it is not made anew (-o)."""
    argv = ["make", "--no-print-directory", "-o", f"{VENV}/.ready", f"VENV={VENV}", *words]
    return subprocess.run(
        argv, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "SPECCOMPOSE_STATE": str(home)},
    )  # fmt: skip


def ended(done: subprocess.CompletedProcess[str]) -> int:
    """The verb's own status: make's is 2 for whatever fails."""
    found = re.search(r"Error (\d+)$", done.stderr.strip())
    return int(found[1]) if found else done.returncode


@pytest.fixture
def fleet(tmp_path):
    file = tmp_path / "fleet.yaml"
    file.write_text(fleet_text())
    return file


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "MODEL or FLEET is missing"), (("MODEL=a", "FLEET=b"), "exclude each other")],
)
def test_one_of_them_is_named(tmp_path, words, said):
    done = make("deploy", *words, home=tmp_path)
    assert ended(done) == 2
    assert said in done.stdout + done.stderr
    assert "hint: " in done.stdout + done.stderr


def test_a_fleet_is_planned_and_shown_and_not_touched_unasked(tmp_path, fleet):
    done = make("deploy", f"FLEET={fleet}", home=tmp_path)
    assert ended(done) == 2
    assert "hall: 4 of 4 boards, 4 change" in done.stdout
    assert "add --yes" in done.stderr
    assert not (tmp_path / "rollouts").exists()


def test_a_refused_board_stops_it_with_the_boards_own_status(tmp_path, fleet):
    text = fleet.read_text().replace("gemma-4-e2b", "qwen3.6-27b")
    fleet.write_text(
        text.replace("device: agx-thor-t5000, l4t: 38.4.0", "device: orin-nano-8gb", 1)
    )
    done = make("deploy", f"FLEET={fleet}", "YES=1", home=tmp_path)
    assert ended(done) == 6
    assert "refused (1)" in done.stdout
    assert not list((tmp_path / "rollouts").glob("r-*/journal.jsonl"))


def test_a_fleet_file_that_is_not_there(tmp_path):
    done = make("deploy", "FLEET=nowhere.yaml", home=tmp_path)
    assert ended(done) == 3
    assert "nowhere.yaml" in done.stderr


def test_yes_and_arguments_reach_the_verb(tmp_path):
    done = make("-n", "deploy", "FLEET=f.yaml", "YES=1", "ARGS=--reason new", home=tmp_path)
    assert 'fleet run "f.yaml" --yes --reason new' in done.stdout
    asked = make("-n", "deploy", "FLEET=f.yaml", home=tmp_path)
    assert "--yes" not in asked.stdout.replace("YES=1", "")
