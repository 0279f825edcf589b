"""`fleet plan`: every board's stack or refusal, the waves, what changes; no board is reached.

Layer: cli.
"""

from pathlib import Path

import click

from speccompose import fleets
from speccompose.cli.fleet_session import AS_JSON, FLEET, opened
from speccompose.cli.output import echo, echo_json
from speccompose.errors import ExitStatus
from speccompose.fleet.fleet_plan import plan_status
from speccompose.report.fleet_text import plan_lines


@click.command()
@FLEET
@click.option("--dry", is_flag=True, help="do not write the rollout's folder")
@AS_JSON
def plan(file: Path, dry: bool, as_json: bool) -> int:
    """Plan every board and the waves, and seal the plan in rollouts/ beside FLEET.

    The same fleet planned again is the same rollout. Exit 0, or the status of the first refusal
    (4 to 7) unless the policy allows refused boards.
    """
    asked = opened(file, boards=False)
    draft = fleets.draft_plan(asked.fleet, asked.settings, asked.catalog)
    folder = None if dry else fleets.sealed_folder(asked.fleet, draft)
    if as_json:
        echo_json(draft.plan)
    else:
        echo(plan_lines(draft.plan))
        if folder is not None:
            echo(f"\nwritten to {folder}")
            if plan_status(draft.plan) is ExitStatus.DONE:
                echo(f"next: speccompose fleet run {file}")
    return int(plan_status(draft.plan))
