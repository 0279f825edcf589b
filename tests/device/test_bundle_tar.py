"""Our own tar reader against Python's writer: what it reads, and what it will not."""

import hashlib
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as some

from speccompose.device.bundle_tar import BLOCK, Member, TarReader
from speccompose.device.errors import DeviceError

NAMES = some.text("abcdef0123456789/.-", min_size=1, max_size=90).filter(lambda n: n[-1] != "/")


def archive(*members: tuple[str, bytes], form: int = tarfile.GNU_FORMAT) -> bytes:
    told = io.BytesIO()
    with tarfile.open(fileobj=told, mode="w", format=form) as out:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
    return told.getvalue()


class Trickle(io.BytesIO):
    """A source that gives little at a time, as a pipe does."""

    def read(self, size: int = -1) -> bytes:
        return super().read(min(size, 7))


@given(some.lists(some.tuples(NAMES, some.binary(max_size=1500)), max_size=4), some.booleans())
def test_what_python_writes_is_read_again(members, skipped):
    reader = TarReader(Trickle(archive(*members)))
    for name, content in members:
        assert reader.next() == Member(name, len(content))
        if not skipped:
            assert reader.copy(None) == hashlib.sha256(content).hexdigest()
    assert reader.next() is None


def test_content_is_written_and_heard_of(tmp_path):
    heard: list[int] = []
    reader = TarReader(io.BytesIO(archive(("a", b"x" * 3000))), heard.append)
    reader.next()
    reader.copy(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"x" * 3000
    assert sum(heard) == 3000


def test_beyond_eight_gibibytes_a_size_is_binary():
    info = tarfile.TarInfo("huge")
    info.size = 60 << 30
    header = info.tobuf(tarfile.GNU_FORMAT)
    assert TarReader(io.BytesIO(header)).next() == Member("huge", 60 << 30)


@given(some.integers(0, BLOCK - 1), some.integers(1, 255))
def test_a_header_with_a_changed_byte_is_noticed(at, change):
    data = bytearray(archive(("name", b"content")))
    data[at] ^= change
    read, error = read_all(bytes(data))
    if error is None:
        assert at in range(148, 156)  # the checksum's own padding
        assert read == [Member("name", 7)]


def read_all(data: bytes) -> tuple[list[Member], DeviceError | None]:
    """The members up to the archive's end, or to what is refused."""
    reader, found = TarReader(io.BytesIO(data)), []
    try:
        while (member := reader.next()) is not None:
            found.append(member)
            reader.copy(None)
    except DeviceError as error:
        return found, error
    return found, None


@given(some.integers(1, 2100))
def test_one_that_ends_too_early_is_noticed(cut):
    data = archive(("name", b"content" * 100))[: 512 + 1024 + 511]
    _, error = read_all(data[:-cut])
    assert error is not None
    assert error.code == "bad_bundle"


def test_a_large_member_is_not_read_into_memory():
    reader = TarReader(io.BytesIO(archive(("manifest", b"x" * 100))))
    member = reader.next()
    with pytest.raises(DeviceError) as caught:
        reader.content(member, 99)
    assert caught.value.status == 3


@given(some.binary(max_size=2000))
def test_any_bytes_are_read_or_refused(data):
    _, error = read_all(data)
    assert error is None or error.status == 3
