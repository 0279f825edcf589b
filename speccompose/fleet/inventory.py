"""The user's own Ansible inventory -> boards: the YAML form, or `ansible-inventory --list`.

Layer: fleet. Hosts and groups, which become tags; what a host's variables mean is decided in
``inventory_board``. Other forms, and variables in folders beside it, are asked of Ansible
(``ansible_inventory``).
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from speccompose.catalog.plain_data import Plain
from speccompose.catalog.problem import InvalidDataError, Problem
from speccompose.catalog.yaml_file import parse
from speccompose.errors import DataError
from speccompose.fleet.inventory_board import Variables, board_of
from speccompose.vocab.fleet import BoardEntry

_RANGE: Final = re.compile(r"\[([0-9A-Za-z]+):([0-9A-Za-z]+)(?::([0-9]+))?\]")
_INI: Final = re.compile(r"^\s*\[[^\]\n]+\]\s*([#;].*)?$", re.M)
_PLUGIN: Final = re.compile(r"^plugin:", re.M)
_MOST_OF_A_RANGE: Final = 100_000
_NO_TAGS: Final = ("all", "ungrouped", "_meta")


class _Host:
    """One host while groups are walked: variables of outer groups come first."""

    def __init__(self) -> None:
        self.variables: Variables = {}
        self.tags: list[str] = []


def read_inventory(text: str, origin: str) -> tuple[BoardEntry, ...]:
    """Boards in the order in which they appear.

    Raises:
        DataError: an INI or plug-in inventory, with the command that turns it into JSON.
        InvalidDataError: a malformed group, or what ``board_of`` refuses.
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
    return tuple(board_of(name, host.variables, host.tags, origin) for name, host in hosts.items())


def is_read_here(text: str) -> bool:
    """Whether an inventory's text is of a form that needs no Ansible."""
    start = text.lstrip()
    if start.startswith("{"):
        return True
    return not (start.startswith("#!") or _INI.search(text) or _PLUGIN.search(text))


def _data(text: str, origin: str) -> Plain:
    if text.lstrip().startswith("{"):
        try:
            data: Plain = json.loads(text)
        except ValueError as error:
            raise InvalidDataError(origin, [Problem(file=origin, expected=str(error))]) from error
        return data
    if not is_read_here(text):
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
