"""The board's own program: newer replaces older, never the other way unless forced."""

import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import speccompose
from speccompose.device.errors import DeviceError
from speccompose.device.program import install_program, program_version, version_order
from speccompose.world.program import onboard_program


def program(folder: Path, version: str, body: str = "pass") -> Path:
    path = folder / f"check-{version}-{len(body)}"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("VERSION", version)
        archive.writestr("__main__.py", body)
    return path


def test_the_program_of_a_stack_says_its_version(tmp_path):
    (tmp_path / "check").write_bytes(onboard_program())
    assert program_version(tmp_path / "check") == speccompose.__version__


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"PK\x03\x04 cut off"])
def test_what_is_no_program_has_no_version(tmp_path, content):
    (tmp_path / "check").write_bytes(content)
    assert program_version(tmp_path / "check") is None
    assert program_version(tmp_path / "none") is None


def test_it_is_installed_once_and_executable(tmp_path):
    source, target = program(tmp_path, "0.2.0"), tmp_path / "lib" / "speccompose" / "check"
    assert install_program(source, target) == (True, "0.2.0", None)
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_mode & 0o777 == 0o755
    written = target.stat().st_mtime_ns
    assert install_program(source, target) == (False, "0.2.0", "0.2.0")
    assert target.stat().st_mtime_ns == written
    assert [path.name for path in target.parent.iterdir()] == ["check"]


def test_newer_replaces_older_and_never_the_reverse_unless_forced(tmp_path):
    old, new, target = program(tmp_path, "0.9.1"), program(tmp_path, "0.10.0"), tmp_path / "check"
    install_program(old, target)
    assert install_program(new, target).changed
    kept = install_program(old, target)
    assert (kept.changed, kept.kept_newer, kept.before) == (False, True, "0.10.0")
    assert program_version(target) == "0.10.0"
    assert install_program(old, target, force=True).changed
    assert program_version(target) == "0.9.1"


def test_the_same_version_with_other_bytes_is_replaced(tmp_path):
    target = tmp_path / "check"
    install_program(program(tmp_path, "0.2.0"), target)
    assert install_program(program(tmp_path, "0.2.0", "import os"), target).changed


def test_a_lost_mode_and_a_planted_link_are_mended(tmp_path):
    source, target = program(tmp_path, "0.2.0"), tmp_path / "check"
    install_program(source, target)
    target.chmod(0o644)
    assert install_program(source, target).changed
    target.unlink()
    target.symlink_to(source)
    assert install_program(source, target).changed
    assert not target.is_symlink()


def test_what_cannot_be_read_or_written_is_told(tmp_path):
    with pytest.raises(DeviceError) as caught:
        install_program(tmp_path / "none", tmp_path / "check")
    assert (caught.value.status, caught.value.code) == (15, "program_unwritable")
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceError):
        install_program(program(tmp_path, "0.2.0"), tmp_path / "file" / "check")


def test_versions_in_order():
    rising = [None, "0.2.0.dev1", "0.2.0rc1", "0.2.0", "0.2.0.post1", "0.2.1", "0.10.0", "1.0"]
    orders = [version_order(version) for version in rising]
    assert orders == sorted(orders)
    assert len(set(orders)) == len(orders)
    assert version_order("0.2") == version_order("0.2.0")


@settings(deadline=None)
@given(st.text(max_size=20))
def test_any_text_has_a_place_in_the_order(text):
    assert (version_order(text) < version_order("999999999999999999999.0")) or text[:1].isdigit()
