"""The verbs on a rollout's folder: run, resume, abort, roll back, skip, pause. Lock, journal,
requests and controller put together.

Layer: fleet. Engine and clock are handed in. Whoever holds the lock carries the rollout out;
whoever does not leaves a request for the one who does.
"""

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from speccompose.errors import ExitStatus, PausedError, UsageError
from speccompose.fleet.actions import Now
from speccompose.fleet.chain import read_chain
from speccompose.fleet.clock import FleetClock
from speccompose.fleet.controller import SKIPPABLE, Controller
from speccompose.fleet.engine import Engine
from speccompose.fleet.fleet_refusal import refuse_refused
from speccompose.fleet.journal import FileJournal, journal_bytes
from speccompose.fleet.known import KnownFleet, read_known, remembered, write_known
from speccompose.fleet.lock import Owner, holder, is_alive, operator_lock, this_process
from speccompose.fleet.plan_file import JOURNAL, PLAN, load_plan
from speccompose.fleet.requests import Requests, ask
from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.base import Frozen
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import FleetPlan

Verb = Literal["run", "resume", "abort", "rollback"]
Started = Callable[[Controller], None]
"""Told of the controller before it runs: for signal handlers (Ctrl-C pauses)."""


class Operator(Frozen, frozen=True, kw_only=True):
    """Who does it, and why; ``take_over``: also from somebody whose process is gone;
    ``allow_downgrade``: of `run`, boards may take a release older than theirs (S28).
    """

    actor: str
    reason: str = ""
    take_over: bool = False
    allow_downgrade: bool = False


class Tools(Frozen, frozen=True, kw_only=True):
    """What a rollout works with; ``watcher`` is told of every journal line."""

    engine: Engine
    clock: FleetClock
    watcher: Callable[[Entry], None] = lambda entry: None
    started: Started = lambda controller: None
    nap_s: float = 5.0


def carry_out(folder: Path, verb: Verb, operator: Operator, tools: Tools) -> ExitStatus:
    """Hold the lock, open the journal, and go on until the rollout ends or pauses.

    Raises:
        LockedError: somebody else is at it (12).
        MismatchError: plan, bundle or journal were changed (19).
        PausedError: `run` on a rollout that has begun, or beside another that has (11).
        UsageError: there is nothing to resume, abort or roll back.
    """
    plan = load_plan(folder)
    since = datetime.fromtimestamp(tools.clock.wall(), timezone.utc).isoformat(timespec="seconds")
    owner = this_process(plan.rollout, operator.reason or verb, since)
    rollouts = folder.parent
    with operator_lock(rollouts, owner, take_over=operator.take_over) as before:
        if verb == "run":
            refuse_refused(plan)
            refuse_beside_others(rollouts, folder)
        if verb == "rollback":
            _refuse_older(plan, read_known(rollouts))
        inbox = Requests(folder)
        if verb == "run":
            inbox()  # asked of a run that has ended: not of this one
        journal = FileJournal(folder / JOURNAL, plan, operator.actor)
        try:
            controller = Controller(
                journal,
                tools.engine,
                tools.clock,
                inbox=inbox,
                watcher=tools.watcher,
                nap_s=tools.nap_s,
            )
            _begin(controller, verb, before, operator)
            tools.started(controller)
            try:
                return controller.run()
            finally:
                write_known(rollouts, remembered(read_known(rollouts), journal.state))
        finally:
            journal.close()


def request(folder: Path, entry: Entry, operator: Operator, clock: FleetClock) -> bool:
    """Hand a request to the controller that runs, or journal it where none does.

    Returns whether a running controller will take it up. Pausing where nothing runs is nothing.

    Raises:
        UsageError: the request makes no sense in this state of the rollout.
        LockedError: the lock's owner died, or runs on another machine.
    """
    plan = load_plan(folder)
    owner = holder(folder.parent)
    if owner is not None and owner.rollout == plan.rollout and is_alive(owner) is not False:
        if entry.event == "board":
            _refuse_senseless(entry, read_state(folder))
        ask(folder, entry)
        return True
    me = this_process(plan.rollout, f"{entry.event} {entry.board or ''}".strip(), "")
    with operator_lock(folder.parent, me, take_over=operator.take_over) as before:
        journal = FileJournal(folder / JOURNAL, plan, operator.actor)
        try:
            _refuse_senseless(entry, journal.state)
            now = Now(t=journal.state.t, wall=clock.wall())
            if before is not None:
                journal.record(Entry(event="took_over", reason=before.label), now)
            if entry.event == "board":
                journal.record(entry, now)
        finally:
            journal.close()
    return False


