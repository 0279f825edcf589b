"""A stack folder is written whole or not at all."""

import hashlib
import os
from pathlib import Path

import pytest

from speccompose.errors import UsageError
from speccompose.vocab.rendered import RenderedFile, RenderedStack
from speccompose.world.stack_folder import write_stack

PARTS = (
    RenderedFile(path="compose.yaml", content=b"name: s\n"),
    RenderedFile(path="plan.json", content=b"{}\n"),
    RenderedFile(path="check", content=b"#!", mode=0o755),
)


def stack(*more: RenderedFile) -> RenderedStack:
    files = (*PARTS, *more)
    sums = "".join(f"{hashlib.sha256(f.content).hexdigest()}  {f.path}\n" for f in files)
    listed = RenderedFile(path="SHA256SUMS", content=sums.encode())
    return RenderedStack(name="s", digest="sha256:0", files=(*files, listed))


STACK = stack()
WHOLE = {item.path for item in STACK.files}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_writes_every_file_with_its_mode(tmp_path):
    folder = tmp_path / "a" / "stack"
    write_stack(STACK, folder)
    assert {path.name for path in folder.iterdir()} == {item.path for item in STACK.files}
    assert (folder / "check").stat().st_mode & 0o777 == 0o755
    assert list(folder.parent.iterdir()) == [folder]


def test_replaces_an_older_stack_completely(tmp_path):
    folder = tmp_path / "stack"
    write_stack(stack(RenderedFile(path="older", content=b"x")), folder)
    assert "older" in names(folder)
    write_stack(STACK, folder)
    assert names(folder) == WHOLE
    assert names(tmp_path) == {"stack"}


@pytest.mark.parametrize("given", [".", "./", "../stack", "../stack/."])
def test_the_folder_that_one_stands_in(tmp_path, monkeypatch, given):
    folder = tmp_path / "stack"
    write_stack(stack(RenderedFile(path="older", content=b"x")), folder)
    monkeypatch.chdir(folder)
    write_stack(STACK, Path(given))
    assert names(folder) == WHOLE
    assert names(tmp_path) == {"stack"}


def test_a_link_is_followed_and_stays(tmp_path):
    folder = tmp_path / "real"
    write_stack(stack(RenderedFile(path="older", content=b"x")), folder)
    link = tmp_path / "link"
    link.symlink_to("real")
    write_stack(STACK, link)
    assert link.is_symlink()
    assert names(folder) == WHOLE


def test_files_of_the_users_own_are_never_lost(tmp_path):
    folder = tmp_path / "stack"
    write_stack(STACK, folder)
    (folder / "notes.txt").write_text("mine")
    (folder / "data").mkdir()
    with pytest.raises(UsageError) as refused:
        write_stack(STACK, folder)
    assert refused.value.code == "output_not_empty"
    assert refused.value.details[:2] == ("data", "notes.txt")
    assert refused.value.hint
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_what_cannot_be_moved_stays_as_it_is(tmp_path):
    folder = tmp_path / "shut" / "stack"
    write_stack(STACK, folder)
    folder.parent.chmod(0o555)
    try:
        with pytest.raises(UsageError, match="Permission denied") as refused:
            write_stack(STACK, folder)
        assert refused.value.hint
        assert names(folder) == WHOLE
    finally:
        folder.parent.chmod(0o755)


def test_when_the_new_folder_cannot_be_written_the_old_one_stands(tmp_path):
    folder = tmp_path / "stack"
    write_stack(STACK, folder)
    with pytest.raises(UsageError, match="cannot write"):
        write_stack(stack(RenderedFile(path="no/such/place", content=b"x")), folder)
    assert names(folder) == WHOLE
    assert names(tmp_path) == {"stack"}


def test_never_touches_a_folder_that_is_no_stack(tmp_path):
    (tmp_path / "home" / "me").mkdir(parents=True)
    with pytest.raises(UsageError, match="holds no stack"):
        write_stack(STACK, tmp_path / "home")
    assert (tmp_path / "home" / "me").is_dir()


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError):
        write_stack(STACK, tmp_path / "file")
    with pytest.raises(UsageError, match="cannot write"):
        write_stack(STACK, tmp_path / "file" / "below")


def test_an_unknown_file_is_a_key_error():
    with pytest.raises(KeyError):
        STACK.file("nope")
