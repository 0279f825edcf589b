"""Only small regular files are read; what would hang or never end is refused at once."""

import errno
import os

import pytest

from speccompose.device.small_file import read_small, read_small_text


def test_a_file_is_read_through_links_too(tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    assert read_small(tmp_path / "file", 4) == b"text"
    assert read_small_text(tmp_path / "link") == "text"


def test_a_larger_one_is_not(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    with pytest.raises(OSError, match="more than 4 bytes") as caught:
        read_small(tmp_path / "file", 4)
    assert caught.value.errno == errno.EFBIG


def test_a_pipe_a_device_and_a_folder_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/tty", tmp_path):
        with pytest.raises(OSError) as caught:
            read_small(path)
        assert caught.value.errno in (errno.EINVAL, errno.ENXIO, errno.EISDIR)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_small(tmp_path / "none")
