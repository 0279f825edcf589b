"""A hub's answer, and git's name for content."""

import json

import pytest

from speccompose.device.remote_file import RemoteFile, blob_id, parse_listing

EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def listed(**item) -> RemoteFile:
    body = {"sha": "c0ffee", "siblings": [{"rfilename": "a", **item}]}
    return parse_listing(json.dumps(body)).files[0]


def test_gits_own_name_for_a_file(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    assert blob_id(tmp_path / "a") == EMPTY_BLOB
    (tmp_path / "a").write_bytes(b"hello\n")
    assert blob_id(tmp_path / "a") == "ce013625030ba8dba906f756967f9e9ca394464a"


@pytest.mark.parametrize("key", ["blobId", "oid"])
def test_a_small_file_has_a_blob_id(key):
    assert listed(**{key: EMPTY_BLOB, "size": 0}) == RemoteFile("a", 0, None, EMPTY_BLOB)


def test_the_blob_id_of_a_large_file_is_its_pointers():
    found = listed(blobId=EMPTY_BLOB, lfs={"sha256": "ab", "size": 7})
    assert found == RemoteFile("a", 7, "ab", None)


@pytest.mark.parametrize("odd", ["", "xyz", 7, None, "E" * 40])
def test_what_is_no_blob_id_is_none(odd):
    assert listed(blobId=odd).blob_id is None


@pytest.mark.parametrize("sha", ["", "../../x", "a b", None])
def test_what_is_no_commit_is_refused(sha):
    with pytest.raises(ValueError, match="no commit"):
        parse_listing(json.dumps({"sha": (sha and str(sha)) or "", "siblings": []}))
