"""The archive: the same bytes for the same content, whole or not there."""

import hashlib
import tarfile

import pytest

from speccompose.errors import MismatchError, UsageError
from speccompose.vocab.bundle import BundledFile
from speccompose.world.bundle_file import write_bundle


def blob(content: bytes) -> BundledFile:
    return BundledFile(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


def write(file, *contents, told=None, signature=b"signed"):
    blobs = tuple(blob(c if isinstance(c, bytes) else c.read_bytes()) for c in contents)
    known = {item.sha256: content for item, content in zip(blobs, contents, strict=True)}
    write_bundle(file, b"{}", signature, told or blobs, known, lambda count: None)


def test_manifest_and_signature_come_first(tmp_path):
    (tmp_path / "weights").write_bytes(b"w" * 1000)
    for name in ("one", "two"):
        write(tmp_path / name, b"small", tmp_path / "weights")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with tarfile.open(tmp_path / "one") as archive:
        names = archive.getnames()
    assert names[:2] == ["manifest.json", "manifest.json.sig"]
    assert names[2:] == [f"blobs/{blob(c).sha256}" for c in (b"small", b"w" * 1000)]
    write(tmp_path / "unsigned", b"small", signature=None)
    with tarfile.open(tmp_path / "unsigned") as archive:
        assert len(archive.getnames()) == 2


@pytest.mark.parametrize("now", [b"other", b"longer than before", b""])
def test_a_file_that_changes_meanwhile_ends_it_and_leaves_nothing(tmp_path, now):
    weights = tmp_path / "weights"
    weights.write_bytes(b"weigh")
    told = (blob(b"weigh"),)
    weights.write_bytes(now)
    (tmp_path / "out").mkdir()
    with pytest.raises(MismatchError):
        write_bundle(
            tmp_path / "out" / "b", b"{}", None, told, {told[0].sha256: weights}, lambda count: None
        )
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_is_no_place_for_it(tmp_path):
    with pytest.raises(UsageError):
        write(tmp_path, b"x")
