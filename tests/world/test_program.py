"""The on-board program: the same bytes each time, and it runs."""

import subprocess
import sys
import zipfile

from speccompose.world.program import onboard_program


def test_same_bytes_and_nothing_but_the_device_layer(tmp_path):
    program = tmp_path / "check"
    program.write_bytes(onboard_program())
    onboard_program.cache_clear()
    assert onboard_program() == program.read_bytes()
    names = zipfile.ZipFile(program).namelist()
    assert "speccompose/device/probe.py" in names
    assert all(
        name.startswith(("speccompose/device/", "speccompose/__init__", "__main__", "VERSION"))
        for name in names
    )


def test_it_runs_outside_the_checkout(tmp_path):
    program = tmp_path / "check"
    program.write_bytes(onboard_program())
    argv = [sys.executable, "-I", str(program), "--help"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "deploy" in done.stdout
