"""A safetensors file -> the names, types and shapes of its tensors, from its header alone.

Layer: checkpoint. The format: eight bytes of header length, a JSON header, data. The header is
checked against the file's size, so that a file cut short is found without reading the data.
"""

from math import prod
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from speccompose.checkpoint.bounded import (
    MIB,
    bad_checkpoint,
    is_pointer,
    regular_size,
    unreadable,
)

HEADER_LIMIT: Final = 100 * MIB
"""The limit that the safetensors library itself has."""
TENSORS_LIMIT: Final = 500_000
"""DeepSeek's largest checkpoints have about 100000 in all files together."""

BITS: Final = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}
"""Bits per element of the types that the format has."""

_Size = Annotated[int, Meta(ge=0, le=2**53)]


class StoredTensor(NamedTuple):
    """One tensor as stored. ``type``: the format's name in lower case, 'bf16'."""

    type: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """Stored elements; packed weights hold more."""
        return prod(self.shape)


class _Entry(msgspec.Struct):
    dtype: str
    shape: Annotated[tuple[_Size, ...], Meta(max_length=16)]
    data_offsets: tuple[_Size, _Size]


_NAMES = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENTRY = msgspec.json.Decoder(_Entry)


def read_header(path: Path) -> dict[str, StoredTensor]:
    """Every tensor of the file by name.

    Raises:
        DataError: no safetensors file, a header that is cut short, too long or contradicts the
            file's size.
    """
    size = regular_size(path)
    header = _header_bytes(path, size)
    data_bytes = size - 8 - len(header)
    if header.count(b'"data_offsets"') > TENSORS_LIMIT:
        raise bad_checkpoint(f"{path.name} lists more than {TENSORS_LIMIT} tensors")
    found: dict[str, StoredTensor] = {}
    try:
        for name, raw in _NAMES.decode(header).items():
            if name != "__metadata__":
                found[name] = _tensor(path, name, _ENTRY.decode(raw), data_bytes)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise bad_checkpoint(f"{path.name}: its header is not usable", str(error)[:200]) from None
    return found


def _header_bytes(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            start = file.read(8)
            if is_pointer(start + file.read(32)):
                raise bad_checkpoint(
                    f"{path.name} is a git-lfs pointer, not weights",
                    hint="fetch it with git lfs pull",
                )
            length = int.from_bytes(start, "little")
            if len(start) < 8 or length < 2:
                raise bad_checkpoint(f"{path.name} is no safetensors file: it has no header")
            if length > HEADER_LIMIT:
                raise bad_checkpoint(
                    f"{path.name} is no safetensors file",
                    f"its header would be {length} bytes, at most {HEADER_LIMIT} are allowed",
                )
            if length > size - 8:
                raise bad_checkpoint(
                    f"{path.name} is cut short",
                    f"its header is {length} bytes long, the file has {size - 8} after the length",
                    hint="pull it again",
                )
            file.seek(8)
            return file.read(length)
    except OSError as error:
        raise unreadable(path, error) from None


def _tensor(path: Path, name: str, entry: _Entry, data_bytes: int) -> StoredTensor:
    begin, end = entry.data_offsets
    if end < begin:
        raise bad_checkpoint(f"{path.name}: tensor {name[:80]} ends before it begins")
    if end > data_bytes:
        raise bad_checkpoint(
            f"{path.name} is cut short",
            f"tensor {name[:80]} ends at byte {end}, the file has {data_bytes} bytes of data",
            hint="pull it again",
        )
    tensor = StoredTensor(entry.dtype.lower(), entry.shape, end - begin)
    bits = BITS.get(entry.dtype)
    if bits is not None and -(-tensor.elements * bits // 8) != tensor.bytes:
        raise bad_checkpoint(
            f"{path.name}: tensor {name[:80]} is {tensor.bytes} bytes",
            f"its shape {list(entry.shape[:8])} of {entry.dtype} does not fill that",
        )
    return tensor
