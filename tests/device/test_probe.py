"""The probe on copied roots and on this machine, under Python 3.6, 3.8 and the tests' own."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from speccompose.catalog.facts_file import read_facts, write_facts
from speccompose.device.command import NOT_FOUND, TIMED_OUT, Completed
from speccompose.device.probe import COMMANDS, FILES, MAX_BYTES, ProbeError, probe
from speccompose.plan.detect import detect_device
from speccompose.plan.resolve import resolve_device

REPOSITORY = Path(__file__).resolve().parents[2]
PYENV = Path.home() / ".pyenv" / "versions"
OLD_PYTHONS = {"3.6": PYENV / "3.6.15/bin/python", "3.8": PYENV / "3.8.18/bin/python"}
CAPTURE = REPOSITORY / "tests/facts/orin-nano-super-r39.2.1.yaml"
PART = b"699-13834-0008-400 G.5"


@pytest.fixture
def root(tmp_path):
    """A copied root folder of the recorded Orin Nano, with the links that a board has."""
    for path, text in read_facts(CAPTURE.read_text(), "capture").files.items():
        target = tmp_path / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    (tmp_path / "proc/device-tree").symlink_to("/sys/firmware/devicetree/base")
    return tmp_path


def never(argv, timeout_s):
    raise AssertionError(f"ran {argv}")


def test_a_copied_root_is_the_board_that_it_was_copied_from(root, catalog):
    recorded = read_facts(CAPTURE.read_text(), "capture")
    facts = probe(str(root), run=never, commands=recorded.commands)
    assert facts == {"facts": 1, "files": recorded.files, "commands": recorded.commands}
    read = read_facts(json.dumps(facts), "capture")
    device = resolve_device(detect_device(read), catalog)
    assert (device.id, device.l4t) == ("orin-nano-8gb", "39.2.1")


def test_no_command_is_run_for_another_root(root):
    assert probe(str(root), run=never)["commands"] == {}
    given = probe("/", run=never, commands={"uname -m": "x"})["commands"]
    assert given["uname -m"] == "x"


def test_commands_that_are_missing_fail_or_hang_say_nothing():
    answers = {
        "uname -m": Completed((), 0, "aarch64\n", ""),
        "uname -r": Completed((), TIMED_OUT, "5.1", "timed out"),
        "nvpmodel -q": Completed((), NOT_FOUND, "", "not found"),
        "docker compose version --short": Completed((), 0, "", ""),
    }
    asked = []

    def run(argv, timeout_s):
        asked.append((tuple(argv), timeout_s))
        return answers.get(" ".join(argv), Completed(tuple(argv), 9, "failed", "failed"))

    commands = probe("/", run=run)["commands"]
    commands.pop("eeprom part number", None)
    assert commands == {"uname -m": "aarch64\n"}
    assert asked == [(argv, 10.0) for argv in COMMANDS]


def test_b_06_the_toolkit_of_each_host_is_on_record():
    """Its upgrade changed what containers get (nvidia-container-toolkit#1853)."""
    told = "NVIDIA Container Toolkit CLI version 1.14.5\ncommit: 0\n"

    def run(argv, timeout_s):
        known = told if tuple(argv) == ("nvidia-ctk", "--version") else ""
        return Completed(tuple(argv), 0, known, "")

    kept = write_facts(read_facts(json.dumps(probe("/", run=run)), "a board"))
    assert read_facts(kept, "its file").commands["nvidia-ctk --version"] == told


def test_without_any_program_the_kernel_itself_is_asked():
    commands = probe("/", run=lambda argv, _: Completed(tuple(argv), NOT_FOUND, "", ""))["commands"]
    commands.pop("eeprom part number", None)
    kernel = os.uname()
    assert commands == {"uname -m": kernel.machine + "\n", "uname -r": kernel.release + "\n"}


def test_nothing_is_needed(tmp_path):
    assert probe(str(tmp_path), run=never) == {"facts": 1, "files": {}, "commands": {}}


def test_the_older_device_tree_path_is_read_too(tmp_path):
    folder = tmp_path / "proc/device-tree"
    folder.mkdir(parents=True)
    (folder / "model").write_bytes(b"NVIDIA Jetson Nano Developer Kit\0")
    files = probe(str(tmp_path))["files"]
    assert files == {"/sys/firmware/devicetree/base/model": "NVIDIA Jetson Nano Developer Kit\0"}


@pytest.mark.parametrize("target", ["/etc/hostname", "../../../../../../etc/hostname", "loop"])
def test_links_do_not_lead_out_of_the_root(tmp_path, target):
    (tmp_path / "etc").mkdir()
    link = tmp_path / "etc/os-release"
    link.symlink_to(link if target == "loop" else target)
    assert probe(str(tmp_path))["files"] == {}
    if target != "loop":
        (tmp_path / "etc/hostname").write_text("inside\n")
        assert probe(str(tmp_path))["files"] == {"/etc/os-release": "inside\n"}


def test_odd_content_is_text_of_bounded_length(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nv_tegra_release").write_bytes(b"\xff\0" + b"x" * (2 * MAX_BYTES))
    (tmp_path / "etc/os-release").mkdir()
    os.mkfifo(tmp_path / "etc/dgx-release")
    files = probe(str(tmp_path))["files"]
    assert list(files) == ["/etc/nv_tegra_release"]
    assert files["/etc/nv_tegra_release"].startswith("\ufffd\0xxx")
    assert len(files["/etc/nv_tegra_release"]) == MAX_BYTES


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"\x02\x00\xff\xff" + PART + b"\0\0\xff\xff", PART.decode()),
        (PART + b"\xff", PART.decode()),
        (b"\xff" * 256, None),
        (b"699-\x80\x81", "699-\x80\x81"),
    ],
)
def test_the_module_eeprom(tmp_path, content, part):
    folder = tmp_path / "sys/bus/i2c/devices/7-0050"
    folder.mkdir(parents=True)
    (folder / "eeprom").write_bytes(content)
    commands = probe(str(tmp_path))["commands"]
    assert commands == ({} if part is None else {"eeprom part number": part})


