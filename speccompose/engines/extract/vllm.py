"""vLLM's sources -> the flags of ``vllm serve`` and the keys of ``--speculative-config``.

Layer: engines. Part of ``extract``. Follows what vllm/engine/arg_utils.py does with the types of
its configuration classes: a boolean becomes a flag with a ``--no-`` form, a Literal a choice.
"""

import ast
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from speccompose.engines.extract.python_source import PythonSources
from speccompose.engines.extract.reading import Option, Reading
from speccompose.errors import DataError

_PARSER_CLASSES = ("EngineArgs", "AsyncEngineArgs")
_FRONTEND = "FrontendArgs"
_SPECULATION = "SpeculativeConfig"

_REGISTERED: Mapping[str, str] = {
    "--reasoning-parser": "_REASONING_PARSERS_TO_REGISTER",
    "--tool-call-parser": "_TOOL_PARSERS_TO_REGISTER",
}
"""Flags whose values a module registers in a dictionary: their plugins can only be mounted."""

_REFUSED_KEYS = ("tensor_parallel_size",)
"""Keys that vLLM has only to say that another one is meant."""

_LOAD_FORMAT, _LOAD_FORMATS = "--load-format", "LoadFormats"
"""A flag that one version typed as a plain string; the list of its values stood all the same."""

WANTED = (
    "vllm/config/*.py",
    "vllm/engine/arg_utils.py",
    "vllm/entrypoints/*cli_args.py",
    "vllm/v1/attention/backends/registry.py",
    "vllm/model_executor/model_loader/__init__.py",
    "vllm/model_executor/layers/quantization/__init__.py",
    "vllm/reasoning/__init__.py",
    "vllm/tool_parsers/__init__.py",
)
"""Files of a wheel that are read (patterns of ``fnmatch``)."""


def read_vllm(version: str, source: str, files: Mapping[str, str]) -> Reading:
    """Read one version from its files, by path.

    Raises:
        DataError: status 3; the files are not those of a vLLM that this reader understands.
    """
    code = PythonSources(files)
    parsers = [
        *(method for name in _PARSER_CLASSES for method in code.methods(name)),
        *code.functions,
    ]
    calls = [
        option
        for function in parsers
        if function.name in ("add_cli_args", "make_arg_parser")
        for option in _added(code, function)
    ]
    front = [_of_field(code, _FRONTEND, name, flag=True) for name in code.fields(_FRONTEND)]
    fields = [
        _of_field(code, _SPECULATION, name, flag=False)
        for name, item in code.fields(_SPECULATION).items()
        if name not in _REFUSED_KEYS
        and "SkipValidation" not in ast.unparse(item.annotation)
        and not (item.value and "init=False" in ast.unparse(item.value))
    ]
    if not (calls and front and fields and all(code.classes.get(name) for name in _PARSER_CLASSES)):
        raise DataError(f"{source}: no parser of vLLM found", code="engine_source_unreadable")
    by_names = {option.names: _with_registered(code, option) for option in (*calls, *front)}
    return Reading(
        version=version,
        source=source,
        flags=tuple(by_names.values()),
        speculation_fields=tuple(fields),
    )


def _added(code: PythonSources, function: ast.FunctionDef) -> Iterator[Option]:
    """Every ``add_argument`` of a function, with the class and field behind its ``**kwargs``."""
    origin: dict[str, tuple[str, str]] = {}
    lowered: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            _follow(node, origin, lowered)
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".add_argument"):
            names = tuple(
                str(arg.value)
                for arg in node.args
                if isinstance(arg, ast.Constant) and str(arg.value).startswith("-")
            )
            if names:
                yield _of_call(code, node, names, origin=origin, lowered=lowered)


