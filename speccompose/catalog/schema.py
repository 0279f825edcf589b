"""The vocabulary's types -> JSON Schemas, for editors and for the loader alike.

Layer: catalog. One description of the data: the types. ``python -m speccompose.catalog.schema
DIR`` writes the files that editors use; the loader validates with the same schemas.
"""

import functools
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import msgspec

from speccompose.catalog.layout import KINDS
from speccompose.catalog.plain_data import Plain
from speccompose.vocab.base import Frozen
from speccompose.vocab.fleet import FleetFile
from speccompose.vocab.rollout_policy import RolloutPolicy

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

SCHEMAS: Final[Mapping[str, type[Frozen]]] = {
    **KINDS,
    "fleet": FleetFile,
    "rollout": RolloutPolicy,
}
"""The catalog's kinds, and what fleet/ reads by itself."""

Schema = Mapping[str, Plain]


@functools.cache
def schema_of(kind: str) -> Schema:
    """Return the JSON Schema of one kind of data file ('device', 'image', ...).

    Raises:
        KeyError: for a kind that ``SCHEMAS`` does not have.
    """
    generated = cast("dict[str, Plain]", msgspec.json.schema(SCHEMAS[kind]))
    return {"$schema": DIALECT, "title": f"speccompose: {kind}", **generated}


def write_schemas(folder: Path) -> tuple[Path, ...]:
    """Write <kind>.schema.json for every kind; the same types give the same bytes.

    Raises:
        OSError: when the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in SCHEMAS:
        path = folder / f"{kind}.schema.json"
        text = json.dumps(schema_of(kind), indent=2, ensure_ascii=False, sort_keys=False)
        path.write_text(text + "\n", encoding="utf-8")
        written.append(path)
    return tuple(written)


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1] if len(sys.argv) > 1 else "schemas"))
