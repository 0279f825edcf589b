"""The shape of the code, enforced: layers, one door per library, sizes, docstrings, names."""

import ast
import re
import statistics
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "speccompose"
FILES = sorted(PACKAGE.rglob("*.py"))

BOTTOM_UP = [
    "__init__",
    "errors",
    "vocab",
    "settings",
    "catalog",
    "checkpoint",
    "engines",
    "plan",
    "lint",
    "device",
    "measure",
    "fleet",
    "world",
    "report",
    "pipeline",
    "proposals",
    "local_model",
    "recheck",
    "serving",
    "supply",
    "bundling",
    "acceptance",
    "tuning_plans",
    "tuning_session",
    "tuning",
    "fleets",
    "rollouts",
    "enrolling",
    "cli",
    "__main__",
]
"""Imports run downward only: a layer may import itself and what stands before it."""

DOORS = {
    "ruamel": {"catalog/yaml_file.py"},
    "jsonschema": {"catalog/validate.py"},
    "jinja2": {"plan/render.py", "report/html_page.py"},
    # The second one is shipped to boards alone: it can import nothing of ours.
    "subprocess": {"device/command.py", "fleet/library/speccompose_board.py"},
    "docker": {"world/docker_sdk.py"},
    "jtop": {"world/jtop_source.py"},
    "ansible_runner": {"fleet/ansible_engine.py"},
}
HEAVY_DOORS = {"gguf": "checkpoint/", "numpy": "checkpoint/", "click": "cli/", "rich": "cli/"}
MAX_FILE_LINES, MAX_FUNCTION_LINES, MEDIAN_FILE_LINES = 300, 40, 150
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "manager"}
STDLIB_ONLY = {"device"}


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def where(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Every node, once for all tests: walking takes longer than what they ask."""
    return tuple(ast.walk(tree))


@cache
def imports(tree: ast.Module) -> list[str]:
    found = []
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in FILES}


def test_imports_run_downward_only(trees):
    wrong = []
    for path, tree in trees.items():
        own = BOTTOM_UP.index(layer(path))
        for name in imports(tree):
            parts = name.split(".")
            if parts[0] != "speccompose" or len(parts) == 1:
                continue
            other = parts[1] if parts[1] in BOTTOM_UP else "__init__"
            if BOTTOM_UP.index(other) > own:
                wrong.append(f"{where(path)} imports {name}")
    assert wrong == []


def test_plan_and_vocab_touch_no_machine(trees):
    machine = {"os", "pathlib", "socket", "shutil", "tempfile", "time", "urllib", "http"}
    wrong = [
        f"{where(path)} imports {name}"
        for path, tree in trees.items()
        if layer(path) in {"vocab", "engines", "plan", "report", "proposals"}
        for name in imports(tree)
        if name.split(".")[0] in machine
    ]
    assert wrong == []


def test_device_is_standard_library_only(trees):
    import sys

    wrong = []
    for path, tree in trees.items():
        if layer(path) not in STDLIB_ONLY:
            continue
        for name in imports(tree):
            top = name.split(".")[0]
            own = name.startswith("speccompose.device")
            if not own and (top == "speccompose" or top not in sys.stdlib_module_names):
                wrong.append(f"{where(path)} imports {name}")
    assert wrong == []


def test_one_door_per_library(trees):
    wrong = []
    for path, tree in trees.items():
        for name in imports(tree):
            top = name.split(".")[0]
            if top in DOORS and where(path) not in DOORS[top]:
                wrong.append(f"{where(path)} imports {top}")
            if top in HEAVY_DOORS and not where(path).startswith(HEAVY_DOORS[top]):
                wrong.append(f"{where(path)} imports {top}")
    assert wrong == []


def test_environment_is_read_in_few_places(trees):
    allowed = {"cli/session.py", "cli/edge.py", "device/__main__.py"}
    wrong = [
        where(path)
        for path in FILES
        if re.search(r"os\.(environ|getenv)", path.read_text()) and where(path) not in allowed
    ]
    assert wrong == []


def test_printing_and_exiting_stay_at_the_edge(trees):
    allowed = {"__main__.py", "device/__main__.py", "fleet/library/speccompose_board.py"}
    wrong = []
    for path, tree in trees.items():
        if layer(path) == "cli" or where(path) in allowed:
            continue
        for node in nodes(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"print", "sys.exit"}:
                wrong.append(f"{where(path)}:{node.lineno}")
    assert wrong == []


def test_broad_except_stands_once(trees):
    broad = [
        f"{where(path)}:{node.lineno}"
        for path, tree in trees.items()
        for node in nodes(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
    ]
    assert len([item for item in broad if item.startswith("cli/edge.py")]) == 1
    assert [item for item in broad if not item.startswith("cli/edge.py")] == []


def test_files_stay_small():
    lines = {where(path): len(path.read_text().splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > MAX_FILE_LINES} == {}
    assert statistics.median(lines.values()) <= MEDIAN_FILE_LINES


def test_functions_stay_small(trees):
    long = [
        f"{where(path)}:{node.lineno} {node.name} {node.end_lineno - node.lineno + 1}"
        for path, tree in trees.items()
        for node in nodes(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and body_lines(node) > MAX_FUNCTION_LINES
    ]
    assert long == []


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of code: signature and docstring are prose for people and do not count."""
    body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
    return body[-1].end_lineno - body[0].lineno + 1


def test_every_module_says_what_it_is(trees):
    places = ("Layer:", "Stage", "Pure", "Read this file first", "speccompose")
    wrong = [
        where(path)
        for path, tree in trees.items()
        if not any(place in (ast.get_docstring(tree) or "") for place in places)
    ]
    assert wrong == []


def test_no_drawer_modules():
    assert [where(path) for path in FILES if path.stem in FORBIDDEN_NAMES] == []


def test_importing_is_free_of_effects():
    """Every module imports with sockets, subprocesses and the environment poisoned."""
    import subprocess
    import sys

    names = [
        "speccompose." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in FILES
        if path.name not in {"__main__.py", "__init__.py"}
    ]
    code = (
        "import os, socket, importlib, subprocess\n"
        "def no(*a, **k): raise AssertionError('effect at import')\n"
        "socket.socket.connect = no\n"
        "subprocess.Popen.__init__ = no\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_tests_mirror_the_code():
    """A module has the test of its name, or a test in its mirror folder that imports it."""
    missing = []
    for path in FILES:
        if len(path.relative_to(PACKAGE).parts) != 2 or layer(path) == "vocab":
            continue
        if path.name in {"__init__.py", "__main__.py"}:
            continue
        mirror = ROOT / "tests" / layer(path)
        if (mirror / f"test_{path.name}").exists():
            continue
        package = f"speccompose.{layer(path)}"
        name = rf"\b{path.stem}\b"
        imported = re.compile(
            rf"^\s*from {package}(\.{name}| import (\([^)]*|.*){name})", re.MULTILINE
        )
        if not any(imported.search(test.read_text()) for test in mirror.glob("test_*.py")):
            missing.append(where(path))
    assert missing == []


def test_no_patching_of_module_attributes():
    wrong = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path != Path(__file__)
        and re.search(
            r"monkeypatch\.setattr|mock\.patch|from unittest import mock", path.read_text()
        )
    ]
    assert wrong == []
