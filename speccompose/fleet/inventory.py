"""An Ansible inventory, as `ansible-inventory --list` prints it -> boards.

Layer: fleet. Hosts and groups, which become tags; what a host's variables mean is decided in
``inventory_board``. Who inherits what from which group is Ansible's to say, so every other form
is asked of it (``ansible_inventory``).
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from speccompose.catalog.plain_data import Plain
from speccompose.catalog.problem import InvalidDataError, Problem
from speccompose.errors import DataError
from speccompose.fleet.inventory_board import Variables, board_of
from speccompose.vocab.fleet import BoardEntry

Tree = dict[str, Plain]

_NO_TAGS: Final = ("all", "ungrouped")
_TAG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def is_list(text: str) -> bool:
    """Whether a text is what `ansible-inventory --list` prints, and wants no Ansible any more."""
    return text.lstrip().startswith("{") and '"_meta"' in text


def read_inventory(
    text: str, origin: str, said: Mapping[str, Collection[str]] | None = None
) -> tuple[BoardEntry, ...]:
    """Boards in the order in which they appear.

    ``said``: what the fleet file says itself of a board, by field; the inventory is not asked then.
    A group whose name can be no tag is none: nothing could choose it.

    Raises:
        DataError: it is no list of Ansible's.
        InvalidDataError: with every mistake of every host, as ``board_of`` finds them.
    """
    groups = _groups(text, origin)
    meta = groups.pop("_meta")
    variables = meta.get("hostvars") if isinstance(meta, dict) else None
    named = variables if isinstance(variables, dict) else {}
    tags = _tags(groups)
    boards: list[BoardEntry] = []
    problems: list[Problem] = []
    for host in dict.fromkeys((*tags, *named)):
        of_host = named.get(host)
        given: Variables = of_host if isinstance(of_host, dict) else {}
        try:
            fields = (said or {}).get(host, ())
            boards.append(board_of(host, given, tags.get(host, ()), origin, said=fields))
        except InvalidDataError as error:
            problems += error.problems
    if problems:
        raise InvalidDataError(f"inventory {origin}", problems)
    return tuple(boards)


def _groups(text: str, origin: str) -> Tree:
    """The list's groups and its _meta."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InvalidDataError(origin, [Problem(file=origin, expected=str(error))]) from error
    if not isinstance(data, dict) or "_meta" not in data:
        raise DataError(
            f"{origin} is no inventory that is read here",
            ["read is the JSON that ansible-inventory prints"],
            hint=f"ansible-inventory -i {origin} --list > inventory.json, and name that file",
            code="inventory_form",
        )
    exported = [name for name, group in data.items() if isinstance(group, dict) and "vars" in group]
    if exported:
        raise DataError(
            f"{origin} was written with --export: its hosts lack what their groups say",
            [f"group {exported[0]} has variables of its own"],
            hint="ansible-inventory --list without --export",
            code="inventory_form",
        )
    return data


def _tags(groups: Tree) -> dict[str, list[str]]:
    """Every host's groups and what these are part of, in the list's order."""
    above: dict[str, list[str]] = {}
    direct: dict[str, list[str]] = {}
    for name in groups:
        for child in _named(groups, name, "children"):
            above.setdefault(child, []).append(name)
        for host in _named(groups, name, "hosts"):
            direct.setdefault(host, []).append(name)
    order = [name for name in groups if name not in _NO_TAGS and _TAG.fullmatch(name)]
    tags = {}
    for host, own in direct.items():
        found = _with_all_above(own, above)
        tags[host] = [name for name in order if name in found]
    return tags


def _named(groups: Tree, group: str, key: str) -> Iterable[str]:
    inside = groups[group]
    listed = inside.get(key) if isinstance(inside, dict) else None
    return [str(name) for name in listed] if isinstance(listed, list) else []


def _with_all_above(own: Iterable[str], above: Mapping[str, list[str]]) -> set[str]:
    """Groups and what they are part of; a group that is part of itself ends it, too."""
    found: set[str] = set()
    left = list(own)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += above.get(name, ())
    return found
