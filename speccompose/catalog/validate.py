"""Parsed data and its kind's schema -> every mistake in it, in words.

Layer: catalog. The only importer of jsonschema, whose errors are turned from the validator's
view ("is not valid under any of the given schemas") into the writer's ("expected text").
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Final, cast

from jsonschema import Draft202012Validator, FormatChecker, ValidationError

from speccompose.catalog.plain_data import Plain, kind_of
from speccompose.catalog.problem import KeyPath, Mistake, did_you_mean
from speccompose.catalog.schema import schema_of
from speccompose.vocab.base import Frozen

_TYPES: Final = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}
_BOUNDS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "text of at least {} characters",
    "maxLength": "text of at most {} characters",
    "minItems": "a list of at least {}",
    "maxItems": "a list of at most {}",
    "format": "a {} like 2026-11-30",
    "const": "{}",
}
_LONGEST_SHOWN: Final = 32


class _Breach(Frozen, frozen=True, kw_only=True):
    """One rule of the schema that a value breaks; ``branch`` numbers anyOf's alternatives."""

    rule: str
    wanted: Plain
    value: Plain
    path: KeyPath
    at_value: bool
    properties: tuple[str, ...]
    branch: int
    inner: "tuple[_Breach, ...]"


def mistakes_in(kind: str, data: Plain) -> tuple[Mistake, ...]:
    """Return every mistake of one data file.

    Raises:
        KeyError: for an unknown kind.
    """
    errors = _validator(kind).iter_errors(data)
    found = [mistake for error in errors for mistake in _mistakes(_breach(error))]
    return tuple(dict.fromkeys(found))


@functools.cache
def _validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(kind), format_checker=FormatChecker(["date"]))


def _breach(error: ValidationError) -> _Breach:
    """Take what we need out of the validator's error."""
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    return _Breach(
        rule=str(error.validator),
        wanted=cast("Plain", error.validator_value),
        value=cast("Plain", error.instance),
        path=tuple(error.absolute_path),
        at_value=not error.relative_path,
        properties=tuple(schema.get("properties", ())),
        branch=next((part for part in error.relative_schema_path if isinstance(part, int)), 0),
        inner=tuple(_breach(inner) for inner in error.context or ()),
    )


def _mistakes(breach: _Breach) -> Iterator[Mistake]:
    if breach.rule == "anyOf":
        yield from _of_alternatives(breach)
    elif breach.rule == "additionalProperties":
        yield from _unknown_keys(breach)
    elif breach.rule == "required":
        yield from _missing_keys(breach)
    else:
        expected = f"expected {_in_words(breach)}, found {_found(breach.value)}"
        yield Mistake(breach.path, expected, _hint(breach))


def _of_alternatives(breach: _Breach) -> Iterator[Mistake]:
    """Report what is wrong with the alternative that was meant: the one of the right type."""
    branches: dict[int, list[_Breach]] = {}
    for inner in breach.inner:
        branches.setdefault(inner.branch, []).append(inner)
    meant = [inner for inner in branches.values() if not any(map(_is_wrong_type, inner))]
    if meant:
        for inner in meant[0]:
            yield from _mistakes(inner)
        return
    wrong = [inner for inner in breach.inner if _is_wrong_type(inner)]
    wanted = " or ".join(dict.fromkeys(_in_words(inner) for inner in wrong))
    hint = next((hint for hint in map(_hint, wrong) if hint), None)
    yield Mistake(breach.path, f"expected {wanted}, found {_found(breach.value)}", hint)


def _is_wrong_type(breach: _Breach) -> bool:
    """Whether the value itself, not something inside it, is of another type."""
    if not breach.at_value:
        return False
    return breach.rule == "type" or (breach.rule == "enum" and not isinstance(breach.value, str))


def _unknown_keys(breach: _Breach) -> Iterator[Mistake]:
    present = breach.value if isinstance(breach.value, dict) else {}
    for key in present:
        if key not in breach.properties:
            unset = [name for name in breach.properties if name not in present]
            hint = did_you_mean(key, unset) or f"known keys: {', '.join(breach.properties)}"
            yield Mistake((*breach.path, key), "expected a key that is known here", hint, True)


def _missing_keys(breach: _Breach) -> Iterator[Mistake]:
    present = breach.value if isinstance(breach.value, dict) else {}
    for key in breach.wanted if isinstance(breach.wanted, list) else ():
        if key not in present:
            yield Mistake(breach.path, f"expected the key {key}", at_key=True)


def _in_words(breach: _Breach) -> str:
    """What the rule wants."""
    if breach.rule == "type":
        return _TYPES.get(str(breach.wanted), str(breach.wanted))
    if breach.rule == "enum":
        return f"one of {', '.join(_choices(breach))}"
    if breach.rule == "pattern":
        return f"text like {breach.wanted}"
    return _BOUNDS.get(breach.rule, f"{breach.rule} {{}}").format(breach.wanted)


def _choices(breach: _Breach) -> list[str]:
    return [str(choice) for choice in breach.wanted] if isinstance(breach.wanted, list) else []


def _found(value: Plain) -> str:
    """Name what is there: the value where it is short, else its kind."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        shown = repr(value)
        return f"{kind_of(value)} {shown}" if len(shown) <= _LONGEST_SHOWN else kind_of(value)
    return kind_of(value)


def _hint(breach: _Breach) -> str | None:
    value = breach.value
    if breach.rule == "enum" and isinstance(value, str):
        return did_you_mean(value, _choices(breach))
    if breach.rule != "type":
        return None
    if breach.wanted == "string" and isinstance(value, (int, float)):
        return "put quotes around it: names and versions are text"
    if breach.wanted in ("integer", "number") and isinstance(value, str) and value[:1].isdigit():
        return "write the number alone; the key's name ends in its unit"
    return None
