"""Rows by hand laid over an extracted table."""

import datetime

from msgspec.structs import replace

from speccompose.catalog.engine_tables import with_tables
from speccompose.catalog.load import load_catalog
from speccompose.vocab.engine import EngineTables, VersionedName, VersionRead

TABLES = EngineTables(
    id="llama.cpp",
    checked=datetime.date(2026, 11, 30),
    versions=(VersionRead(version="b1", source="one"), VersionRead(version="b2", source="two")),
    flags=(
        VersionedName(name="--a", aliases=("-a",), since="b2", values=("x",)),
        VersionedName(name="--b", takes_value=False),
    ),
)


def merged(small_root, *by_hand):
    engine = load_catalog(small_root).engines["llama.cpp"]
    return {row.name: row for row in with_tables(replace(engine, flags=by_hand), TABLES).flags}


def test_a_row_by_hand_adds_to_the_extracted_one(small_root):
    found = merged(small_root, VersionedName(name="-a", instead="--c", source="a thread"))
    assert found["--a"] == VersionedName(
        name="--a", aliases=("-a",), since="b2", values=("x",), instead="--c", source="a thread"
    )
    assert "-a" not in found


def test_what_it_says_stands_above_what_was_extracted(small_root):
    found = merged(small_root, VersionedName(name="--a", since="b3", source="a thread"))
    assert (found["--a"].since, found["--a"].values) == ("b3", ("x",))


def test_a_name_that_no_version_read_has_is_a_row_of_its_own(small_root):
    found = merged(small_root, VersionedName(name="--old", below="b1", source="a thread"))
    assert found["--old"].below == "b1"


def test_every_row_has_a_source(small_root):
    found = merged(small_root)
    assert {row.source for row in found.values()} == {"two and 1 older versions"}


def test_an_engine_without_a_table_is_what_its_file_says(small_root):
    engine = load_catalog(small_root).engines["llama.cpp"]
    assert with_tables(engine, None) == engine


TABLE_FILE = """\
id: llama.cpp
checked: 2026-11-30
versions:
  - {version: b1, source: "one"}
flags:
  - {name: "--new"}
"""


def test_the_catalog_has_the_merged_engine(small_root):
    folder = small_root / "profiles" / "flags"
    folder.mkdir()
    (folder / "llama.cpp.yaml").write_text(TABLE_FILE)
    names = [row.name for row in load_catalog(small_root).engines["llama.cpp"].flags]
    assert names[0] == "--new"
    assert len(names) == 2
