"""A fleet's plan as an immutable folder: written once, checked whenever it is read (S1).

Layer: fleet. rollouts/<id>/: plan.json with its hash beside it, bundles/<hash>/ with the rendered
stacks, journal.jsonl, requests/.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from speccompose.catalog.text_file import read_regular
from speccompose.errors import DataError, MismatchError
from speccompose.vocab.rendered import RenderedStack
from speccompose.vocab.rollout_plan import FleetPlan, PlannedBoard

PLAN: Final = "plan.json"
SEAL: Final = "plan.json.sha256"
BUNDLES: Final = "bundles"
JOURNAL: Final = "journal.jsonl"
Builtin = None | bool | int | float | str | list["Builtin"] | dict[str, "Builtin"]
_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_LARGEST: Final = 1 << 30


def rollout_id(plan: FleetPlan) -> str:
    """The hash over who gets what in which order by which rules.

    Not in it: what boards ran before, and the version of this program. Counted is what a reader
    of the file gets, so that the same figure written otherwise is the same rollout.
    """
    plan = msgspec.json.decode(msgspec.json.encode(plan), type=FleetPlan)
    counted = [
        plan.fleet, plan.kind, plan.counter, plan.inventory, plan.waves, plan.policy, plan.sites,
        plan.windows, plan.ssh, sorted(plan.stacks),
        [(board.id, board.board_class, board.stack) for board in plan.boards],
    ]  # fmt: skip
    said = _said(msgspec.to_builtins(counted, order="sorted"))
    return "r-" + hashlib.sha256(_ENCODER.encode(said)).hexdigest()[:16]


def _said(value: Builtin) -> Builtin:
    """Without what says nothing: a field that a newer version adds, and that nobody has set, must
    not make another rollout of one that is under way.
    """
    if isinstance(value, dict):
        parts = {key: _said(part) for key, part in value.items()}
        return {
            key: part for key, part in parts.items() if part or (part == 0 and part is not False)
        }
    if isinstance(value, (list, tuple)):
        return [_said(part) for part in value]
    return value


def inventory_hash(boards: Iterable[PlannedBoard]) -> str:
    """The hash over which boards there are and how they are reached."""
    rows = [(board.id, *_reach(board)) for board in boards]
    return "sha256:" + hashlib.sha256(_ENCODER.encode(rows)).hexdigest()


def bundle_hash(stack: RenderedStack) -> str:
    """The hash over names, modes and bytes of a rendered stack: its bundle's name."""
    total = hashlib.sha256()
    for file in sorted(stack.files, key=lambda file: file.path):
        content = hashlib.sha256(file.content).hexdigest()
        total.update(f"{file.path}\0{file.mode:o}\0{content}\n".encode())
    return total.hexdigest()[:32]


def write_plan(rollouts: Path, plan: FleetPlan, stacks: Mapping[str, RenderedStack]) -> Path:
    """Write a plan's folder, or find the same one there; returns it.

    Raises:
        DataError: it cannot be written.
        MismatchError: a folder of this id holds something else.
    """
    folder = rollouts / plan.rollout
    if (folder / SEAL).exists():
        load_plan(folder)
        return folder
    content = msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"
    try:
        for name, stack in stacks.items():
            for file in stack.files:
                path = folder / BUNDLES / name / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.content)
                path.chmod(file.mode)
        (folder / PLAN).write_bytes(content)
        seal = f"{hashlib.sha256(content).hexdigest()}  {PLAN}\n"
        (folder / SEAL).write_text(seal, encoding="ascii")
    except OSError as error:
        raise DataError(
            f"the plan cannot be written to {folder}: {error.strerror}", code="plan_unwritable"
        ) from error
    return folder


def load_plan(folder: Path) -> FleetPlan:
    """Read a plan and prove that neither it nor a bundle was changed since.

    Raises:
        DataError: there is no plan, or it cannot be read.
        MismatchError: one byte of it, or of a bundle, is another (status 19).
    """
    try:
        content = read_regular(folder / PLAN, _LARGEST)
        seal = read_regular(folder / SEAL).decode("ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{folder} holds no plan: {getattr(error, 'strerror', None) or error}",
            hint="`speccompose fleet plan` makes one",
            code="plan_missing",
        ) from error
    if seal[:1] != [hashlib.sha256(content).hexdigest()]:
        raise _changed(folder / PLAN)
    try:
        plan = msgspec.json.decode(content, type=FleetPlan)
    except msgspec.MsgspecError as error:
        raise DataError(
            f"{folder / PLAN} is no plan of this version: {error}",
            hint="`speccompose fleet plan` makes one",
            code="plan_missing",
        ) from error
    if rollout_id(plan) != plan.rollout:
        raise _changed(folder / PLAN)
    for name in plan.stacks:
        if _hash_of_folder(folder / BUNDLES / name) != name:
            raise _changed(folder / BUNDLES / name)
    return plan


def check_inventory(plan: FleetPlan, boards: Iterable[PlannedBoard]) -> None:
    """Refuse a plan whose fleet has changed since; a plan for some boards knows only those.

    Raises:
        MismatchError: boards were added, removed, or are reached otherwise (status 19).
    """
    planned = {board.id for board in plan.boards}
    now = tuple(board for board in boards if plan.kind == "release" or board.id in planned)
    if inventory_hash(now) == plan.inventory:
        return
    known = {board.id: board for board in plan.boards}
    names = {board.id for board in now}
    facts = [f"new: {name}" for name in sorted(names - known.keys())]
    facts += [f"gone: {name}" for name in sorted(known.keys() - names)]
    facts += [f"changed: {b.id}" for b in now if b.id in known and _reach(b) != _reach(known[b.id])]
    raise MismatchError(
        f"the fleet has changed since {plan.rollout} was planned",
        facts[:10],
        hint="plan again: `speccompose fleet plan`",
        code="plan_outdated",
    )


def _reach(board: PlannedBoard) -> tuple[object, ...]:
    """How a board is reached and chosen; key and jump only where it has some of its own, so that
    plans which were sealed before boards could have any still count."""
    own = (("key", board.key), ("jump", board.jump))
    told = [part for way in own if way[1] is not None for part in way]
    return (
        *(board.address, board.port, board.user, board.site, board.window, board.tags),
        *told,
    )


def _hash_of_folder(folder: Path) -> str:
    total = hashlib.sha256()
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    for name in sorted(paths):
        content = hashlib.sha256(paths[name].read_bytes()).hexdigest()
        mode = paths[name].stat().st_mode & 0o777
        total.update(f"{name}\0{mode:o}\0{content}\n".encode())
    return total.hexdigest()[:32]


def _changed(path: Path) -> MismatchError:
    return MismatchError(
        f"{path} was changed after it was planned",
        ["a plan is never edited: its id is the hash of what it says"],
        hint="plan again: `speccompose fleet plan`",
        code="plan_changed",
    )
