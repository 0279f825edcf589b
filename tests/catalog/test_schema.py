"""The schemas that editors use are those of the types, and they are sound."""

import json
import subprocess
import sys

from jsonschema import Draft202012Validator

from speccompose.catalog.schema import SCHEMAS, schema_of, write_schemas


def test_the_committed_schemas_are_fresh(data_root, tmp_path):
    """`make schema` writes them anew."""
    fresh = {path.name: path.read_text() for path in write_schemas(tmp_path)}
    committed = {path.name: path.read_text() for path in (data_root / "schemas").iterdir()}
    assert committed == fresh


def test_they_are_schemas_of_the_dialect_they_name():
    for kind in SCHEMAS:
        schema = schema_of(kind)
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_type_is_described_and_closed():
    for kind in SCHEMAS:
        for name, definition in schema_of(kind)["$defs"].items():
            assert definition.get("description"), f"{kind}: {name}"
            assert definition["title"] == name
            assert definition["additionalProperties"] is False, f"{kind}: {name}"


def test_the_module_writes_them(tmp_path):
    folder = tmp_path / "new/schemas"
    command = [sys.executable, "-m", "speccompose.catalog.schema", str(folder)]
    subprocess.run(command, check=True)
    assert {path.name for path in folder.iterdir()} == {f"{kind}.schema.json" for kind in SCHEMAS}
    assert json.loads((folder / "device.schema.json").read_text())["title"]
