"""A hub that has something else than was locked is not believed."""

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.locked_files import LockedFile, must_be_locked, parse_locked
from speccompose.device.remote_file import Listing, RemoteFile

COMMIT = "c" * 40
SHA, BLOB = "a" * 64, "b" * 40
LOCKED = {"model.gguf": LockedFile(10, SHA, None), "config.json": LockedFile(2, None, BLOB)}
LISTED = Listing(
    COMMIT, [RemoteFile("model.gguf", 10, SHA), RemoteFile("config.json", 2, None, BLOB)]
)


def refused(listing: Listing) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        must_be_locked("o/m", LOCKED, listing, COMMIT)
    assert (caught.value.status, caught.value.code) == (19, "not_as_locked")
    return caught.value


def test_what_was_locked_passes_and_without_a_lock_everything_does():
    must_be_locked("o/m", LOCKED, LISTED, COMMIT)
    must_be_locked("o/m", {}, Listing("x" * 40, []), COMMIT)


def test_a_hub_may_have_less(tmp_path):
    must_be_locked("o/m", LOCKED, Listing(COMMIT, LISTED.files[:1]), COMMIT)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (RemoteFile("model.gguf", 10, "d" * 64), "sha256"),
        (RemoteFile("model.gguf", 11, SHA), "size"),
        (RemoteFile("model.gguf", 10, None), "listed none"),
        (RemoteFile("config.json", 2, None, "e" * 40), "blob"),
        (RemoteFile("evil.py", 1, None), "not in the lock"),
    ],
)
def test_a_file_that_differs_is_named_with_both(file, said):
    assert said in " ".join(refused(Listing(COMMIT, [file])).details)


def test_another_commit_is_refused():
    assert refused(Listing("d" * 40, LISTED.files)).details[1].endswith("d" * 40)


def test_read_from_a_plan():
    assert parse_locked({"m": {"size": 1, "sha256": SHA, "blob_id": None}}) == {
        "m": LockedFile(1, SHA, None)
    }
    assert parse_locked(None) == {}


@pytest.mark.parametrize(
    "body", [[], {"m": 1}, {"m": {"size": -1}}, {"m": {"sha256": "x"}}, {"m": {"blob_id": 7}}]
)
def test_what_is_none_is_told(body):
    with pytest.raises(ValueError, match="files"):
        parse_locked(body)
