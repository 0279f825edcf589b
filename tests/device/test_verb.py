"""The tables of verbs: one place for each verb, and what its options mean."""

import argparse
import ast
import importlib
from pathlib import Path

import pytest

from speccompose.device import __main__ as program
from speccompose.device import verb, verbs_inspect, verbs_measure, verbs_serve, verbs_supply
from speccompose.device.errors import DeviceError
from tests.docker.stacks import StackText, write_stack

ROOT = Path(verb.__file__).parent
TABLES = tuple(
    importlib.import_module(f"speccompose.device.{path.stem}").VERBS
    for path in sorted(ROOT.glob("verbs_*.py"))
)


def test_the_first_verbs_are_where_they_belong():
    tables = (verbs_inspect, verbs_supply, verbs_serve, verbs_measure)
    first = [table.VERBS[0].name for table in tables]
    assert first == ["probe", "pull", "verify", "accept"]


def test_every_table_is_in_the_program_and_no_verb_stands_twice():
    names = [item.name for table in TABLES for item in table]
    assert len(names) == len(set(names))
    text = (ROOT / "__main__.py").read_text()
    for path in ROOT.glob("verbs_*.py"):
        assert f"{path.stem}.VERBS" in text


@pytest.mark.parametrize("path", sorted(ROOT.glob("verbs_*.py")), ids=lambda path: path.stem)
def test_a_table_imports_nothing_that_an_old_python_cannot_read(path):
    allowed = {"argparse", "sys", "typing", "speccompose.device.errors", "speccompose.device.verb"}
    body = ast.parse(path.read_text()).body
    names = {node.module for node in body if isinstance(node, ast.ImportFrom)}
    names |= {item.name for node in body if isinstance(node, ast.Import) for item in node.names}
    assert names <= allowed


def options(tmp_path: Path, stack: "str | None") -> argparse.Namespace:
    return argparse.Namespace(stack=stack, state=str(tmp_path / "s"), secrets=str(tmp_path / "k"))


def test_a_rendered_folder_is_meant_by_its_path_and_named_by_its_plan(tmp_path):
    text = StackText("tiny", 8099, tmp_path / "models", tmp_path / "secrets")
    folder = write_stack(tmp_path / "stack", text)
    assert verb.folder_of(options(tmp_path, str(folder))) == folder
    assert verb.name_of(options(tmp_path, str(folder))) == "tiny"
    assert verb.name_of(options(tmp_path, "other")) == "other"


def test_nothing_named_is_usage(tmp_path):
    with pytest.raises(DeviceError) as caught:
        verb.folder_of(options(tmp_path, None))
    assert caught.value.status == 2


def test_a_verb_of_a_table_has_its_help_in_the_program(capsys):
    with pytest.raises(SystemExit):
        program.main(["--help"])
    shown = capsys.readouterr().out
    assert all(f"    {item.name} " in shown for table in TABLES for item in table)
