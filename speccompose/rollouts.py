"""A sealed plan becomes a rollout that runs, pauses, goes on or is taken back.

Layer: pipeline, beside fleets.py. One function per verb; each takes the fleet, and what it changes
on boards goes through the controller and its journal.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from speccompose import fleets
from speccompose.errors import ExitStatus, UsageError
from speccompose.fleet import again as further
from speccompose.fleet import operate
from speccompose.fleet.actions import Now
from speccompose.fleet.ansible_engine import AnsibleEngine
from speccompose.fleet.clock import SystemClock
from speccompose.fleet.controller import Controller
from speccompose.fleet.deadlines import board_call
from speccompose.fleet.drift import CheckRow, DriftRow, check, find_drift
from speccompose.fleet.file import Fleet
from speccompose.fleet.fleet_plan import FleetDraft
from speccompose.fleet.lock import holder, is_alive
from speccompose.fleet.operate import Operator, Tools, Verb
from speccompose.fleet.plan_file import (
    BUNDLES,
    JOURNAL,
    PLAN,
    check_inventory,
    load_plan,
    write_plan,
)
from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.rendered import RenderedFile, RenderedStack
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import FleetPlan, PlanKind, PlannedStack

Watch = Callable[[Entry, FleetPlan], None]


def run(fleet: Fleet, folder: Path, verb: Verb, operator: Operator, watch: Watch) -> ExitStatus:
    """Carry a rollout out, or go on with it; Ctrl-C pauses, a second one leaves at once.

    Raises:
        SpecComposeError: as ``operate.carry_out``.
    """
    plan = load_plan(folder)
    with opened(plan, folder, fleet) as engine:
        interrupts = _Interrupts()
        tools = Tools(
            engine=engine,
            clock=SystemClock(),
            watcher=lambda entry: watch(entry, plan),
            started=interrupts.pause,
        )
        with interrupts.installed():
            return operate.carry_out(folder, verb, operator, tools)


@contextmanager
def opened(plan: FleetPlan, folder: Path, fleet: Fleet) -> Iterator[AnsibleEngine]:
    """Ansible for the boards of a plan, with its kept connections gone afterwards."""
    engine = fleets.engine_of(plan, folder, Path(fleet.folder))
    try:
        yield engine
    finally:
        engine.close()


def new_folder(fleet: Fleet, draft: FleetDraft) -> Path:
    """Seal a freshly made plan.

    Raises:
        MismatchError: the fleet is another one than was planned.
    """
    check_inventory(draft.plan, draft.plan.boards)
    return fleets.sealed_folder(fleet, draft)


def reviewed(fleet: Fleet, named: str, draft: FleetDraft) -> FleetPlan:
    """The sealed plan of that id, as somebody has read it (S1); ``draft`` is the fleet of now.

    Raises:
        MismatchError: status 19; the fleet is another one than was planned.
        UsageError: there is none of that id.
    """
    plan = load_plan(fleets.rollout_folder(fleet, named))
    check_inventory(plan, draft.plan.boards)
    return plan


def dry_run(fleet: Fleet, plan: FleetPlan) -> tuple[CheckRow, ...]:
    """What a rollout would do with every board; boards are probed, nothing is changed (S26)."""
    with (
        TemporaryDirectory(prefix="speccompose-check-") as folder,
        opened(plan, Path(folder), fleet) as engine,
    ):
        return check(plan, engine, _now())


def drift(fleet: Fleet, folder: Path) -> tuple[DriftRow, ...]:
    """Whether every board runs what the last rollout left it with (S25)."""
    standing = further.standing(_states(folder))
    calls = [board_call(state, state.boards[name]) for name, state in standing.items()]
    plan = load_plan(folder)
    if not calls:
        raise UsageError(
            f"{plan.rollout} has left no board with its release",
            hint="speccompose fleet status shows where it stands",
            code="nothing_deployed",
        )
    with opened(plan, folder, fleet) as engine:
        return find_drift(calls, engine)


def follow_up(fleet: Fleet, folder: Path, names: tuple[str, ...], kind: PlanKind) -> Path:
    """Seal the plan that brings a completed release to these boards again (S18, S25).

    Raises:
        UsageError: the release did not go through, or none of these boards is meant.
    """
    state = operate.read_state(folder)
    plan = further.again(state, names, kind)
    rendered = {
        name: _bundle(folder / BUNDLES / name, stack) for name, stack in plan.stacks.items()
    }
    return write_plan(fleets.rollouts_of(fleet), plan, rendered)


def is_carried_out(folder: Path) -> bool:
    """Whether a controller is at work on this rollout now."""
    owner = holder(folder.parent)
    return owner is not None and owner.rollout == folder.name and is_alive(owner) is not False


def late(folder: Path) -> tuple[str, ...]:
    """Boards that a completed rollout left without its release, and that nothing brought it."""
    states = _states(folder)
    standing = further.standing(states)
    return tuple(name for name in further.late_boards(states[0]) if name not in standing)


def brought_later(folder: Path) -> tuple[str, ...]:
    """Rollouts that followed a release up and whose boards still have it, newest last."""
    later = [state.plan.rollout for state in further.standing(_states(folder)).values()]
    return tuple(dict.fromkeys(name for name in later if name != folder.name))


def _states(folder: Path) -> list[RolloutState]:
    """A release's state, then those of the rollouts that followed it up, as they came."""
    state = operate.read_state(folder)
    found = []
    for path in folder.parent.glob("r-*"):
        if path == folder or not (path / JOURNAL).exists() or not (path / PLAN).exists():
            continue
        plan = load_plan(path)
        if plan.kind != "release" and plan.counter == state.plan.counter:
            found.append(((path / JOURNAL).stat().st_mtime_ns, path))
    return [state, *(operate.read_state(path) for _, path in sorted(found))]


