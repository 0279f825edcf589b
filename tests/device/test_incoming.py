"""A bundle from a control machine: checked whole before it stands anywhere."""

import io
import tarfile

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.incoming import MOST_BYTES, incoming_folder, pack, receive


def bundle(board, **changes) -> tuple[bytes, str]:
    folder = board.write(**changes)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return pack(files), board.plan(**changes).digest


def take(board, data: bytes, digest: str, name: str = "tiny"):
    return receive(name, digest, io.BytesIO(data), board.roots)


def refused(board, data: bytes, digest: str, name: str = "tiny") -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        take(board, data, digest, name)
    left = [path.name for path in (board.roots.state / "incoming").rglob("*") if path.is_file()]
    assert [name for name in left if not name.endswith(".lock")] == []
    return caught.value


def test_a_bundle_stands_once_it_is_checked_and_the_same_again_changes_nothing(board):
    data, digest = bundle(board)
    first = take(board, data, digest)
    assert first.changed
    assert (incoming_folder("tiny", digest, board.roots) / "plan.json").is_file()
    again = receive("tiny", digest, io.BytesIO(b"never read"), board.roots)
    assert (again.changed, again.folder) == (False, first.folder)


def test_the_same_content_is_the_same_bytes(board):
    assert bundle(board) == bundle(board)


def test_what_was_received_before_makes_room(board):
    old_data, old = bundle(board)
    take(board, old_data, old)
    new_data, new = bundle(board, extra=(), method="none")
    take(board, new_data, new)
    assert not incoming_folder("tiny", old, board.roots).exists()


def test_a_damaged_one_that_stands_is_replaced(board):
    data, digest = bundle(board)
    folder = incoming_folder("tiny", digest, board.roots)
    take(board, data, digest)
    (folder / "compose.yaml").write_text("{}")
    assert take(board, data, digest).changed


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    told = io.BytesIO()
    with tarfile.open(fileobj=told, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, link
        archive.addfile(info, io.BytesIO(b""))
    return told.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        member("../evil"),
        member("/etc/evil"),
        member("a/b"),
        member("plan.json", tarfile.SYMTYPE, "/etc/shadow"),
        member("plan.json", tarfile.LNKTYPE, "/etc/shadow"),
        member("x", tarfile.CHRTYPE),
        b"not a tar at all" * 64,
        b"",
    ],
    ids=["up", "absolute", "folder", "link", "hard link", "device", "text", "nothing"],
)
def test_what_could_leave_the_folder_or_is_none_is_refused(board, data):
    assert refused(board, data, "sha256:" + "0" * 64).status == 3


def sparse(how: str, size: int = 300 * 1024 * 1024) -> bytes:
    """A tar of two kilobytes whose one file is said to have 300 MiB."""
    info = tarfile.TarInfo("plan.json")
    if how == "pax":
        pairs = {"map": "0,0", "size": str(size), "numblocks": "1"}
        info.pax_headers = {f"GNU.sparse.{key}": value for key, value in pairs.items()}
        return info.tobuf(tarfile.PAX_FORMAT) + bytes(1024)
    info.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[386:410] = b"%011o\0%011o\0" % (size, 0)
    block[483:495] = b"%011o\0" % size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + bytes(1024)


@pytest.mark.parametrize("how", ["gnu", "pax"])
def test_a_sparse_file_is_refused_before_it_is_unpacked(board, how):
    data = sparse(how)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert (archive.getmembers()[0].issparse(), len(data) < 4096) == (True, True)
    error = refused(board, data, "sha256:" + "0" * 64)
    assert (error.status, error.code) == (3, "bad_bundle")
    assert error.details == ("'plan.json' is no plain file",)


def test_a_truncated_bundle_is_refused(board):
    data, digest = bundle(board)
    assert refused(board, data[: len(data) // 2], digest).status in (3, 19)


def test_a_tampered_bundle_is_status_19(board):
    data, digest = bundle(board)
    assert refused(board, data.replace(b"127.0.0.1", b"127.0.0.2"), digest).status == 19


def test_another_stack_than_announced_is_status_19(board):
    data, digest = bundle(board)
    assert refused(board, data, "sha256:" + "0" * 64).code == "other_bundle"
    assert refused(board, data, digest, name="other").code == "other_bundle"


def test_an_endless_bundle_is_refused(board):
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return b"x" * size

    with pytest.raises(DeviceError) as caught:
        receive("tiny", "sha256:" + "0" * 64, Endless(), board.roots)
    assert str(MOST_BYTES // 1024 // 1024) in caught.value.brief


@pytest.mark.parametrize(("name", "digest"), [("../x", "sha256:" + "0" * 64), ("tiny", "latest")])
def test_names_that_are_none_are_usage(board, name, digest):
    with pytest.raises(DeviceError) as caught:
        incoming_folder(name, digest, board.roots)
    assert caught.value.status == 2