def test_a_recorded_part_number_goes_before_the_copied_eeprom(tmp_path):
    folder = tmp_path / "sys/bus/i2c/devices/0-0050"
    folder.mkdir(parents=True)
    (folder / "eeprom").write_bytes(PART)
    recorded = {"eeprom part number": "699-13767-0000-300 L.3"}
    assert probe(str(tmp_path), commands=recorded)["commands"] == recorded


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_an_unreadable_root_is_an_error(tmp_path, kind):
    path = tmp_path / "root"
    if kind == "file":
        path.write_text("")
    with pytest.raises(ProbeError, match="cannot read"):
        probe(str(path))


@pytest.mark.parametrize("version", [*OLD_PYTHONS, "own"])
def test_this_machine_is_read_by_the_pythons_of_boards(version):
    python = OLD_PYTHONS.get(version, Path(sys.executable))
    if not python.exists():
        pytest.skip(f"no Python {version} at {python}: the probe was NOT tried on it")
    program = "import json; from speccompose.device.probe import probe; print(json.dumps(probe()))"
    done = subprocess.run(
        [str(python), "-W", "error", "-c", program],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    facts = json.loads(done.stdout)
    assert facts["facts"] == 1
    assert set(facts["files"]) <= set(FILES)
    machine = facts["commands"]["uname -m"]
    assert machine == os.uname().machine + "\n"
    detected = detect_device(read_facts(done.stdout, "this machine"))
    total_kib = int(Path("/proc/meminfo").read_text().split()[1])
    assert detected.mem_total_mib == total_kib // 1024


@pytest.mark.parametrize("name", ["__init__", "device/__init__", "device/probe", "device/command"])
def test_what_the_probe_imports_is_python_3_6(name):
    source = (REPOSITORY / "speccompose" / f"{name}.py").read_text()
    ast.parse(source, feature_version=(3, 6))
    assert "from __future__ import annotations" not in source
