"""A manifest, its signature and content by hash -> one tar, all of it or nothing.

Layer: world. Plain headers only, without extensions: the board reads nothing else (see
device/bundle_tar.py). The same content gives the same bytes.
"""

import hashlib
import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from speccompose.device.bundle_manifest import BLOBS, MANIFEST, SIGNATURE
from speccompose.errors import MismatchError
from speccompose.vocab.bundle import BundledFile, BundleManifest
from speccompose.world.output_file import open_output

Content = Path | bytes
Heard = Callable[[int], None]


def manifest_text(manifest: BundleManifest) -> bytes:
    """manifest.json, byte for byte as it is signed."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def write_bundle(
    file: Path,
    text: bytes,
    signature: bytes | None,
    blobs: tuple[BundledFile, ...],
    contents: Mapping[str, Content],
    heard: Heard,
) -> None:
    """Write the archive. ``text`` is the manifest, ``heard`` is told of each piece written.

    Raises:
        UsageError: it cannot be written.
        MismatchError: a file was changed meanwhile.
    """
    with (
        open_output(file) as target,
        tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        _add(archive, MANIFEST, io.BytesIO(text), len(text))
        if signature is not None:
            _add(archive, SIGNATURE, io.BytesIO(signature), len(signature))
        for blob in blobs:
            content = contents[blob.sha256]
            if isinstance(content, Path) and content.stat().st_size != blob.size:
                raise _changed(content)
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as raw:
                source = _Hashed(raw, heard)
                _add(archive, BLOBS + blob.sha256, source, blob.size)
                if source.sha256 != blob.sha256:
                    raise _changed(content)


class _Hashed:
    """A file that is hashed while it is read."""

    def __init__(self, source: BinaryIO, heard: Heard) -> None:
        self._source, self._heard = source, heard
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        block = self._source.read(size)
        self._digest.update(block)
        self._heard(len(block))
        return block

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def _add(archive: tarfile.TarFile, name: str, source: _Hashed | BinaryIO, size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    archive.addfile(member, source)


def _changed(content: Content) -> MismatchError:
    return MismatchError(
        "a file was changed while it was bundled",
        [str(content) if isinstance(content, Path) else "a stack's file"],
        hint="try again when nobody pulls or deploys here",
        code="changed_meanwhile",
    )
