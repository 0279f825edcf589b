"""A root folder is read without running anything; its commands come from its own file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from speccompose.errors import DataError
from speccompose.world.machine import read_machine, read_root

ROOT = Path(__file__).resolve().parent.parent.parent


def root(tmp_path, commands=None):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "nv_tegra_release").write_text("# R36 (release), REVISION: 4.3\n")
    if commands is not None:
        (tmp_path / "speccompose-commands.yaml").write_text(commands)
    return tmp_path


def test_files_and_commands(tmp_path):
    facts = read_root(root(tmp_path, 'uname -m: "aarch64\\n"\n'))
    assert facts.files["/etc/nv_tegra_release"].startswith("# R36")
    assert facts.commands == {"uname -m": "aarch64\n"}


def test_no_command_is_run_for_a_root(tmp_path):
    assert read_root(root(tmp_path)).commands == {}


@pytest.mark.parametrize("text", ["- a\n", "uname -m: 3\n", "a: [1]\n"])
def test_a_malformed_commands_file_is_refused(tmp_path, text):
    with pytest.raises(DataError) as refused:
        read_root(root(tmp_path, text))
    assert refused.value.status == 3


def as_folder(file):
    file.mkdir()


def as_pipe(file):
    os.mkfifo(file)


def as_endless(file):
    file.symlink_to("/dev/zero")


def as_dangling(file):
    file.symlink_to("nowhere")


def as_latin(file):
    file.write_bytes(b"uname -m: \xe4\n")


def as_bad_yaml(file):
    file.write_text("a: [1\n")


@pytest.mark.parametrize(
    "make", [as_folder, as_pipe, as_endless, as_dangling, as_latin, as_bad_yaml]
)
def test_a_commands_file_that_cannot_be_read_is_blamed_by_name(tmp_path, make):
    file = tmp_path / "speccompose-commands.yaml"
    make(file)
    with pytest.raises(DataError, match=r"speccompose-commands\.yaml") as refused:
        read_root(tmp_path)
    assert refused.value.status == 3
    assert refused.value.code in ("bad_commands_file", "data_invalid")


def test_of_many_wrong_commands_some_are_told(tmp_path):
    (tmp_path / "speccompose-commands.yaml").write_text(
        "".join(f"c{number}: {number}\n" for number in range(500))
    )
    with pytest.raises(DataError) as refused:
        read_root(tmp_path)
    assert refused.value.details[-1] == "and 480 more"
    assert len(refused.value.details) == 21


def test_a_missing_root_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot read the root folder"):
        read_root(tmp_path / "nowhere")


def test_this_machine_tells_its_processor():
    assert read_machine().commands["uname -m"].strip()


def test_reading_facts_and_planning_load_no_yaml():
    """The library costs 50 ms of the 300 that a plan may take."""
    code = (
        "import sys, speccompose.cli.plan, speccompose.world.machine as m\n"
        "m.read_machine()\n"
        "print([name for name in sys.modules if 'ruamel' in name])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
