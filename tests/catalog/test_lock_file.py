"""speccompose.lock: read with every kind of damage told, written the same each time."""

import pytest

from speccompose.catalog.lock_file import read_lock, write_lock
from speccompose.errors import DataError
from speccompose.vocab.lock import Lock, LockedFile, LockedImage, LockedModel

LOCK = Lock(
    lock=1,
    images={
        "a/b:c": LockedImage(
            digest="sha256:" + "d" * 64, image_id="sha256:" + "1" * 64, architecture="arm64"
        )
    },
    models={
        "o/m": LockedModel(
            revision="main", commit="c" * 40, files={"x": LockedFile(sha256="a" * 64)}
        )
    },
)


def test_written_and_read_again(tmp_path):
    file = tmp_path / "speccompose.lock"
    file.write_text(write_lock(LOCK))
    assert read_lock(file) == LOCK
    assert write_lock(read_lock(file)) == write_lock(LOCK)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"lock": 2}',
        '{"lock": 1, "image": {}}',
        '{"lock": 1, "images": {"a": {"digest": "latest"}}}',
        '{"lock": 1, "models": {"a": {"revision": "main", "commit": "../x"}}}',
    ],
)
def test_what_is_no_lock_is_status_3(tmp_path, text):
    file = tmp_path / "speccompose.lock"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        read_lock(file)
    assert caught.value.code == "bad_lock"


def test_a_lock_that_is_not_there_or_no_file(tmp_path):
    for place in (tmp_path / "none", tmp_path):
        with pytest.raises(DataError):
            read_lock(place)
