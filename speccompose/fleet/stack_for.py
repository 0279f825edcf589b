"""A fleet file's stack entry -> the plan request of the contract; which entry a board gets. Pure.

Layer: fleet.
"""

from collections.abc import Iterable

from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.fleet import Assignment, BoardEntry, FleetFile, StackEntry
from speccompose.vocab.request import StackRequest

_NOT_OPTIONS = ("requires", "set_flags")


def request_of(entry: StackEntry) -> StackRequest:
    """The request that the entry makes."""
    options = {
        name: getattr(entry, name) for name in entry.__struct_fields__ if name not in _NOT_OPTIONS
    }
    return StackRequest(**options, set_flags=tuple(entry.set_flags.items()))


def assigned(
    file: FleetFile, board: BoardEntry, device: ResolvedDevice, board_class: str
) -> str | None:
    """The first stack whose assignment matches the board; None when none does."""
    for rule in file.deploy:
        if _matches(rule, board, device, board_class):
            return rule.stack
    return None


def _matches(rule: Assignment, board: BoardEntry, device: ResolvedDevice, board_class: str) -> bool:
    return (
        set(rule.tags) <= set(board.tags)
        and (not rule.boards or board.id in rule.boards)
        and (not rule.devices or device.id in rule.devices)
        and (not rule.families or device.family in rule.families)
        and (not rule.classes or board_class in rule.classes)
    )


def way_to(file: FleetFile, entry: str, had: Iterable[str]) -> tuple[str, ...]:
    """Stacks that a board must get one after the other, ``entry`` last: what it requires and the
    board has not had comes first. A board that merely skipped releases goes straight (S18)."""
    seen = set(had)
    way: list[str] = []

    def visit(name: str) -> None:
        for required in file.stacks[name].requires:
            if required not in seen:
                visit(required)
        if name not in seen:
            seen.add(name)
            way.append(name)

    visit(entry)
    return tuple(way) or (entry,)
