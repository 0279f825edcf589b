"""A cache that is damaged, foreign or unwritable costs time and nothing else."""

import os
from pathlib import Path

import pytest

from speccompose.catalog.cache import fingerprint, read_cached, write_cached
from speccompose.catalog.load import load_catalog
from speccompose.catalog.sources import read_sources


@pytest.fixture
def warm(small_root, tmp_path):
    """A cache folder with one good file, and its fingerprint."""
    folder = tmp_path / "cache"
    load_catalog(small_root, cache_dir=folder)
    return folder, fingerprint(read_sources(small_root, ()))


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_what_is_written_is_read(warm, small_root):
    folder, key = warm
    assert read_cached(folder, key) == load_catalog(small_root)
    assert read_cached(folder, "0" * 64) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + b"x",
        lambda data: b"\x00" * len(data),
        lambda data: data.replace(b"7620", b"7621"),
        lambda data: data.split(b"\n", 1)[1],
    ],
    ids=["empty", "cut", "last byte", "zeros", "one value", "no checksum"],
)
def test_damage_is_noticed_and_mended(warm, small_root, damage):
    folder, key = warm
    path = only_file(folder)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    assert read_cached(folder, key) is None
    assert load_catalog(small_root, cache_dir=folder) == load_catalog(small_root)
    assert path.read_bytes() == good


def test_valid_json_of_another_shape_is_no_catalog(warm):
    import hashlib

    folder, key = warm
    payload = b'{"releases": [], "unknown": 1}'
    checksum = hashlib.sha256(payload).hexdigest().encode()
    only_file(folder).write_bytes(checksum + b"\n" + payload)
    assert read_cached(folder, key) is None


@pytest.mark.parametrize("kind", ["file", "beneath a file", "folder in the way"])
def test_an_unusable_folder_is_ignored(small_root, tmp_path, kind):
    folder = tmp_path / "cache"
    if kind == "file":
        folder.write_text("in the way")
    elif kind == "beneath a file":
        folder.write_text("in the way")
        folder /= "deeper"
    else:
        key = fingerprint(read_sources(small_root, ()))
        (folder / f"catalog-{key}.json/x").mkdir(parents=True)
    assert load_catalog(small_root, cache_dir=folder).devices


def test_old_files_go(warm, small_root):
    folder, key = warm
    catalog = load_catalog(small_root)
    for age in range(12):
        write_cached(folder, f"{age:064d}", catalog)
        os.utime(folder / f"catalog-{age:064d}.json", (age, age))
    write_cached(folder, key, catalog)
    kept = {path.name for path in folder.iterdir()}
    assert len(kept) == 8
    assert f"catalog-{key}.json" in kept
    assert f"catalog-{0:064d}.json" not in kept


def test_a_fingerprint_hangs_on_names_and_contents_alike(small_root, edit):
    first = fingerprint(read_sources(small_root, ()))
    assert fingerprint(read_sources(small_root, ())) == first
    edit("profiles/socs.yaml", "a test", "a  test")
    second = fingerprint(read_sources(small_root, ()))
    (small_root / "compose/compose.yaml.j2").rename(small_root / "compose/other.j2")
    assert len({first, second, fingerprint(read_sources(small_root, ()))}) == 3


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_pipe_or_an_endless_device_is_no_cache(warm, small_root, make):
    folder, key = warm
    file = only_file(folder)
    file.unlink()
    make(file)
    assert read_cached(folder, key) is None
    assert load_catalog(small_root, cache_dir=folder) == load_catalog(small_root)
    assert file.is_file()
    assert not file.is_symlink()
