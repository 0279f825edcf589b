"""Python sources -> their type aliases, enumerations and configuration classes, by ``ast``.

Layer: engines. Part of ``extract``. Names are looked up over all files: vLLM keeps them unique.
"""

import ast
from collections.abc import Iterator, Mapping

from speccompose.vocab.base import Frozen

_UNION = {"Union", "Optional"}
_TRANSPARENT = {"Annotated", "SkipValidation"}
_PLAIN = {"bool", "int", "float", "str", "list", "tuple", "set", "dict", "type", "Sequence"}


class Hints(Frozen, frozen=True, kw_only=True):
    """A type, flattened: the plain types in it, literal values, and what classes it names."""

    plain: frozenset[str] = frozenset()
    literals: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    has_class: bool = False

    def __or__(self, other: "Hints") -> "Hints":
        """Both together, literals in order."""
        return Hints(
            plain=self.plain | other.plain,
            literals=tuple(dict.fromkeys((*self.literals, *other.literals))),
            members=tuple(dict.fromkeys((*self.members, *other.members))),
            has_class=self.has_class or other.has_class,
        )


class PythonSources:
    """All definitions of a set of modules."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: list[ast.FunctionDef] = []
        self._values: dict[str, ast.expr] = {}
        for _, text in sorted(files.items()):
            for node in ast.parse(text).body:
                self._define(node)

    def _define(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ClassDef):
            self.classes.setdefault(node.name, node)
        elif isinstance(node, ast.FunctionDef):
            self.functions.append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            self._values.setdefault(node.targets[0].id, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            self._values.setdefault(node.target.id, node.value)

    def keys_of(self, name: str) -> tuple[str, ...]:
        """The string keys of a dictionary that a module assigns to ``name``."""
        value = self._values.get(name)
        if not isinstance(value, ast.Dict):
            return ()
        return tuple(
            key.value
            for key in value.keys
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        )

    def literals_of(self, name: str) -> tuple[str, ...]:
        """The values of a Literal that a module assigns to ``name``."""
        return self._named(name).literals

    def fields(self, class_name: str) -> dict[str, ast.AnnAssign]:
        """The annotated fields of a class, those of its bases first."""
        node = self.classes.get(class_name)
        if node is None:
            return {}
        found: dict[str, ast.AnnAssign] = {}
        for base in node.bases:
            if isinstance(base, ast.Name):
                found.update(self.fields(base.id))
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                found[item.target.id] = item
        return found

    def methods(self, class_name: str) -> Iterator[ast.FunctionDef]:
        """The methods that a class itself defines."""
        node = self.classes.get(class_name)
        if node is not None:
            yield from (item for item in node.body if isinstance(item, ast.FunctionDef))

    def hints(self, node: ast.expr) -> Hints:
        """Flatten a type expression."""
        if isinstance(node, ast.BinOp):
            return self.hints(node.left) | self.hints(node.right)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return self.hints(ast.parse(node.value, mode="eval").body)
            return Hints(plain=frozenset({"None"}))
        return self._named(_last_name(node))

    def _named(self, name: str) -> Hints:
        if name in _PLAIN:
            return Hints(plain=frozenset({name}))
        if name in self.classes:
            node = self.classes[name]
            if any("Enum" in ast.unparse(base) for base in node.bases):
                return Hints(members=tuple(_members(node)))
            return Hints(has_class=True)
        if name in self._values:
            return self.hints(self._values[name])
        return Hints(plain=frozenset({"other"}))

    def _subscript(self, node: ast.Subscript) -> Hints:
        name = _last_name(node.value)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Literal":
            return Hints(literals=tuple(self._literals(inner)))
        if name in _UNION:
            found = Hints(plain=frozenset({"None"} if name == "Optional" else ()))
            for each in inner:
                found |= self.hints(each)
            return found
        if name in _TRANSPARENT:
            return self.hints(inner[0])
        element = self.hints(inner[0])
        return Hints(plain=frozenset({name}), literals=element.literals)

    def _literals(self, nodes: list[ast.expr]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.Constant):
                yield str(node.value)
            else:
                yield from self.hints(node).literals


def _members(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            yield item.targets[0].id


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
