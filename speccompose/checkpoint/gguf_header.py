"""A GGUF file -> its metadata and the names, types and shapes of its tensors, without weights.

Layer: checkpoint. A reader of its own for the header: the gguf package's builds an array object
per token and takes 2 s of CPU for 49000 tokens; this one takes 50 ms and has limits. What the
types are called and how they are packed comes from the package.
"""

import mmap
import struct
from math import prod
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from speccompose.checkpoint.bounded import (
    MIB,
    bad_checkpoint,
    is_pointer,
    regular_size,
    unreadable,
)
from speccompose.errors import DataError

MAGIC: Final = b"GGUF"
VERSIONS: Final = (2, 3)
KEYS_LIMIT: Final = 65_536
TENSORS_LIMIT: Final = 500_000
TEXT_LIMIT: Final = 16 * MIB
ITEMS_LIMIT: Final = 4_000_000
_STRING, _ARRAY = 8, 9
_SCALARS: Final = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip

Scalar: TypeAlias = "str | int | float | bool"
Value: TypeAlias = "Scalar | list[Scalar]"


class GgufTensor(NamedTuple):
    """One tensor as listed. ``type`` is ggml's number; ``offset`` counts from the data's start."""

    type: int
    shape: tuple[int, ...]
    offset: int

    @property
    def elements(self) -> int:
        """Weights in it."""
        return prod(self.shape)


class GgufHeader(NamedTuple):
    """Everything before the data. ``data_bytes``: how much the file has of it."""

    version: int
    values: dict[str, Value]
    tensors: dict[str, GgufTensor]
    data_bytes: int


def read_gguf_header(path: Path) -> GgufHeader:
    """Read one file.

    Raises:
        DataError: no GGUF, a version that cannot be read, a header that is cut short or beyond
            every limit.
    """
    if regular_size(path) < 24:
        raise bad_checkpoint(f"{path.name} is no GGUF: it is shorter than any header")
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Cursor(path, data).header()
    except OSError as error:
        raise unreadable(path, error) from None


class _Cursor:
    """A place in the header that only moves forward; every step is checked against the file."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path = path
        self.data = data
        self.at = 0
        self.items = 0

    def header(self) -> GgufHeader:
        """The whole header."""
        version = self._version()
        tensors, keys = self._number("Q"), self._number("Q")
        if keys > KEYS_LIMIT or tensors > TENSORS_LIMIT:
            raise self._wrong(f"its header promises {keys} keys and {tensors} tensors")
        values: dict[str, Value] = {}
        for _ in range(keys):
            name = self._text()
            if name in values:
                raise self._wrong(f"it has the key {name[:80]} twice")
            values[name] = self._value(self._number("I"))
        listed = self._tensors(tensors)
        step = values.get("general.alignment", 32)
        if not isinstance(step, int) or step < 1 or step & (step - 1):
            raise self._wrong(f"general.alignment is {step!r}, wanted a power of two")
        return GgufHeader(version, values, listed, len(self.data) - -(-self.at // step) * step)

    def _version(self) -> int:
        start = self._bytes(4)
        if start != MAGIC:
            if is_pointer(self.data[:64]):
                raise bad_checkpoint(
                    f"{self.path.name} is a git-lfs pointer, not weights",
                    hint="fetch it with git lfs pull",
                )
            raise bad_checkpoint(f"{self.path.name} is no GGUF: it begins with {start!r}")
        version = self._number("I")
        if version not in VERSIONS:
            big = version & 0xFFFF == 0
            raise bad_checkpoint(
                f"{self.path.name} is GGUF version {version}" + (" (big-endian?)" if big else ""),
                f"versions {' and '.join(map(str, VERSIONS))} can be read",
                hint="convert the model again with a current llama.cpp",
            )
        return version

    def _tensors(self, count: int) -> dict[str, GgufTensor]:
        found: dict[str, GgufTensor] = {}
        for _ in range(count):
            name = self._text()
            if name in found:
                raise self._wrong(f"it lists the tensor {name[:80]} twice")
            dimensions = self._number("I")
            if not 0 <= dimensions <= 4:
                raise self._wrong(f"tensor {name[:80]} has {dimensions} dimensions")
            shape = tuple(self._number("Q") for _ in range(dimensions))
            if prod(shape) >= 2**50:
                raise self._wrong(f"tensor {name[:80]} has the shape {list(shape)}")
            found[name] = GgufTensor(self._number("I"), shape, self._number("Q"))
        return found

    def _value(self, kind: int) -> Value:
        return self._array() if kind == _ARRAY else self._scalar(kind)

    def _scalar(self, kind: int) -> Scalar:
        if kind == _STRING:
            return self._text()
        sign = _SCALARS.get(kind)
        if sign is None:
            raise self._wrong(f"it holds a value of the unknown type {kind}")
        found: Scalar = struct.unpack(f"<{sign}", self._bytes(struct.calcsize(f"<{sign}")))[0]
        return found

    def _array(self) -> list[Scalar]:
        kind, count = self._number("I"), self._number("Q")
        self.items += count
        if self.items > ITEMS_LIMIT:
            raise self._wrong(f"its arrays hold more than {ITEMS_LIMIT} items")
        if kind == _STRING:
            return [self._text() for _ in range(count)]
        sign = _SCALARS.get(kind)
        if sign is None:
            raise self._wrong(f"it holds an array of the unknown type {kind}")
        size = struct.calcsize(f"<{sign}")
        return list(struct.unpack(f"<{count}{sign}", self._bytes(count * size)))

    def _text(self) -> str:
        length = self._number("Q")
        if length > TEXT_LIMIT:
            raise self._wrong(f"it holds a text of {length} bytes")
        return self._bytes(length).decode("utf-8", "backslashreplace")

    def _number(self, sign: str) -> int:
        found: int = struct.unpack(f"<{sign}", self._bytes(struct.calcsize(f"<{sign}")))[0]
        return found

    def _bytes(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise bad_checkpoint(
                f"{self.path.name} is cut short",
                f"its header goes on at byte {end}, the file ends at {len(self.data)}",
                hint="pull it again",
            )
        start, self.at = self.at, end
        return self.data[start:end]

    def _wrong(self, what: str) -> DataError:
        return bad_checkpoint(f"{self.path.name} is no usable GGUF", what)
