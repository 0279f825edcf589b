"""fleet.yaml, its inventory, policy and facts -> a fleet that can be planned anywhere.

Layer: fleet. Everything is read here, once; planning after it touches no file and no board.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from speccompose.catalog.facts_file import read_facts
from speccompose.catalog.problem import InvalidDataError, KeyPath, Mistake, Problem
from speccompose.errors import DataError
from speccompose.fleet.ansible_inventory import inventory_text
from speccompose.fleet.data_file import TextSource, read_as, read_source
from speccompose.fleet.fleet_check import contradictions
from speccompose.fleet.inventory import read_inventory
from speccompose.fleet.policy_file import read_policy, with_changes
from speccompose.vocab.base import Frozen
from speccompose.vocab.facts import RawFacts
from speccompose.vocab.fleet import BoardEntry, FleetFile
from speccompose.vocab.rollout_policy import RolloutPolicy

FACTS: Final = "facts"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_NAME_KEYS: Final = ("id", "address", "site", "window", "device", "l4t", "stack", "name", "zone")
_NAME_LISTS: Final = ("tags", "boards", "requires", "devices", "families", "classes")


class Fleet(Frozen, frozen=True, kw_only=True):
    """A fleet as read: the file, all boards (the inventory's too), the policy, and the facts of
    every board that has a facts file. ``folder``: where the fleet file lies."""

    file: FleetFile
    boards: tuple[BoardEntry, ...]
    policy: RolloutPolicy
    facts: dict[str, RawFacts]
    folder: str


def read_fleet(
    path: Path,
    profile_roots: tuple[Path, ...],
    devices: Iterable[str],
    *,
    facts_wanted: bool = True,
) -> Fleet:
    """Read a fleet file and all that it names. ``devices``: module ids of the catalog.

    Without ``facts_wanted`` boards need none yet: whoever enrolls them is about to ask.

    Raises:
        InvalidDataError: with every mistake of the file, or of an inventory or facts file.
        UsageError: no such policy.
        DataError: a file cannot be read.
    """
    text = read_source(path, "fleet file", "name it after the verb, or go where fleet.yaml is")
    _refuse_inventory(text, path)
    file, source = read_as("fleet", FleetFile, text, str(path), names=_is_name)
    folder = path.parent
    boards = _boards(file, folder)
    policy = with_changes(read_policy(file.policy, profile_roots), file.changes)
    source.refuse(contradictions(file, boards, policy, devices))
    facts = _all_facts(file, boards, folder, source) if facts_wanted else {}
    return Fleet(file=file, boards=boards, policy=policy, facts=facts, folder=str(folder))


def _is_name(path: KeyPath) -> bool:
    """Whether the value at this path names something, and so is text however it is written."""
    last = path[-1] if path else ""
    if isinstance(last, int):
        return len(path) > 1 and path[-2] in _NAME_LISTS and len(path) > 2
    return last in _NAME_KEYS


def _refuse_inventory(text: str, path: Path) -> None:
    """An inventory given as the fleet file: say what is missing instead of listing its keys."""
    if "fleet:" in text or '"fleet"' in text:
        return
    if '"_meta"' in text or text.lstrip().startswith(("all:", "[", "---\nall:")):
        raise DataError(
            f"{path} is an Ansible inventory, which says nothing of stacks",
            ["a fleet file names it: fleet: 1, name, inventory, stacks, deploy"],
            hint=f"write fleet.yaml with `inventory: {path.name}` and the stacks",
            code="inventory_as_fleet",
        )


def _boards(file: FleetFile, folder: Path) -> tuple[BoardEntry, ...]:
    """The inventory's boards and the file's own; what the file says of a board goes first."""
    if file.inventory is None:
        return file.boards
    path = folder / file.inventory
    said = {board.id: _said(board) for board in file.boards}
    found = {board.id: board for board in read_inventory(inventory_text(path), str(path), said)}
    for board in file.boards:
        known = found.get(board.id)
        found[board.id] = board if known is None else _merged(known, board)
    return tuple(found.values())


def _said(own: BoardEntry) -> tuple[str, ...]:
    """Fields that the fleet file gives of a board itself."""
    return tuple(name for name in own.__struct_fields__ if getattr(own, name) is not None)


def _merged(known: BoardEntry, own: BoardEntry) -> BoardEntry:
    given = {name: getattr(own, name) for name in _said(own)}
    tags = tuple(dict.fromkeys((*known.tags, *own.tags)))
    return msgspec.structs.replace(known, **{**given, "tags": tags})


def facts_path(board: BoardEntry, folder: Path) -> Path | None:
    """The board's facts file: the one named, else facts/<id>.yaml if it is there."""
    if board.facts is not None:
        return folder / board.facts
    found = (folder / FACTS / f"{board.id}{suffix}" for suffix in _SUFFIXES)
    return next((path for path in found if path.exists()), None)


def _all_facts(
    file: FleetFile, boards: tuple[BoardEntry, ...], folder: Path, source: TextSource
) -> dict[str, RawFacts]:
    """Facts of every board that has some; a board needs facts or a device.

    Raises:
        InvalidDataError: boards without either, and every mistake of every facts file.
    """
    facts: dict[str, RawFacts] = {}
    problems: list[Problem] = []
    nothing: list[Mistake] = []
    index = {board.id: number for number, board in enumerate(file.boards)}
    for board in boards:
        path = facts_path(board, folder)
        if path is None:
            if board.device is None:
                nothing.append(_without_facts(board, index.get(board.id)))
            continue
        try:
            facts[board.id] = read_facts(read_source(path, "facts file"), str(path))
        except InvalidDataError as error:
            problems += error.problems
        except DataError as error:
            hint = f"`speccompose fleet enroll --board {board.id}` writes facts/{board.id}.yaml"
            problems.append(Problem(file=str(path), expected=error.brief, hint=hint))
    if problems:
        raise InvalidDataError("facts of the fleet", problems)
    source.refuse(nothing)
    return facts


def _without_facts(board: BoardEntry, index: int | None) -> Mistake:
    where: KeyPath = ("inventory",) if index is None else ("boards", index)
    hint = f"`speccompose fleet enroll --board {board.id}` reads them from the board"
    expected = f"expected {FACTS}/{board.id}.yaml or a device, {board.id} has neither"
    return Mistake(where, expected, hint)
