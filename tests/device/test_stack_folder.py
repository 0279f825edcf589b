"""A folder is a stack when all of it is there, unchanged."""

import hashlib
import os

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.stack_folder import prune, read_stack, stage


def test_a_rendered_folder_is_read(board):
    found = read_stack(board.write())
    assert found.files == ("compose.yaml", "plan.json")
    assert found.plan.name == "tiny"


@pytest.mark.parametrize("name", ["compose.yaml", "plan.json", "SHA256SUMS"])
def test_a_missing_file_is_named(board, name):
    folder = board.write()
    (folder / name).unlink()
    with pytest.raises(DeviceError) as caught:
        read_stack(folder)
    assert caught.value.status == 3
    assert any(name in line for line in caught.value.details)


def test_no_folder_at_all(board):
    with pytest.raises(DeviceError) as caught:
        read_stack(board.scratch / "nowhere")
    assert (caught.value.status, caught.value.code) == (3, "no_stack")


@pytest.mark.parametrize("name", ["compose.yaml", "plan.json"])
def test_a_changed_file_is_a_mismatch(board, name):
    folder = board.write()
    with (folder / name).open("a") as file:
        file.write("\n")
    with pytest.raises(DeviceError) as caught:
        read_stack(folder)
    assert caught.value.status == 19
    assert caught.value.details == (f"differs from SHA256SUMS: {name}",)


@pytest.mark.parametrize("line", ["nonsense", "0" * 64 + "  /etc/passwd", "0" * 64 + "  ../up"])
def test_sums_cannot_name_files_elsewhere(board, line):
    folder = board.write()
    with (folder / "SHA256SUMS").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(DeviceError) as caught:
        read_stack(folder)
    assert caught.value.status == 3


@pytest.mark.parametrize("name", ["SHA256SUMS", "plan.json", "compose.yaml"])
def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(board, name):
    folder = board.write()
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(DeviceError) as caught:
        read_stack(folder)
    assert caught.value.status == 3


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b"[" * 100_000, b'{"name": ' + b"9" * 5000])
def test_a_plan_that_cannot_be_read_is_3_also_where_its_sum_is_right(board, content):
    folder = board.write()
    old = hashlib.sha256((folder / "plan.json").read_bytes()).hexdigest()
    (folder / "plan.json").write_bytes(content)
    sums = (folder / "SHA256SUMS").read_text()
    (folder / "SHA256SUMS").write_text(sums.replace(old, hashlib.sha256(content).hexdigest()))
    with pytest.raises(DeviceError) as caught:
        read_stack(folder)
    assert (caught.value.status, caught.value.code) == (3, "bad_plan")


def test_a_file_that_is_not_listed_does_not_count_as_needed(board):
    folder = board.write()
    sums = (folder / "SHA256SUMS").read_text().splitlines(keepends=True)
    (folder / "SHA256SUMS").write_text(sums[1])
    with pytest.raises(DeviceError) as caught:
        read_stack(folder)
    assert "not listed in SHA256SUMS: compose.yaml" in caught.value.details


def test_staging_copies_what_is_listed_and_nothing_else(board):
    folder = board.write()
    (folder / "compose.override.yaml").write_text("services: {server: {privileged: true}}")
    release = stage(read_stack(folder), board.paths)
    assert sorted(path.name for path in release.iterdir()) == [
        "SHA256SUMS",
        "compose.yaml",
        "plan.json",
    ]


def test_a_release_is_on_the_disk_before_and_after_it_gets_its_name(board):
    folder = read_stack(board.write())
    release = board.paths.release(folder.plan.digest)
    seen = []
    stage(folder, board.paths, lambda path: seen.append((path.name, release.exists())))
    before = [name for name, stands in seen if not stands]
    assert set(before[:-1]) == {*folder.files, "SHA256SUMS"}
    assert before[-1].startswith(".staging-")
    assert [name for name, stands in seen if stands] == ["releases", "tiny", "stacks"]


def test_a_disk_that_does_not_take_a_release_is_15_and_leaves_none(board):
    def broken(path):
        raise OSError(5, "Input/output error")

    with pytest.raises(DeviceError) as caught:
        stage(read_stack(board.write()), board.paths, broken)
    assert (caught.value.status, caught.value.code) == (15, "state_unwritable")
    assert not board.paths.releases.exists()


@pytest.mark.parametrize("sums_too", [False, True])
def test_what_changes_between_the_check_and_the_copy_becomes_no_release(board, sums_too):
    checked = read_stack(board.write())
    other = board.write(extra=(), method="none")
    changed = ("compose.yaml", "plan.json", "SHA256SUMS") if sums_too else ("compose.yaml",)
    for name in changed:
        (checked.path / name).write_bytes((other / name).read_bytes())
    with pytest.raises(DeviceError) as caught:
        stage(checked, board.paths)
    assert (caught.value.status, caught.value.code) == (19, "stack_changed")
    assert not board.paths.releases.exists()


def test_an_intact_release_is_kept_and_a_damaged_one_replaced(board):
    folder = read_stack(board.write())
    release = stage(folder, board.paths)
    inode = (release / "plan.json").stat().st_ino
    stage(folder, board.paths)
    assert (release / "plan.json").stat().st_ino == inode

    (release / "compose.yaml").write_text("damaged")
    stage(folder, board.paths)
    assert read_stack(release).plan == folder.plan
    assert [path.name for path in board.paths.releases.iterdir()] == [release.name]


def test_pruning_keeps_what_it_is_told(board):
    kept = read_stack(board.write())
    other = read_stack(board.write(extra=()))
    stage(kept, board.paths)
    stage(other, board.paths)
    (board.paths.releases / ".staging-half").mkdir()
    prune(board.paths, (kept.plan.digest,))
    assert [path.name for path in board.paths.releases.iterdir()] == [
        kept.plan.digest.removeprefix("sha256:")
    ]
