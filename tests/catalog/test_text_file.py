"""Regular files only, and never more than the bound: a pipe or a device answers at once."""

import os
from pathlib import Path

import pytest

from speccompose.catalog.text_file import expanded, read_regular, read_start, read_text
from speccompose.errors import UsageError


def test_text_and_bytes(tmp_path):
    file = tmp_path / "f"
    file.write_bytes("ä\r\nb".encode())
    link = tmp_path / "link"
    link.symlink_to("f")
    assert read_text(link) == "ä\nb"
    assert read_regular(file) == "ä\r\nb".encode()


def test_what_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path / "pipe", "a pipe"), (tmp_path, "a folder")):
        with pytest.raises(OSError, match=f"not a regular file, it is {kind}"):
            read_regular(path)
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="it is a device"):
        read_regular(tmp_path / "zero")
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "absent")


def test_the_bound(tmp_path):
    file = tmp_path / "f"
    file.write_bytes(b"12345")
    assert read_regular(file, 5) == b"12345"
    assert read_start(file, 3) == b"1234"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(file, 4)


def test_a_sparse_giant_is_not_read(tmp_path):
    with (tmp_path / "giant").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="larger than"):
        read_text(tmp_path / "giant")


def test_not_utf8(tmp_path):
    (tmp_path / "latin").write_bytes(b"\xe4")
    with pytest.raises(OSError, match="not UTF-8 text"):
        read_text(tmp_path / "latin")


def test_a_home_is_found_or_refused(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert expanded("~/a") == Path("/home/me/a")
    assert expanded("a/~b") == Path("a/~b")
    with pytest.raises(UsageError, match="no such user"):
        expanded("~nobody-of-this-name/a")
