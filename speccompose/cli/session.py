"""What every verb starts with: settings, the catalog, and the board it is about.

Layer: cli. Reads the environment (through settings), nothing else.
"""

import os
from pathlib import Path

import msgspec

from speccompose.catalog import text_file
from speccompose.catalog.facts_file import read_facts
from speccompose.catalog.load import load_catalog
from speccompose.catalog.lock_file import read_lock
from speccompose.errors import DataError, UsageError
from speccompose.settings import Settings, read_settings
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import RawFacts
from speccompose.world.machine import read_machine, read_root


def settings(*, fleet_dir: Path | None = None) -> Settings:
    """Settings from this process's environment; ``fleet_dir`` as `read_settings` takes it.

    Raises:
        UsageError: a variable cannot be used, or the current folder is gone.
    """
    try:
        here = Path.cwd()
    except OSError as error:
        raise UsageError(
            f"the current folder cannot be told: {error.strerror}",
            hint='it was removed or replaced; enter it anew: cd "$PWD"',
            code="no_working_folder",
        ) from None
    return read_settings(os.environ, here, fleet_dir=fleet_dir)


def search_path() -> str:
    """Where programs of other people are looked for."""
    return os.environ.get("PATH", os.defpath)


def catalog(current: Settings) -> Catalog:
    """The catalog with the user's overlays.

    Raises:
        DataError: every mistake in every file at once.
    """
    cache = Path(current.cache_dir) if current.cache_dir else None
    overlays = tuple(Path(root) for root in current.overlays)
    known = load_catalog(Path(current.data_root), overlays, cache)
    if current.lock_file is None:
        return known
    return msgspec.structs.replace(known, lock=read_lock(Path(current.lock_file)))


def facts(root: str | None, file: str | None) -> RawFacts:
    """Facts from a file, a root folder, or this machine.

    Raises:
        DataError: unreadable or malformed.
    """
    if file is not None:
        return read_facts(read_text(file), file)
    if root is not None:
        return read_root(Path(root))
    return read_machine()


def read_text(file: str) -> str:
    """A text file that the user named.

    Raises:
        DataError: it is no regular file of UTF-8 text, or too large for one.
    """
    try:
        return text_file.read_text(Path(file))
    except OSError as error:
        raise DataError(
            f"cannot read {file}: {error.strerror}",
            hint="name a facts file; `speccompose detect --save FILE` writes one",
            code="facts_unreadable",
        ) from None


def environment_names() -> tuple[str, ...]:
    """Names of this process's variables; their values are nobody's business."""
    return tuple(os.environ)
