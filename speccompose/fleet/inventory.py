"""The user's own Ansible inventory -> boards: the YAML form, or `ansible-inventory --list`.

Layer: fleet. Only what reaches a board is read: hosts, groups (which become tags), and the
variables below. Nothing is evaluated: a template in one of them is refused, not guessed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from speccompose.catalog.plain_data import Plain
from speccompose.catalog.problem import InvalidDataError, Problem
from speccompose.catalog.yaml_file import parse
from speccompose.errors import DataError
from speccompose.vocab.fleet import BoardEntry

_VARIABLES: Final = {
    "ansible_host": "address",
    "ansible_port": "port",
    "ansible_user": "user",
    "speccompose_site": "site",
    "speccompose_window": "window",
    "speccompose_device": "device",
    "speccompose_l4t": "l4t",
    "speccompose_facts": "facts",
}
_TEMPLATE: Final = re.compile(r"\{\{|\{%|\{#")
_RANGE: Final = re.compile(r"\[([0-9A-Za-z]+):([0-9A-Za-z]+)(?::([0-9]+))?\]")
_MOST_OF_A_RANGE: Final = 100_000
_NO_TAGS: Final = ("all", "ungrouped", "_meta")

Variables = dict[str, Plain]


class _Host:
    """One host while groups are walked: variables of outer groups come first."""

    def __init__(self) -> None:
        self.variables: Variables = {}
        self.tags: list[str] = []


def read_inventory(text: str, origin: str) -> tuple[BoardEntry, ...]:
    """Boards in the order in which they appear.

    Raises:
        DataError: an INI or plug-in inventory, with the command that turns it into JSON.
        InvalidDataError: a template, a malformed host, a variable of the wrong kind.
    """
    data = _data(text, origin)
    hosts: dict[str, _Host] = {}
    if isinstance(data, dict) and "_meta" in data:
        _walk_list(data, hosts, origin)
    elif isinstance(data, dict) and data and all(map(_is_group, data.values())):
        for name, group in data.items():
            _walk_group(name, group, (), {}, hosts=hosts, origin=origin)
    else:
        raise _not_ours(origin)
    return tuple(_board(name, host, origin) for name, host in hosts.items())


def _data(text: str, origin: str) -> Plain:
    if text.lstrip().startswith("{"):
        try:
            data: Plain = json.loads(text)
        except ValueError as error:
            raise InvalidDataError(origin, [Problem(file=origin, expected=str(error))]) from error
        return data
    if re.search(r"^\s*\[[^\]\n]+\]\s*(#.*)?$", text, re.M):
        raise _not_ours(origin)
    return parse(text, origin).data


def _not_ours(origin: str) -> DataError:
    return DataError(
        f"{origin} is no inventory that is read here",
        ["read are the YAML form (all: hosts: ...) and the JSON of ansible-inventory"],
        hint=f"ansible-inventory -i {origin} --list > inventory.json, and name that file",
        code="inventory_form",
    )


def _is_group(value: Plain) -> bool:
    known = {"hosts", "children", "vars"}
    return value is None or (isinstance(value, dict) and set(value) <= known)


def _walk_list(data: dict[str, Plain], hosts: dict[str, _Host], origin: str) -> None:
    """The JSON that `ansible-inventory --list` prints: variables stand in _meta."""
    meta = data.get("_meta")
    variables = meta.get("hostvars") if isinstance(meta, dict) else None
    named = variables if isinstance(variables, dict) else {}
    members = {name: set(_members(data, name, ())) for name in data if name not in _NO_TAGS}
    everyone = [host for name in data if name != "_meta" for host in _members(data, name, ())]
    for host in dict.fromkeys((*everyone, *named)):
        made = hosts.setdefault(host, _Host())
        of_host = named.get(host)
        made.variables = dict(of_host) if isinstance(of_host, dict) else {}
        made.tags = [name for name, inside in members.items() if host in inside]


def _members(data: dict[str, Plain], name: str, above: tuple[str, ...]) -> Iterator[str]:
    group = data.get(name)
    if not isinstance(group, dict) or name in above:
        return
    listed = group.get("hosts")
    yield from (str(host) for host in (listed if isinstance(listed, list) else ()))
    children = group.get("children")
    for child in children if isinstance(children, list) else ():
        yield from _members(data, str(child), (*above, name))


def _walk_group(
    name: str,
    group: Plain,
    above: tuple[str, ...],
    outer: Variables,
    *,
    hosts: dict[str, _Host],
    origin: str,
) -> None:
    """One group of the YAML form, its hosts and its children."""
    inside = group if isinstance(group, dict) else {}
    own = inside.get("vars")
    variables = {**outer, **(own if isinstance(own, dict) else {})}
    groups = (*above, *(() if name in _NO_TAGS else (name,)))
    listed = inside.get("hosts")
    for pattern, of_host in listed.items() if isinstance(listed, dict) else ():
        for host in expand(pattern, origin):
            made = hosts.setdefault(host, _Host())
            made.variables |= {**variables, **(of_host if isinstance(of_host, dict) else {})}
            made.tags += [tag for tag in groups if tag not in made.tags]
    children = inside.get("children")
    for child, content in children.items() if isinstance(children, dict) else ():
        _walk_group(child, content, groups, variables, hosts=hosts, origin=origin)


def expand(pattern: str, origin: str) -> tuple[str, ...]:
    """Ansible's host ranges: board[01:50], rack-[a:d]; the first number's zeros are kept.

    Raises:
        InvalidDataError: a range that runs backwards, or names too many.
    """
    match = _RANGE.search(pattern)
    if match is None:
        return (pattern,)
    first, last, step = match.group(1), match.group(2), int(match.group(3) or 1)
    if first.isdigit() and last.isdigit():
        numbers = range(int(first), int(last) + 1, step or 1)
        width = len(first) if first.startswith("0") else 0
        parts = [str(number).zfill(width) for number in numbers[:_MOST_OF_A_RANGE]]
    elif len(first) == len(last) == 1 and first.isalpha() and last.isalpha():
        parts = [chr(code) for code in range(ord(first), ord(last) + 1, step or 1)]
    else:
        parts = []
    if not parts or not step:
        expected = f"expected a range that counts up, found {pattern}"
        raise InvalidDataError(origin, [Problem(file=origin, expected=expected)])
    ends = [pattern[: match.start()] + part + pattern[match.end() :] for part in parts]
    return tuple(name for end in ends for name in expand(end, origin))


def _board(name: str, host: _Host, origin: str) -> BoardEntry:
    fields: dict[str, str | int] = {}
    for variable, field in _VARIABLES.items():
        value = host.variables.get(variable)
        if value is None:
            continue
        if isinstance(value, str) and _TEMPLATE.search(value):
            raise _template(name, variable, origin)
        if field == "port":
            fields[field] = _port(name, value, origin)
        else:
            fields[field] = str(value)
    data = {"id": name, "tags": host.tags, **fields}
    mistakes = board_mistakes(data)
    if mistakes:
        problems = [Problem(file=origin, path=f"{name}", expected=text) for text in mistakes]
        raise InvalidDataError(f"inventory {origin}", problems)
    return msgspec.convert(data, type=BoardEntry)


def board_mistakes(data: Mapping[str, object]) -> tuple[str, ...]:
    """What of a host cannot be a board of ours, in words."""
    try:
        msgspec.convert(data, type=BoardEntry)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        return (f"{where.rstrip('`') or 'host'}: {what[:1].lower()}{what[1:]}",)
    return ()


def _port(name: str, value: Plain, origin: str) -> int:
    text = str(value)
    if not text.isdigit() or not 0 < int(text) < 65536:
        expected = f"expected a port from 1 to 65535 as ansible_port of {name}, found {text!r}"
        raise InvalidDataError(origin, [Problem(file=origin, expected=expected)])
    return int(text)


def _template(name: str, variable: str, origin: str) -> InvalidDataError:
    problem = Problem(
        file=origin,
        path=f"{name}.{variable}",
        expected="expected a plain value, found a template that only Ansible can evaluate",
        hint=f"write the value out, or name the address in the fleet file for {name}",
    )
    return InvalidDataError(f"inventory {origin}", [problem])
