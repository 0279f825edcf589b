"""Blocks of a response: cut at the listed length and below any useful speed; no full disk."""

import resource
import signal
import time
from collections.abc import Iterator

import pytest

from speccompose.device.transfer import LEAST_BYTES, CutError, TooLongError, append, blocks


class Response:
    """A body in pieces, some time apart."""

    def __init__(self, *pieces: bytes, apart_s: float = 0.0) -> None:
        self._pieces = list(pieces)
        self._apart_s = apart_s

    def read1(self, most: int) -> bytes:
        time.sleep(self._apart_s)
        return self._pieces.pop(0) if self._pieces else b""


def test_a_body_of_the_listed_length_comes_whole():
    assert b"".join(blocks(Response(b"ab", b"c"), 60.0, 2, 5)) == b"abc"
    assert b"".join(blocks(Response(b"ab", b"c"), 60.0)) == b"abc"


def test_the_block_that_is_too_much_is_not_given():
    given = []
    with pytest.raises(TooLongError):
        given.extend(blocks(Response(b"ab", b"c", b"d"), 60.0, 2, 4))
    with pytest.raises(TooLongError, match="4 bytes"):
        list(blocks(Response(b"abc"), 60.0, 2, 4))


def test_a_trickle_is_cut_and_what_is_just_fast_enough_is_not():
    with pytest.raises(CutError, match="bytes came in"):
        list(blocks(Response(*[b"x"] * 100, apart_s=0.01), 0.05))
    fast = Response(*[bytes(LEAST_BYTES)] * 10, apart_s=0.01)
    assert len(b"".join(blocks(fast, 0.02))) == 10 * LEAST_BYTES


def test_a_part_grows_or_starts_over(tmp_path):
    part, heard = tmp_path / "part", []
    append(part, iter([b"ab"]), heard.append, resumed=False)
    append(part, iter([b"c"]), heard.append, resumed=True)
    assert (part.read_bytes(), heard) == (b"abc", [b"ab", b"c"])
    append(part, iter([b"d"]), heard.append, resumed=False)
    assert part.read_bytes() == b"d"


def broken(error: Exception) -> Iterator[bytes]:
    yield b"ab"
    raise error


def test_what_was_cut_is_kept_and_what_is_too_long_is_not(tmp_path):
    part = tmp_path / "part"
    for error in (CutError("slow"), ConnectionResetError("gone")):
        with pytest.raises(type(error)):
            append(part, broken(error), len, resumed=False)
        assert part.read_bytes() == b"ab"
    with pytest.raises(TooLongError):
        append(part, broken(TooLongError("long")), len, resumed=False)
    assert not part.exists()


def test_a_part_that_has_filled_the_disk_gives_the_room_back(tmp_path):
    part = tmp_path / "part"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError):
            append(part, iter([bytes(60_000)] * 3), len, resumed=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert not part.exists()
