"""The text of a table reads back as the table."""

import datetime

import msgspec

from speccompose.catalog.yaml_file import parse
from speccompose.engines.extract.text import table_text
from speccompose.vocab.engine import EngineTables, VersionedName, VersionRead

TABLE = EngineTables(
    id="vllm",
    checked=datetime.date(2026, 11, 30),
    versions=(VersionRead(version="0.14.0", source="vllm-0.14.0.whl"),),
    flags=(
        VersionedName(name="--a", takes_value=False, aliases=("--no-a", "-a")),
        VersionedName(
            name="--b",
            since="0.20",
            values=("None", "on", "1", "mmap+mlock", *(f"a-long-value-{at}" for at in range(20))),
            value_since={"on": "0.21", "1": "0.22", "None": "0.23", "a-long-value-3": "0.24"},
            other_values=True,
        ),
    ),
    speculation_fields=(VersionedName(name="method", below="0.30"),),
)


def test_the_text_reads_back():
    text = table_text(TABLE, "make engine-tables")
    assert msgspec.convert(parse(text, "vllm.yaml").data, type=EngineTables) == TABLE
    assert text.startswith("# Extracted by `make engine-tables`")


def test_lines_stay_short():
    assert max(len(line) for line in table_text(TABLE, "x").splitlines()) <= 100