def _follow(node: ast.Assign, origin: dict[str, tuple[str, str]], lowered: set[str]) -> None:
    """Remember ``x = get_kwargs(Class)``, ``y = x["field"]`` and ``y["type"] = lambda``."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Name) and isinstance(value, ast.Call):
        if ast.unparse(value.func) == "get_kwargs":
            origin[target.id] = (ast.unparse(value.args[0]), "")
    elif isinstance(target, ast.Name) and isinstance(value, ast.Subscript):
        found = _origin_of(value, origin)
        if found is not None:
            origin[target.id] = found
    elif isinstance(target, ast.Subscript) and ".lower()" in ast.unparse(value):
        lowered.add(ast.unparse(target.value))


def _of_call(
    code: PythonSources,
    node: ast.Call,
    names: tuple[str, ...],
    *,
    origin: Mapping[str, tuple[str, str]],
    lowered: set[str],
) -> Option:
    given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    action = ast.unparse(given["action"]) if "action" in given else ""
    if "store_true" in action:
        return Option(names=names, takes_value=False)
    if "BooleanOptionalAction" in action:
        return _switch(names)
    if "choices" in given and isinstance(given["choices"], ast.List):
        return Option(names=names, values=_strings(given["choices"].elts))
    for keyword in node.keywords:
        for part in ast.walk(keyword.value) if keyword.arg is None else ():
            found = _origin_of(part, origin)
            if found is not None:
                option = _typed(names, code, *found)
                any_case = option.any_case or ast.unparse(part) in lowered
                return replace(option, any_case=any_case)
    return Option(names=names)


def _origin_of(node: ast.AST, origin: Mapping[str, tuple[str, str]]) -> tuple[str, str] | None:
    """The class and field of ``kwargs["field"]``, or of a name that stands for it."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = ast.unparse(node.value)
        return (origin[name][0], str(node.slice.value)) if name in origin else None
    if isinstance(node, ast.Name) and node.id in origin and origin[node.id][1]:
        return origin[node.id]
    return None


def _of_field(code: PythonSources, class_name: str, field: str, *, flag: bool) -> Option:
    name = f"--{field.replace('_', '-')}" if flag else field
    option = _typed((name,), code, class_name, field)
    if flag:
        return option
    return replace(option, names=(field,), takes_value=True)


def _typed(names: tuple[str, ...], code: PythonSources, class_name: str, field: str) -> Option:
    """Apply the rules of vLLM's ``get_kwargs`` to a field's type."""
    fields = code.fields(class_name)
    if field not in fields:
        raise DataError(
            f"no field {field} of {class_name} found, for {names[0]}",
            code="engine_source_unreadable",
        )
    hints = code.hints(fields[field].annotation)
    if hints.has_class or hints.plain == {"bool", "str", "None"}:
        return Option(names=names)
    if "bool" in hints.plain:
        return _switch(names)
    if hints.literals:
        none = ("None",) if "None" in hints.plain else ()
        return Option(
            names=names, values=(*hints.literals, *none), other_values="str" in hints.plain
        )
    if hints.members:
        auto = ("AUTO",) if _takes_auto(code, class_name, field) else ()
        return Option(names=names, values=(*hints.members, *auto), any_case=True)
    return Option(names=names)


def _takes_auto(code: PythonSources, class_name: str, field: str) -> bool:
    """Whether a validator of the field takes the word 'auto' besides the enumeration."""
    for method in code.methods(class_name):
        decorators = " ".join(ast.unparse(each) for each in method.decorator_list)
        if "field_validator" in decorators and f"'{field}'" in decorators:
            return "'auto'" in ast.unparse(method)
    return False


def _switch(names: tuple[str, ...]) -> Option:
    negative = tuple(f"--no-{name[2:]}" for name in names if name.startswith("--"))
    return Option(names=(*names, *negative), takes_value=False)


def _with_registered(code: PythonSources, option: Option) -> Option:
    table = _REGISTERED.get(option.names[0])
    values = code.keys_of(table) if table else ()
    if values:
        return replace(option, values=values)
    if option.names == (_LOAD_FORMAT,) and not option.values:
        return replace(option, values=code.literals_of(_LOAD_FORMATS), other_values=True)
    return option


def _strings(nodes: list[ast.expr]) -> tuple[str, ...]:
    return tuple(str(node.value) for node in nodes if isinstance(node, ast.Constant))
