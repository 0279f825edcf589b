"""`lock`: tags and revisions into digests and commits, for every later plan.

Layer: cli.
"""

from datetime import date
from pathlib import Path
from typing import Any

import click
import msgspec

from speccompose import fleets, pipeline, supply
from speccompose.catalog.lock_file import NAME
from speccompose.cli import session
from speccompose.cli.fleet_session import opened
from speccompose.cli.options import (
    board_options,
    board_source,
    refuse_beside,
    stack_options,
    stack_request,
)
from speccompose.cli.output import echo, echo_json
from speccompose.device.hub import Hub
from speccompose.errors import ExitStatus, UsageError
from speccompose.local_model import with_local_model
from speccompose.report.table import columns
from speccompose.settings import Settings
from speccompose.vocab.plan import StackPlan
from speccompose.world.onboard import hub_token


@click.command()
@board_options
@stack_options
@click.option("--fleet", metavar="FILE", help="instead: all that the boards of a fleet file get")
@click.option("--update", is_flag=True, help="ask anew for everything that the file holds")
@click.option("-o", "--output", metavar="FILE", help=f"the lock file (default: ./{NAME})")
@click.option("--json", "as_json", is_flag=True, help="what changed, as JSON")
def lock(fleet: str | None, update: bool, output: str | None, as_json: bool, **values: Any) -> int:
    """Pin a stack's image and weights: tag to digest, revision to commit and file hashes.

    Add one stack after the other with plan options, or with --fleet what a whole fleet needs, in
    a file beside the fleet's; --update asks again for all of them. Plans made in this folder, and
    of that fleet, read the file. Exit 18 when registry or hub cannot be reached.
    """
    if values["offline"]:
        raise UsageError(
            "lock asks the registry and the hub, which --offline forbids",
            hint="lock on a machine with a network, and bring the file",
            code="bad_option",
        )
    if fleet is not None:
        refuse_beside("--fleet", ("fleet", "update", "output", "as_json"))
    folder = Path.cwd() if fleet is None else Path(fleet).absolute().parent
    file = Path(output) if output is not None else folder / NAME
    before = supply.existing(file)
    if fleet is not None:
        plans, settings = planned_fleet(Path(fleet))
    else:
        settings = session.settings()
        plans = (planned(values, settings),) if values["model"] else ()
    images, models = supply.wanted_images(plans), supply.wanted_models(plans)
    if update and before is not None:
        known_images, known_models = supply.again(before)
        images, models = {**known_images, **images}, {**known_models, **models}
    if not images and not models:
        raise nothing_to_lock(file, bool(plans), update)
    after = supply.made_lock(
        before,
        images,
        models,
        resolve=supply.mirror_resolver(settings.registries),
        hub=Hub(settings.hub, token=hub_token(settings.hub_token_file)),
        tell=lambda text: echo(text, err=True),
    )
    changes = supply.lock_changes(before, after)
    written = supply.store_lock(after, file)
    show(changes, file, written, as_json)
    return int(ExitStatus.DONE)


def planned(values: dict[str, Any], settings: Settings) -> StackPlan:
    """The stack that the options name, planned as if nothing were locked."""
    catalog = msgspec.structs.replace(session.catalog(settings), lock=None)
    request = stack_request(values, settings)
    catalog = with_local_model(request, catalog, date.today())
    return pipeline.plan_stack(request, board_source(values, settings), catalog)


def planned_fleet(file: Path) -> tuple[tuple[StackPlan, ...], Settings]:
    """What the boards of a fleet file get, and whom to ask for it."""
    asked = opened(file, boards=False)
    return fleets.stacks_to_lock(asked.fleet, asked.settings, asked.catalog), asked.settings


def nothing_to_lock(file: Path, planned_one: bool, update: bool) -> UsageError:
    """Nothing was asked for, or what was is built here."""
    if planned_one:
        return UsageError(
            "this stack has nothing to lock: it is built on this machine",
            hint="lock the stack of a board: --device ID",
            code="nothing_to_lock",
        )
    brief = f"{file} holds nothing to ask for anew" if update else "nothing to lock was named"
    return UsageError(
        brief,
        hint="speccompose lock --model M --device ID",
        code="nothing_to_lock",
    )


def show(changes: list[tuple[str, str, str]], file: Path, written: bool, as_json: bool) -> None:
    """Print what is new or another one now."""
    if as_json:
        rows = [{"name": name, "before": was, "after": now} for name, was, now in changes]
        echo_json({"file": str(file), "written": written, "changes": rows})
        return
    if not changes:
        echo(f"{file}: nothing is another one than before")
        return
    echo("\n".join(columns([[name, f"{was} -> {now}"] for name, was, now in changes])))
    echo(f"\nwritten to {file}")
