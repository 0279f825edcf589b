"""A fleet as read -> every board's stack or refusal, the waves, one id. No board is asked.

Layer: fleet. Pure but for the planner that is handed in. Boards with equal inputs are planned
once: what a stack depends on is the module, L4T, MemTotal, power mode, the entry and the site's
mirrors. MemAvailable, serial numbers, kernels and evidence are not among them.
"""

from collections.abc import Mapping

import msgspec

import speccompose
from speccompose.errors import ExitStatus, SpecComposeError
from speccompose.fleet.board_class import board_class, class_available_mib, class_facts
from speccompose.fleet.file import Fleet
from speccompose.fleet.fleet_refusal import (
    first_status,
    nothing_to_do,
    refusal_of,
    requires_missing,
    unassigned,
)
from speccompose.fleet.known import KnownBoard, KnownFleet
from speccompose.fleet.plan_file import inventory_hash, rollout_id
from speccompose.fleet.planned_stack import Planned, StackPlanner, planned_stacks
from speccompose.fleet.stack_for import assigned, request_of
from speccompose.fleet.waves import waves
from speccompose.plan.detect import detect_device
from speccompose.plan.resolve import resolve_device, resolve_named
from speccompose.vocab.base import Frozen
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.fleet import BoardEntry, SiteEntry
from speccompose.vocab.rendered import RenderedStack
from speccompose.vocab.rollout_plan import (
    FleetPlan,
    PlanKind,
    PlannedBoard,
    PlannedStack,
)

Key = tuple[object, ...]


class FleetDraft(Frozen, frozen=True, kw_only=True):
    """A plan and the folders of its stacks, by bundle."""

    plan: FleetPlan
    rendered: dict[str, RenderedStack]


class Selection(Frozen, frozen=True, kw_only=True):
    """A plan for some boards only (None: all), some of them with another stack of the file than
    their assignment says: what its ``requires`` calls for first."""

    only: frozenset[str] | None = None
    entries: Mapping[str, str] = {}
    kind: PlanKind = "release"


def plan_fleet(
    fleet: Fleet,
    catalog: Catalog,
    known: KnownFleet,
    planner: StackPlanner,
    selection: Selection = Selection(),  # noqa: B008  frozen
) -> FleetDraft:
    """Plan every board.

    Raises:
        UsageError: no board gets anything.
    """
    made = _Planning(fleet, catalog, known, planner, selection.entries)
    only = selection.only
    wanted = [entry for entry in fleet.boards if only is None or entry.id in only]
    boards = tuple(made.board(entry) for entry in wanted)
    if all(board.stack is None for board in boards):
        raise nothing_to_do(boards)
    used = {board.stack for board in boards}
    stacks = {b: stack for b, stack in made.stacks.items() if b in used}
    stacks |= {s.fallback: made.stacks[s.fallback] for s in stacks.values() if s.fallback}
    policy = fleet.policy
    draft = FleetPlan(
        rollout="",
        fleet=fleet.file.name,
        kind=selection.kind,
        counter=known.counter,
        inventory=inventory_hash(boards),
        boards=boards,
        stacks=dict(sorted(stacks.items())),
        waves=waves(boards, policy.waves, policy.seed),
        policy=policy,
        sites=fleet.file.sites,
        windows=fleet.file.windows,
        ssh=fleet.file.ssh,
        speccompose=speccompose.__version__,
    )
    return FleetDraft(
        plan=numbered(draft, known), rendered={name: made.rendered[name] for name in stacks}
    )


def numbered(draft: FleetPlan, known: KnownFleet) -> FleetPlan:
    """The plan with its id and release counter: the same release keeps the one it had (S28)."""
    replace = msgspec.structs.replace
    same = replace(draft, counter=known.counter)
    if known.release is not None and rollout_id(same) == known.release:
        return replace(same, rollout=known.release)
    following = replace(draft, counter=known.counter + 1)
    return replace(following, rollout=rollout_id(following))


def plan_status(plan: FleetPlan) -> ExitStatus:
    """0, or the status of the refusal that comes first in the contract's order."""
    found = [board.refusal.status for board in plan.boards if board.refusal is not None]
    if not found or plan.policy.allow_refused:
        return ExitStatus.DONE
    return ExitStatus(first_status(found))


def reached(fleet: Fleet, entry: BoardEntry) -> PlannedBoard:
    """How a board is reached, with what the whole fleet has in common; nothing planned yet."""
    return PlannedBoard(
        id=entry.id,
        address=entry.address or entry.id,
        port=entry.port or fleet.file.ssh.port,
        user=entry.user or fleet.file.ssh.user,
        key=entry.key,
        jump=entry.jump,
        site=entry.site,
        window=entry.window or fleet.file.window,
        tags=entry.tags,
    )


