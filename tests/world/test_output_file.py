"""A named file gets the text whole; what is no file is never replaced by one."""

import os
import stat

import pytest

from speccompose.errors import UsageError
from speccompose.world.output_file import write_output


def test_a_new_file_and_one_that_is_replaced(tmp_path):
    file = tmp_path / "out.yaml"
    write_output("one", file)
    file.chmod(0o640)
    write_output("two", file)
    assert file.read_text() == "two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to("folder/real")
    for text in ("dangling at first", "then there"):
        write_output(text, link)
        assert link.is_symlink()
        assert (tmp_path / "folder" / "real").read_text() == text


def make_pipe(path):
    os.mkfifo(path)


def make_device_link(path):
    path.symlink_to("/dev/full")


def make_loop(path):
    path.symlink_to(path.name)


@pytest.mark.parametrize(
    "make", [make_pipe, make_device_link, make_loop, lambda path: path.mkdir()]
)
def test_what_is_no_file_stays_what_it_is(tmp_path, make):
    path = tmp_path / "target"
    make(path)
    before = path.lstat()
    with pytest.raises(UsageError) as refused:
        write_output("x", path)
    assert (refused.value.status, refused.value.code) == (2, "save_failed")
    assert refused.value.hint
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="No such file") as refused:
        write_output("x", tmp_path / "no" / "out")
    assert refused.value.hint
