"""Data folders -> Catalog: from the cache when nothing changed, else compiled and checked.

Layer: catalog. The door that the rest of the program uses. With a warm cache neither a YAML
parser nor a schema validator is imported.
"""

from pathlib import Path

from speccompose.catalog.cache import fingerprint, read_cached, write_cached
from speccompose.catalog.sources import Sources, read_sources
from speccompose.vocab.catalog import Catalog


def load_catalog(
    data_root: Path, overlays: tuple[Path, ...] = (), cache_dir: Path | None = None
) -> Catalog:
    """Load profiles/, images/ and compose/ of ``data_root``, then the users' overlay folders.

    Overlays have the layout of profiles/ (and may hold images/<id>/image.yaml); a whole file
    replaces one of the same kind and id, and a later root wins over an earlier one.

    Raises:
        InvalidDataError: with every mistake of every file.
    """
    sources = read_sources(data_root, overlays)
    if cache_dir is None or sources.problems:
        return _compile(sources)
    key = fingerprint(sources)
    catalog = read_cached(cache_dir, key)
    if catalog is None:
        catalog = _compile(sources)
        write_cached(cache_dir, key, catalog)
    return catalog


def _compile(sources: Sources) -> Catalog:
    from speccompose.catalog.compile import compile_catalog  # 200 ms that a warm cache saves

    return compile_catalog(sources)
