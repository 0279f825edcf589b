"""The fleet verbs that only look: status, drift, audit.

Layer: cli.
"""

from pathlib import Path

import click

from speccompose import rollouts
from speccompose.cli.fleet_session import AS_JSON, FLEET, ROLLOUT, opened
from speccompose.cli.output import echo, echo_json
from speccompose.errors import ExitStatus, UsageError
from speccompose.fleet.audit import verify
from speccompose.fleet.drift import drift_status
from speccompose.fleet.operate import read_state
from speccompose.fleet.plan_file import JOURNAL
from speccompose.fleet.status import log_rows, rollout_status
from speccompose.report.fleet_page import fleet_page
from speccompose.report.fleet_text import drift_lines, log_lines, status_lines
from speccompose.world.output_file import write_output


@click.command()
@FLEET
@ROLLOUT
@click.option("--all", "every", is_flag=True, help="every board, not only those not done")
@click.option("--html", metavar="FILE", help="write one page that needs no network")
@AS_JSON
def status(file: Path, rollout: str | None, every: bool, html: str | None, as_json: bool) -> int:
    """Show waves, boards and how it ended; nothing is asked of any board."""
    asked = opened(file, boards=False)
    folder = asked.folder(rollout)
    state = read_state(folder)
    shown = rollout_status(state)
    if html is not None:
        entries = verify(folder / JOURNAL).entries if (folder / JOURNAL).exists() else ()
        write_output(fleet_page(shown, state.plan, log_rows(entries, state)), Path(html))
        echo(f"written to {html}", err=True)
    if as_json:
        echo_json(shown)
    elif html is None:
        echo(status_lines(shown, every=every, carried_out=rollouts.is_carried_out(folder)))
    return int(ExitStatus.DONE)


@click.command()
@FLEET
@ROLLOUT
@AS_JSON
def drift(file: Path, rollout: str | None, as_json: bool) -> int:
    """Ask every board whether it is as it was left: files, units, images, container, restarts.

    Exit 16 when one is not, 13 when one cannot be asked.
    """
    asked = opened(file, boards=True)
    folder = asked.folder(rollout) if rollout else rollouts.last_completed(asked.fleet)
    rows = rollouts.drift(asked.fleet, folder)
    if as_json:
        echo_json({"boards": rows})
    else:
        echo(drift_lines(rows))
    return int(drift_status(rows))


@click.command()
@FLEET
@ROLLOUT
@click.option("--head", metavar="HASH", help="hash of the last line, as it was written down")
@AS_JSON
def audit(file: Path, rollout: str | None, head: str | None, as_json: bool) -> int:
    """Check that no line of the journal was changed, and list who did what when.

    Exit 19 when a line was changed or is missing.
    """
    asked = opened(file, boards=False)
    folder = asked.folder(rollout)
    if not (folder / JOURNAL).exists():
        raise UsageError(
            f"{folder.name} has not begun: there is no journal yet",
            hint="speccompose fleet run",
            code="not_begun",
        )
    found = verify(folder / JOURNAL, folder.name, head)
    rows = log_rows(found.entries, read_state(folder))
    if as_json:
        echo_json({"lines": found.lines, "head": found.head, "torn": found.torn, "log": rows})
    else:
        echo(log_lines(rows))
        torn = ", the last one torn" if found.torn else ""
        echo(f"\n{found.lines} lines{torn}, unbroken; head {found.head}")
    return int(ExitStatus.DONE)
