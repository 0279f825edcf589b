"""What the parts of a fleet file say of each other: every contradiction, with its place. Pure.

Layer: fleet. Runs on a file that is right by its schema.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, get_args

from speccompose.catalog.problem import KeyPath, Mistake, did_you_mean
from speccompose.fleet.policy_file import wave_mistakes
from speccompose.fleet.windows import zone
from speccompose.vocab.device import Family
from speccompose.vocab.fleet import BoardEntry, FleetFile
from speccompose.vocab.rollout_policy import RolloutPolicy, WaveRule

_FAMILIES: Final[tuple[str, ...]] = get_args(Family)


def contradictions(
    file: FleetFile, boards: tuple[BoardEntry, ...], policy: RolloutPolicy, devices: Iterable[str]
) -> Iterator[Mistake]:
    """Everything in a fleet file that cannot be meant. ``boards``: with those of the inventory."""
    if not boards:
        yield Mistake((), "expected boards, or an inventory that has some")
    yield from _boards(file, boards)
    yield from _deploy(file, boards, tuple(devices))
    yield from _requires(file)
    yield from _windows(file)
    if file.changes.waves is not None:
        yield from wave_mistakes(file.changes.waves, ("changes", "waves"))
        yield from _empty_waves(file.changes.waves, ("changes", "waves"), boards)
    else:
        yield from _empty_waves(policy.waves, ("policy",), boards)


def _boards(file: FleetFile, boards: tuple[BoardEntry, ...]) -> Iterator[Mistake]:
    """Each board once, each address once, sites and windows that exist."""
    place = {board.id: ("boards", index) for index, board in reversed([*enumerate(file.boards)])}
    first: dict[str, int] = {}
    for index, board in enumerate(file.boards):
        if board.id in first:
            expected = f"expected each board once, boards[{first[board.id]}] is {board.id!r} too"
            yield Mistake(("boards", index, "id"), expected)
        first.setdefault(board.id, index)
    by_address: dict[tuple[str, int], str] = {}
    for board in boards:
        path: KeyPath = place.get(board.id, ("inventory",))
        where = (board.address or board.id, board.port or file.ssh.port)
        other = by_address.setdefault(where, board.id)
        if other != board.id:
            expected = f"expected each address once, {other} has {where[0]}:{where[1]} too"
            yield Mistake((*path, "address"), expected)
        yield from _known((*path, "site"), board.site, file.sites, "a site of this file")
        yield from _known((*path, "window"), board.window, file.windows, "a window of this file")
    yield from _known(("window",), file.window, file.windows, "a window of this file")


def _known(path: KeyPath, name: str | None, known: Iterable[str], what: str) -> Iterator[Mistake]:
    choices = tuple(known)
    if name is not None and name not in choices:
        hint = did_you_mean(name, choices) or f"there are: {', '.join(choices) or 'none'}"
        yield Mistake(path, f"expected {what}, found {name!r}", hint)


def _deploy(
    file: FleetFile, boards: tuple[BoardEntry, ...], devices: tuple[str, ...]
) -> Iterator[Mistake]:
    tags = tuple(dict.fromkeys(tag for board in boards for tag in board.tags))
    names = tuple(board.id for board in boards)
    used = set()
    for index, rule in enumerate(file.deploy):
        path = ("deploy", index)
        used.add(rule.stack)
        yield from _known((*path, "stack"), rule.stack, file.stacks, "a stack of this file")
        lists: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
            "tags": (rule.tags, tags, "a tag that a board has"),
            "boards": (rule.boards, names, "a board of this file"),
            "devices": (rule.devices, devices, "a module of the catalog"),
            "families": (rule.families, _FAMILIES, "a family of boards"),
        }
        for key, (given, known, what) in lists.items():
            for item, name in enumerate(given):
                yield from _known((*path, key, item), name, known, what)
    for name in file.stacks:
        if name not in used and not any(name in s.requires for s in file.stacks.values()):
            hint = "add an assignment to deploy, or take the stack out"
            expected = "expected a stack that some board gets"
            yield Mistake(("stacks", name), expected, hint, at_key=True)


def _requires(file: FleetFile) -> Iterator[Mistake]:
    for name, stack in file.stacks.items():
        for index, other in enumerate(stack.requires):
            path: KeyPath = ("stacks", name, "requires", index)
            yield from _known(path, other, file.stacks, "a stack of this file")
        circle = _circle(file, name)
        if circle:
            expected = f"expected no circle, found {' -> '.join(circle)}"
            yield Mistake(("stacks", name, "requires"), expected)


def _circle(file: FleetFile, name: str) -> tuple[str, ...]:
    """The way from a stack back to itself; empty when there is none. Told once per circle."""
    ways: list[tuple[str, ...]] = [(name,)]
    seen = {name}
    while ways:
        way = ways.pop()
        for other in file.stacks[way[-1]].requires if way[-1] in file.stacks else ():
            if other == name:
                return (*way, name) if name == min(way) else ()
            if other not in seen:
                seen.add(other)
                ways.append((*way, other))
    return ()


def _windows(file: FleetFile) -> Iterator[Mistake]:
    for name, window in file.windows.items():
        try:
            zone(window.zone)
        except ValueError as error:
            hint = "write it like Europe/Berlin or UTC"
            yield Mistake(("windows", name, "zone"), f"expected a time zone: {error}", hint)
        if window.start == window.end:
            expected = f"expected an end other than the start {window.start}"
            yield Mistake(("windows", name, "end"), expected, "leave the window out for always")
        if not window.days:
            yield Mistake(("windows", name, "days"), "expected at least one day")


def _empty_waves(
    waves: tuple[WaveRule, ...], path: KeyPath, boards: tuple[BoardEntry, ...]
) -> Iterator[Mistake]:
    """A wave of tags or names that nobody has is a typo, never a wave without boards."""
    tags = tuple(dict.fromkeys(tag for board in boards for tag in board.tags))
    names = tuple(board.id for board in boards)
    for index, rule in enumerate(waves):
        inside = (*path, index) if path[-1] == "waves" else path
        for item, tag in enumerate(rule.tags):
            where = (*inside, "tags", item) if path[-1] == "waves" else path
            what = f"a tag that a board has, or wave {rule.name!r} is empty"
            yield from _known(where, tag, tags, what)
        for item, name in enumerate(rule.boards):
            where = (*inside, "boards", item) if path[-1] == "waves" else path
            yield from _known(where, name, names, f"a board, or wave {rule.name!r} is empty")
