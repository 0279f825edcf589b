"""The fleet verbs that change boards: run, resume, pause, abort, skip, rollback, catch-up, repair.

Layer: cli.
"""

from pathlib import Path

import click

from speccompose import fleets, rollouts
from speccompose.cli import asking
from speccompose.cli.fleet_progress import FleetProgress
from speccompose.cli.fleet_session import (
    AS_JSON,
    FLEET,
    REASON,
    ROLLOUT,
    TAKE_OVER,
    Asked,
    opened,
    operator,
)
from speccompose.cli.output import echo, echo_json
from speccompose.errors import DataError, ExitStatus, UsageError
from speccompose.fleet import operate, requests
from speccompose.fleet.clock import SystemClock
from speccompose.fleet.fleet_plan import plan_status
from speccompose.fleet.operate import Operator, Verb, read_state
from speccompose.fleet.plan_file import JOURNAL, load_plan
from speccompose.fleet.rollout_state import RolloutState
from speccompose.fleet.status import rollout_status
from speccompose.report.fleet_text import check_lines, counted, plan_lines, status_lines
from speccompose.vocab.rollout_plan import FleetPlan

YES = click.option("--yes", is_flag=True, help="do not ask before boards are changed")


@click.command()
@FLEET
@click.option("--rollout", metavar="ID", help="the plan that was reviewed, not a new one")
@click.option("--check", is_flag=True, help="probe boards and say what would happen, no more")
@click.option("--allow-downgrade", is_flag=True, help="boards may take a release older than theirs")
@YES
@REASON
@TAKE_OVER
@AS_JSON
def run(  # noqa: PLR0913 - one parameter per option
    file: Path,
    rollout: str | None,
    check: bool,
    allow_downgrade: bool,
    yes: bool,
    reason: str,
    take_over: bool,
    as_json: bool,
) -> int:
    """Plan, show, ask, and roll out wave by wave; stop at the first sign of trouble.

    Ctrl-C pauses: what runs ends, nothing new starts; `fleet resume` goes on. Every board decides
    by itself whether its release stays, also when this machine dies.
    """
    asked = opened(file, boards=True)
    draft = fleets.draft_plan(asked.fleet, asked.settings, asked.catalog)
    plan = draft.plan if rollout is None else rollouts.reviewed(asked.fleet, rollout, draft)
    status = plan_status(plan)
    if not as_json or status is not ExitStatus.DONE:
        echo(plan_lines(plan), err=as_json)
    if status is not ExitStatus.DONE:
        return int(status)
    if check:
        return show_check(asked, plan, as_json)
    confirm(f"roll {plan.rollout} out to {len(plan.boards)} boards", yes)
    folder = asked.folder(plan.rollout) if rollout else rollouts.new_folder(asked.fleet, draft)
    who = operator(reason, take_over, allow_downgrade)
    return carried_out(asked, folder, "run", who, as_json)


@click.command()
@FLEET
@ROLLOUT
@REASON
@TAKE_OVER
@AS_JSON
def resume(file: Path, rollout: str | None, reason: str, take_over: bool, as_json: bool) -> int:
    """Go on with a rollout that was paused, or whose controller died; boards tell where they are.

    No board is started twice.
    """
    asked = opened(file, boards=True)
    folder = asked.folder(rollout)
    return carried_out(asked, folder, "resume", operator(reason, take_over), as_json)


@click.command()
@FLEET
@ROLLOUT
@REASON
@TAKE_OVER
def pause(file: Path, rollout: str | None, reason: str, take_over: bool) -> int:
    """Ask the controller that runs to start nothing new and to end when what runs has ended."""
    asked = opened(file, boards=False)
    who = operator(reason, take_over)
    folder = asked.folder(rollout)
    told = operate.request(
        folder, requests.pause_request(who.actor, reason or "operator"), who, SystemClock()
    )
    echo("the controller will pause" if told else "no controller runs: nothing to pause")
    return int(ExitStatus.DONE)


@click.command()
@FLEET
@ROLLOUT
@YES
@REASON
@TAKE_OVER
@AS_JSON
def abort(
    file: Path, rollout: str | None, yes: bool, reason: str, take_over: bool, as_json: bool
) -> int:
    """Stop a rollout and take back what its policy says; where one runs, it is asked to."""
    asked = opened(file, boards=True)
    folder = asked.folder(rollout)
    confirm(f"stop {folder.name} and take its boards back", yes)
    who = operator(reason, take_over)
    if rollouts.is_carried_out(folder):
        entry = requests.abort_request(who.actor, reason or "operator")
        operate.request(folder, entry, who, SystemClock())
        echo("the controller that runs will stop and take back")
        return int(ExitStatus.DONE)
    return carried_out(asked, folder, "abort", who, as_json)


