"""What has to outlive a power cut is handed to the disk."""

import pytest

from speccompose.device.on_disk import to_disk, tree_to_disk


def test_files_and_folders_can_be_waited_for(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    to_disk(tmp_path / "file")
    to_disk(tmp_path)
    with pytest.raises(OSError):
        to_disk(tmp_path / "none")


def test_a_tree_is_all_that_is_in_it_and_the_folder_last(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").write_bytes(b"x")
    seen = []
    tree_to_disk(tmp_path, seen.append)
    assert set(seen) == {tmp_path, tmp_path / "a", tmp_path / "a/file"}
    assert seen[-1] == tmp_path
