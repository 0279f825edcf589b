"""confirm, recover, drift, prune: what an installed stack needs between two deploys.

Layer: cli.
"""

import click

from speccompose import serving
from speccompose.cli.output import echo, echo_json
from speccompose.cli.serve import AS_JSON, STACK, this_machine
from speccompose.device import drift as drifting
from speccompose.device.confirm import confirm as confirm_stack
from speccompose.device.confirm import give_up
from speccompose.device.pruning import prune_board
from speccompose.device.recover import recover_all, worst
from speccompose.errors import ExitStatus
from speccompose.report.upkeep_text import (
    drift_text,
    pruned_text,
    recovered_text,
    settled_text,
)
from speccompose.world.onboard import as_our_errors, roots

ROLLOUT = click.option("--rollout", metavar="ID", help="whose transaction it is")


@click.command()
@STACK
@ROLLOUT
@click.option("--no", "decline", is_flag=True, help="roll it back now instead")
@AS_JSON
def confirm(stack: str, rollout: str | None, decline: bool, as_json: bool) -> int:
    """Commit a stack that `deploy --confirm-within` left waiting."""
    with this_machine(overlays=False) as here, as_our_errors():
        name, place = serving.stack_of(stack, here.settings), roots(here.settings)
        act = give_up if decline else confirm_stack
        done = act(name, place, ports=here.ports, rollout=rollout, say=here.say)
    if as_json:
        echo_json(done.as_dict())
    else:
        echo(settled_text(done))
    return int(ExitStatus.DONE)


@click.command()
@AS_JSON
def recover(as_json: bool) -> int:
    """Finish what a crash or a power cut left, on every stack of this board."""
    with this_machine(overlays=False) as here, as_our_errors():
        found = recover_all(roots(here.settings), ports=here.ports, say=here.say)
    if as_json:
        echo_json({"stacks": [item.as_dict() for item in found]})
    else:
        echo(recovered_text(found))
    return worst(found)


@click.command()
@click.argument("stack", metavar="[STACK]", required=False)
@AS_JSON
def drift(stack: str | None, as_json: bool) -> int:
    """Show what is not as it was committed; status 16 when there is any."""
    with this_machine(overlays=False) as here, as_our_errors():
        place = roots(here.settings)
        if stack is None:
            found = drifting.all_drift(place, ports=here.ports)
        else:
            name = serving.stack_of(stack, here.settings)
            found = drifting.drift(name, place, ports=here.ports)
    if as_json:
        echo_json({"drift": [item.as_dict() for item in found]})
    else:
        echo(drift_text(found))
    return int(ExitStatus.DRIFT if found else ExitStatus.DONE)


@click.command()
@click.option("--dry-run", is_flag=True, help="only show what would go")
@click.option("--weights", is_flag=True, help="weights that no release reads too")
@AS_JSON
def prune(dry_run: bool, weights: bool, as_json: bool) -> int:
    """Remove old releases and their images; current and previous always stay."""
    with this_machine(overlays=False) as here, as_our_errors():
        place = roots(here.settings)
        done = prune_board(place, ports=here.ports, dry_run=dry_run, weights=weights)
    if as_json:
        echo_json(done.as_dict())
    else:
        echo(pruned_text(done))
    return int(ExitStatus.DONE)