def last_to_change(fleet: Fleet) -> Path:
    """The last release that went through, for whoever is about to start something over it.

    Raises:
        PausedError: status 11; a rollout is not over: that one comes first.
        UsageError: no release went through.
    """
    operate.refuse_beside_others(fleets.rollouts_of(fleet))
    return last_completed(fleet)


def last_completed(fleet: Fleet) -> Path:
    """The folder of the last release that went through.

    Raises:
        UsageError: there is none.
    """
    kept = fleets.rollouts_of(fleet)
    states = [(path, operate.read_state(path)) for path in kept.glob("r-*") if path.is_dir()]
    releases = [pair for pair in states if pair[1].plan.kind == "release"]
    done = [(path, state) for path, state in releases if further.completed(state)]
    if not done:
        raise UsageError(
            "no rollout of this fleet has gone through yet",
            hint="speccompose fleet run FLEET",
            code="nothing_completed",
        )
    return max(done, key=lambda pair: _finished_at(pair[0], pair[1]))[0]


def _finished_at(folder: Path, state: RolloutState) -> tuple[int, float]:
    return state.plan.counter, (folder / "journal.jsonl").stat().st_mtime


def _bundle(folder: Path, stack: PlannedStack) -> RenderedStack:
    """A bundle as it was rendered."""
    files = tuple(
        RenderedFile(path=path.name, content=path.read_bytes(), mode=path.stat().st_mode & 0o777)
        for path in sorted(folder.iterdir())
    )
    return RenderedStack(name=stack.name, digest=stack.digest, files=files)


def _now() -> Now:
    clock = SystemClock()
    return Now(t=clock.monotonic_ms(), wall=clock.wall())


class _Interrupts:
    """The first Ctrl-C asks for a pause; the second one is a KeyboardInterrupt."""

    def __init__(self) -> None:
        self._controller: Controller | None = None

    def pause(self, controller: Controller) -> None:
        """Know whom to ask."""
        self._controller = controller

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Listen to SIGINT and SIGTERM meanwhile."""
        kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def ask(number: int, frame: FrameType | None) -> None:
            del frame
            signal.signal(number, signal.default_int_handler)
            if self._controller is None:
                raise KeyboardInterrupt
            self._controller.request_pause()

        for number in kept:
            signal.signal(number, ask)
        try:
            yield
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
