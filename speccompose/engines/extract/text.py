"""An extracted table -> the text of profiles/flags/<engine>.yaml.

Layer: engines. Part of ``extract``. The same table gives the same bytes; one flag, one entry.
"""

import json
import textwrap
from collections.abc import Iterator, Mapping

from msgspec.structs import asdict

from speccompose.vocab.engine import EngineTables, VersionedName

_WIDTH = 100


def table_text(tables: EngineTables, how: str) -> str:
    """Write YAML; ``how`` says which command makes the file."""
    lines = [
        f"# Extracted by `{how}` from the sources named below: never edit, refresh.",
        f"id: {tables.id}",
        f"checked: {tables.checked.isoformat()}",
        "versions:",
        *(
            f"  - {{version: {_text(r.version)}, source: {_text(r.source)}}}"
            for r in tables.versions
        ),
        "flags:",
        *_rows(tables.flags),
    ]
    if tables.speculation_fields:
        lines += ["speculation_fields:", *_rows(tables.speculation_fields)]
    return "\n".join(lines) + "\n"


def _rows(rows: tuple[VersionedName, ...]) -> Iterator[str]:
    for row in rows:
        empty = asdict(VersionedName(name=row.name))
        said = {
            key: value for key, value in asdict(row).items() if key == "name" or value != empty[key]
        }
        yield from textwrap.wrap(
            f"- {_flow(said)}",
            _WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _flow(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_flow(each) for each in value) + "]"
    return json.dumps(value)


def _key(name: str) -> str:
    return name if name.isidentifier() and name.lower() not in _WORDS else _text(name)


_WORDS = {"on", "off", "yes", "no", "true", "false", "none", "null"}
"""Words that a YAML reader may take for something else than text."""


def _text(value: str) -> str:
    return json.dumps(value)