def unfinished(rollouts: Path) -> tuple[Path, ...]:
    """Folders of rollouts that have begun and not ended, by name."""
    found = []
    for journal in sorted(rollouts.glob(f"*/{JOURNAL}")):
        if not journal.stat().st_size or not (journal.parent / PLAN).exists():
            continue
        if read_state(journal.parent).mode not in ("new", "finished"):
            found.append(journal.parent)
    return tuple(found)


def read_state(folder: Path) -> RolloutState:
    """The state of a rollout as its journal tells it, without locking or writing.

    Raises:
        DataError: there is no plan.
        MismatchError: plan or journal were changed.
    """
    state = RolloutState(load_plan(folder))
    path = folder / JOURNAL
    content = journal_bytes(path)
    for entry in read_chain(content, str(path)).entries:
        state.apply(entry)
    return state


def _begin(controller: Controller, verb: Verb, before: Owner | None, operator: Operator) -> None:
    """The lines that open this controller's part of the journal."""
    state = controller.state
    why, taken_from = operator.reason or None, before.label if before is not None else None
    if verb == "run":
        if state.mode not in ("new", "finished"):
            raise _has_begun(state)
        controller.open(taken_from, why=why, allow_downgrade=operator.allow_downgrade)
    elif verb == "resume":
        if state.mode in ("new", "finished"):
            raise _nothing_to("resume", state)
        controller.resume(taken_from, why=why)
    else:
        went_through = state.mode == "finished" and state.reason != "rollback"
        if state.mode == "new" or (verb == "abort" and state.mode == "finished"):
            raise _nothing_to(verb, state)
        if verb == "rollback" and not went_through:
            raise _nothing_to(verb, state)
        if verb == "rollback" and not any(b.committed for b in state.boards.values()):
            raise _nothing_brought(state)
        reason = "rollback" if verb == "rollback" else "operator"
        controller.take_back(reason, taken_from, why=why)


def _refuse_senseless(entry: Entry, state: RolloutState) -> None:
    if entry.event == "board":
        board = state.boards.get(str(entry.board))
        if board is None:
            raise UsageError(f"no board {entry.board} in {state.plan.rollout}", code="no_board")
        if board.phase not in SKIPPABLE:
            raise UsageError(
                f"{entry.board} is {board.phase}: it cannot be skipped any more",
                hint="abort takes back what was done",
                code="not_skippable",
            )
    elif state.mode not in ("running", "pausing"):
        raise _nothing_to("pause" if entry.event == "pausing" else "abort", state)


def _refuse_older(plan: FleetPlan, known: KnownFleet) -> None:
    follows_last = plan.kind != "release" and plan.counter == known.counter
    if known.last is None or known.last == plan.rollout or follows_last:
        return
    raise UsageError(
        f"{plan.rollout} is not the release that went through last",
        [f"that is {known.last}"],
        hint="boards keep one release to go back to: the last one is rolled back",
        code="not_the_last",
    )


def refuse_beside_others(rollouts: Path, folder: Path | None = None) -> None:
    """Refuse while another rollout than this one has begun and not ended.

    Raises:
        PausedError: status 11, naming it.
    """
    others = [path for path in unfinished(rollouts) if path != folder]
    if others:
        raise PausedError(
            f"another rollout of this fleet is not over: {others[0].name}",
            hint=f"`speccompose fleet resume` or `abort` {others[0].name} first",
            code="rollout_open",
        )


def _has_begun(state: RolloutState) -> PausedError:
    return PausedError(
        f"{state.plan.rollout} has begun already and is {state.mode}",
        hint="`speccompose fleet resume` goes on with it, `abort` takes it back",
        code="rollout_begun",
    )


def _nothing_brought(state: RolloutState) -> UsageError:
    """The same rollout again finds every board as it is: that run has nothing to take back."""
    return UsageError(
        f"the last run of {state.plan.rollout} brought its release to no board",
        hint="roll the release before out again, or `speccompose rollback` on a board",
        code="nothing_brought",
    )


def _nothing_to(verb: str, state: RolloutState) -> UsageError:
    return UsageError(
        f"there is nothing to {verb}: {state.plan.rollout} is {state.mode}",
        hint="`speccompose fleet status` shows where it stands",
        code="rollout_state",
    )