class _Planning:
    """What was planned already, by its inputs."""

    def __init__(
        self,
        fleet: Fleet,
        catalog: Catalog,
        known: KnownFleet,
        planner: StackPlanner,
        entries: Mapping[str, str],
    ) -> None:
        self.fleet, self.catalog, self.known, self.planner = fleet, catalog, known, planner
        self._entries = entries
        self.stacks: dict[str, PlannedStack] = {}
        self.rendered: dict[str, RenderedStack] = {}
        self._memo: dict[Key, Planned | SpecComposeError] = {}

    def board(self, entry: BoardEntry) -> PlannedBoard:
        """One board's place in the plan."""
        before = self.known.boards.get(entry.id, KnownBoard())
        planned = msgspec.structs.replace(reached(self.fleet, entry), before=before.digest)
        try:
            device = self._identify(entry)
        except SpecComposeError as error:
            return msgspec.structs.replace(planned, refusal=refusal_of(error))
        planned = msgspec.structs.replace(
            planned, board_class=board_class(device).id, notes=_notes(device)
        )
        try:
            stack = self._stack(entry, device, str(planned.board_class), before)
        except SpecComposeError as error:
            return msgspec.structs.replace(planned, refusal=refusal_of(error))
        return msgspec.structs.replace(planned, stack=stack.bundle)

    def _identify(self, entry: BoardEntry) -> ResolvedDevice:
        facts = self.fleet.facts.get(entry.id)
        if facts is None:
            return resolve_named(str(entry.device), entry.l4t, self.catalog)
        return resolve_device(detect_device(facts), self.catalog, assume_l4t=entry.l4t)

    def _stack(
        self, entry: BoardEntry, device: ResolvedDevice, class_id: str, before: KnownBoard
    ) -> PlannedStack:
        name = self._entries.get(entry.id) or assigned(self.fleet.file, entry, device, class_id)
        if name is None:
            raise unassigned(entry, class_id)
        required = [r for r in self.fleet.file.stacks[name].requires if r not in before.had]
        if required:
            raise requires_missing(name, required)
        site = self.fleet.file.sites.get(entry.site) if entry.site is not None else None
        key = (name, _site_key(site), *device_key(device))
        found = self._memo.get(key)
        if found is None:
            found = self._memo[key] = self._plan(name, entry, device, site)
        if isinstance(found, SpecComposeError):
            raise found
        return found.first

    def _plan(
        self, name: str, entry: BoardEntry, device: ResolvedDevice, site: SiteEntry | None
    ) -> Planned | SpecComposeError:
        facts = self.fleet.facts.get(entry.id)
        source = BoardSource(
            device=entry.device if facts is None else None,
            l4t=entry.l4t if facts is None else None,
            facts=class_facts(facts, device, board_class(device).id) if facts else None,
            assume_l4t=entry.l4t if facts is not None else None,
        )
        request = request_of(self.fleet.file.stacks[name])
        try:
            planned = planned_stacks(
                name,
                request,
                source,
                site=site,
                policy=self.fleet.policy,
                planner=self.planner,
            )
        except SpecComposeError as error:
            return error
        self.rendered.update(planned.rendered)
        for stack in planned.stacks:
            known = self.stacks.get(stack.bundle)
            if known is None or known.fallback is None:
                self.stacks[stack.bundle] = stack
        return planned


def device_key(device: ResolvedDevice) -> Key:
    """What of a board a stack depends on."""
    available = class_available_mib(device)
    return (
        device.id,
        device.l4t,
        device.l4t_origin,
        device.jetpack,
        device.memory_mib,
        device.available_mib if available is None else available,
        device.from_profile,
        device.power_mode,
    )


def _site_key(site: SiteEntry | None) -> Key:
    if site is None:
        return ()
    return (tuple(sorted(site.registries.items())), site.models, site.sealed)


def _notes(device: ResolvedDevice) -> tuple[str, ...]:
    """What a person should know of a board's facts beside its class."""
    planned = class_available_mib(device)
    if planned is None or device.from_profile or device.available_mib >= planned:
        return ()
    return (
        f"{device.available_mib} MiB were available when its facts were read, its class is "
        f"planned with {planned} MiB",
    )


def differences(plan: FleetPlan) -> Mapping[str, tuple[str | None, str | None]]:
    """What changes on each board: digest before and after; boards that stay are not in it."""
    after = {b.id: plan.stacks[b.stack].digest if b.stack else None for b in plan.boards}
    return {
        board.id: (board.before, after[board.id])
        for board in plan.boards
        if board.stack is not None and board.before != after[board.id]
    }