@click.command()
@click.argument("words", metavar="[FLEET] BOARD", nargs=-1)
@ROLLOUT
@REASON
@TAKE_OVER
def skip(words: tuple[str, ...], rollout: str | None, reason: str, take_over: bool) -> int:
    """Leave BOARD out of a rollout: it counts neither as done nor as failed."""
    if len(words) not in (1, 2):
        raise UsageError("one board is skipped at a time", hint="fleet skip [FLEET] BOARD")
    board = words[-1]
    asked = opened(Path(words[0] if len(words) == 2 else "fleet.yaml"), boards=False)
    who = operator(reason, take_over)
    entry = requests.skip_request(who.actor, board, reason or "operator")
    told = operate.request(asked.folder(rollout), entry, who, SystemClock())
    echo(f"{board} will be skipped" if told else f"{board} is skipped")
    return int(ExitStatus.DONE)


@click.command()
@FLEET
@ROLLOUT
@YES
@REASON
@TAKE_OVER
@AS_JSON
def rollback(
    file: Path, rollout: str | None, yes: bool, reason: str, take_over: bool, as_json: bool
) -> int:
    """Take a rollout that went through back: every board returns to its release before."""
    asked = opened(file, boards=True)
    folder = asked.folder(rollout) if rollout else rollouts.last_to_change(asked.fleet)
    for later in rollouts.brought_later(folder):
        echo(f"note: boards of {later} keep it: fleet rollback --rollout {later}", err=True)
    confirm(f"take {folder.name} back on every board that it reached", yes)
    return carried_out(asked, folder, "rollback", operator(reason, take_over), as_json)


@click.command(name="catch-up")
@FLEET
@ROLLOUT
@YES
@REASON
@TAKE_OVER
@AS_JSON
def catch_up(
    file: Path, rollout: str | None, yes: bool, reason: str, take_over: bool, as_json: bool
) -> int:
    """Bring boards that were away to the last release that went through, by the same gates."""
    asked = opened(file, boards=True)
    folder = asked.folder(rollout) if rollout else rollouts.last_to_change(asked.fleet)
    names = rollouts.late(folder)
    again = rollouts.follow_up(asked.fleet, folder, names, "catch-up")
    confirm(f"bring {counted(names)} to {folder.name}", yes)
    return carried_out(asked, again, "run", operator(reason, take_over), as_json)


@click.command()
@FLEET
@ROLLOUT
@YES
@REASON
@TAKE_OVER
@AS_JSON
def repair(
    file: Path, rollout: str | None, yes: bool, reason: str, take_over: bool, as_json: bool
) -> int:
    """Put boards that drifted back to what they were left with, through the same gates."""
    asked = opened(file, boards=True)
    folder = asked.folder(rollout) if rollout else rollouts.last_to_change(asked.fleet)
    rows = rollouts.drift(asked.fleet, folder)
    names = tuple(row.board for row in rows if row.kind == "drift")
    if not names:
        echo("no board has drifted")
        return int(ExitStatus.DONE)
    again = rollouts.follow_up(asked.fleet, folder, names, "repair")
    confirm(f"repair {', '.join(names[:6])}", yes)
    return carried_out(asked, again, "run", operator(reason, take_over), as_json)


def carried_out(asked: Asked, folder: Path, verb: Verb, who: Operator, as_json: bool) -> int:
    """Run it with progress, and say how it ended."""
    with FleetProgress(load_plan(folder), folder / JOURNAL, as_json=as_json) as progress:
        status = rollouts.run(asked.fleet, folder, verb, who, progress)
    state = read_state(folder)
    keep_verdicts(asked, state)
    shown = rollout_status(state)
    if as_json:
        echo_json(shown)
    else:
        echo("\n" + status_lines(shown))
    return int(status)


def keep_verdicts(asked: Asked, state: RolloutState) -> None:
    """Remember what canaries measured; a store that cannot be written costs a note only."""
    try:
        fleets.keep_verdicts(asked.fleet, state)
    except DataError as error:
        echo(f"note: {error.brief}", err=True)


def show_check(asked: Asked, plan: FleetPlan, as_json: bool) -> int:
    """The dry run: boards are probed, nothing is changed there or kept here."""
    rows = rollouts.dry_run(asked.fleet, plan)
    if as_json:
        echo_json({"rollout": plan.rollout, "boards": rows})
    else:
        echo("\n" + check_lines(rows))
    left = any(row.phase in ("unreached", "failed") for row in rows)
    return int(ExitStatus.PENDING if left else ExitStatus.DONE)


def confirm(what: str, yes: bool) -> None:
    """Ask before boards are changed.

    Raises:
        UsageError: nobody is there to ask, and --yes is missing.
    """
    unattended = UsageError(
        f"this would {what}", hint="add --yes if that is meant", code="needs_yes"
    )
    asking.confirm(f"{what}?", yes, unattended)
