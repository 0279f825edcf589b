"""Every finding and refusal code, read from the source: what docs/findings.md must list."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from speccompose import errors
from speccompose.device import errors as device_errors

PACKAGE = Path(__file__).resolve().parent.parent / "speccompose"
SEVERITIES = {"info": "info", "warning": "warning", "ERROR": "error", "WARNING": "warning"}
MAKERS = ("info", "warning", "error")
"""The functions that make a finding of their name; one of two may be chosen on the way."""
CODE_AT = 4
"""Place of the code among DeviceError's arguments."""
BOARD_REFUSAL = "Refusal"
"""plan/board_refusal.py makes these into errors of status 4."""


class Codes:
    """``findings``: code -> severities; ``refusals``: code -> exit statuses."""

    def __init__(self) -> None:
        self.findings: dict[str, set[str]] = defaultdict(set)
        self.refusals: dict[str, set[int]] = defaultdict(set)
        trees = [ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))]
        self._statuses = class_statuses(trees)
        for tree in trees:
            for call, around in calls(tree):
                self._take(call, around, tree)
        for error in (errors.SpecComposeError, *errors.SpecComposeError.__subclasses__()):
            self.refusals[error.status.name.lower()].add(int(error.status))
        self.refusals["interrupted"].add(int(errors.ExitStatus.INTERRUPTED))

    def _take(self, call: ast.Call, around: list[ast.AST], tree: ast.Module) -> None:
        name = ast.unparse(call.func).rpartition(".")[2]
        named = {item.arg: item.value for item in call.keywords}
        if name == "DeviceError" and len(call.args) > CODE_AT:
            named["code"] = call.args[CODE_AT]
        made = makers(call.func, around)
        if made and call.args:
            for code in constants(call.args[0], around, tree):
                self.findings[code] |= made
        elif name == "HostFinding" and len(call.args) > 1:
            for code in constants(call.args[1], around, tree):
                self.findings[code].add(SEVERITIES[ast.unparse(call.args[0])])
        elif name == "Finding" and "code" in named:
            for code in constants(named["code"], around, tree):
                self.findings[code] |= {"info", "warning"}
        elif "code" in named and (status := self._status(call, name, around)) is not None:
            for code in constants(named["code"], around, tree):
                self.refusals[code].add(status)

    def _status(self, call: ast.Call, name: str, around: list[ast.AST]) -> int | None:
        if name == "DeviceError":
            first = ast.unparse(call.args[0])
            return getattr(device_errors, first, None)
        if name == "__init__":
            name = next(item.name for item in reversed(around) if isinstance(item, ast.ClassDef))
        return self._statuses.get(name)


def makers(function: ast.expr, around: list[ast.AST]) -> set[str]:
    """Which of MAKERS is called: by name, `(a if x else b)(...)`, or by a local name for that."""
    if isinstance(function, ast.IfExp):
        return makers(function.body, around) | makers(function.orelse, around)
    if not isinstance(function, ast.Name):
        return set()
    if function.id in MAKERS:
        return {function.id}
    chosen = [
        makers(node.value, [])
        for node in (ast.walk(around[-1]) if around else ())
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == function.id
        if isinstance(node.value, ast.IfExp | ast.Name)
    ]
    return set().union(*chosen)


def class_statuses(trees: list[ast.Module]) -> dict[str, int]:
    """Error class -> its exit status, through its bases."""
    found = {cls.__name__: int(cls.status) for cls in errors.SpecComposeError.__subclasses__()}
    found |= {"SpecComposeError": 1, BOARD_REFUSAL: int(errors.ExitStatus.BOARD)}
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for _ in range(3):
        for node in classes:
            for base in node.bases:
                if ast.unparse(base) in found:
                    found.setdefault(node.name, found[ast.unparse(base)])
    return found


def calls(tree: ast.AST, around: tuple[ast.AST, ...] = ()) -> Iterator[tuple[ast.Call, list]]:
    """Every call with the functions and classes around it."""
    for node in ast.iter_child_nodes(tree):
        inside = around
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inside = (*around, node)
        if isinstance(node, ast.Call):
            yield node, list(around)
        yield from calls(node, inside)


def constants(value: ast.expr, around: list[ast.AST], tree: ast.Module) -> list[str]:
    """The code, or all codes that a variable may hold."""
    if isinstance(value, ast.Constant):
        return [value.value]
    if isinstance(value, ast.IfExp):
        return [*constants(value.body, around, tree), *constants(value.orelse, around, tree)]
    if isinstance(value, ast.Name) and around:
        return [text for name, text in assigned(around[-1]) if name == value.id]
    if ast.unparse(value) == "fault[1]":
        functions = [node for node in ast.walk(tree) if getattr(node, "name", "") == "_fault"]
        returned = [node.value for node in ast.walk(functions[0]) if isinstance(node, ast.Return)]
        return [item.elts[1].value for item in returned if isinstance(item, ast.Tuple)]
    return []


def assigned(function: ast.AST) -> Iterator[tuple[str, str]]:
    """Texts that names get in a function."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for name, text in pairs:
            if isinstance(name, ast.Name) and isinstance(text, ast.Constant):
                yield name.id, text.value
