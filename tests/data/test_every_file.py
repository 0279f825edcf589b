"""Each data file of the tree is right by itself; one case per file, so that a failure names it."""

from pathlib import Path

import pytest

from speccompose.catalog.compile import read_document
from speccompose.catalog.sources import SourceFile, read_sources

_SOURCES = read_sources(Path(__file__).resolve().parent.parent.parent, ())


def test_nothing_lies_in_the_wrong_place():
    assert _SOURCES.problems == ()
    assert len(_SOURCES.files) > 20


@pytest.mark.parametrize("source", _SOURCES.files, ids=lambda source: source.name)
def test_file(source: SourceFile):
    document = read_document(source)
    assert document.entry is not None
