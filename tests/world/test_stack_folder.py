"""A stack folder is written whole or not at all."""

import pytest

from speccompose.errors import UsageError
from speccompose.vocab.rendered import RenderedFile, RenderedStack
from speccompose.world.stack_folder import write_stack

STACK = RenderedStack(
    name="s",
    digest="sha256:0",
    files=(
        RenderedFile(path="compose.yaml", content=b"name: s\n"),
        RenderedFile(path="plan.json", content=b"{}\n"),
        RenderedFile(path="SHA256SUMS", content=b""),
        RenderedFile(path="check", content=b"#!", mode=0o755),
    ),
)


def test_writes_every_file_with_its_mode(tmp_path):
    folder = tmp_path / "a" / "stack"
    write_stack(STACK, folder)
    assert {path.name for path in folder.iterdir()} == {item.path for item in STACK.files}
    assert (folder / "check").stat().st_mode & 0o777 == 0o755
    assert list(folder.parent.iterdir()) == [folder]


def test_replaces_an_older_stack_completely(tmp_path):
    folder = tmp_path / "stack"
    write_stack(STACK, folder)
    (folder / "left-over").write_text("x")
    write_stack(STACK, folder)
    assert not (folder / "left-over").exists()


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
