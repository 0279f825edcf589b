"""A compiled catalog <-> one file in the user's cache folder, named by what it was made of.

Layer: catalog. Only ever saves time: whatever is wrong with the cache (absent, foreign, cut
short, unwritable) reads as "not there", and the catalog is compiled again.
"""

import contextlib
import hashlib
import os
import threading
from pathlib import Path
from typing import Final

import msgspec

import speccompose
from speccompose.catalog.sources import Sources
from speccompose.catalog.text_file import read_regular
from speccompose.vocab.catalog import Catalog

_PACKAGE: Final = Path(__file__).resolve().parent.parent
_PREFIX: Final = "catalog-"
_LARGEST: Final = 256 * 1024 * 1024
_KEEP: Final = 8
"""Files kept: one per data root, overlay set and edit; older ones go."""


def fingerprint(sources: Sources) -> str:
    """Hash what a catalog is made of: names, contents, and the code that makes it."""
    digest = hashlib.sha256(f"{speccompose.__version__}\0{_code_stamp()}".encode())
    parts = [(f"{f.kind}\0{f.id}\0{f.name}", f.content) for f in sources.files]
    parts += [(name, text.encode("utf-8")) for name, text in sources.templates.items()]
    for name, content in (*parts, *((overlay, b"") for overlay in sources.overlays)):
        digest.update(f"{len(name)}\0{len(content)}\0{name}".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def _code_stamp() -> str:
    """Sizes and times of the types and checks: in a checkout they change within one version."""
    stamps = []
    with contextlib.suppress(OSError):
        for folder in (_PACKAGE / "vocab", _PACKAGE / "catalog"):
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        status = entry.stat()
                        stamps.append(f"{entry.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(sorted(stamps))


def read_cached(cache_dir: Path, key: str) -> Catalog | None:
    """Return the catalog stored under a fingerprint, or None."""
    try:
        stored = read_regular(_path(cache_dir, key), _LARGEST)
        checksum, _, payload = stored.partition(b"\n")
        if hashlib.sha256(payload).hexdigest().encode() != checksum:
            return None
        return msgspec.json.decode(payload, type=Catalog)
    except (OSError, msgspec.DecodeError):
        return None


def write_cached(cache_dir: Path, key: str, catalog: Catalog) -> None:
    """Store a catalog whole or not at all; readers and other writers never see a part of it."""
    payload = msgspec.json.encode(catalog)
    checksum = hashlib.sha256(payload).hexdigest().encode()
    unique = f".{_PREFIX}{key}.{os.getpid()}.{threading.get_ident()}"
    temporary = cache_dir / unique
    with contextlib.suppress(OSError):
        cache_dir.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(checksum + b"\n" + payload)
            temporary.replace(_path(cache_dir, key))
        finally:
            temporary.unlink(missing_ok=True)
        _forget_old(cache_dir)


def _path(cache_dir: Path, key: str) -> Path:
    return cache_dir / f"{_PREFIX}{key}.json"


def _forget_old(cache_dir: Path) -> None:
    files = sorted(cache_dir.glob(f"{_PREFIX}*.json"), key=lambda path: path.stat().st_mtime)
    for path in files[:-_KEEP]:
        path.unlink(missing_ok=True)
