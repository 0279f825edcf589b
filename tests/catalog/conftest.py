"""A small catalog on disk, and ways to break it and to read what is said of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from speccompose.catalog.load import load_catalog
from speccompose.catalog.problem import InvalidDataError
from tests.catalog.small_catalog import SMALL


@pytest.fixture
def small_root(tmp_path: Path) -> Path:
    """The small catalog on disk."""
    root = tmp_path / "data"
    for name, text in SMALL.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def edit(small_root: Path) -> Callable[[str, str, str], None]:
    """Replace one piece of one file of the small catalog; the piece must be there."""

    def replace(name: str, old: str, new: str) -> None:
        path = small_root / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    return replace


@pytest.fixture
def mistakes(small_root: Path) -> Callable[[], list[tuple[str, tuple[int, int] | None, str, str]]]:
    """Load the small catalog, which must fail, and return file, place, path, expected."""

    def load() -> list[tuple[str, tuple[int, int] | None, str, str]]:
        with pytest.raises(InvalidDataError) as caught:
            load_catalog(small_root)
        assert caught.value.status == 3
        return [
            (p.file, None if p.position is None else tuple(p.position), p.path, p.expected)
            for p in caught.value.problems
        ]

    return load
