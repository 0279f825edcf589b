"""pull, deploy, verify, status, logs, stop, remove, rollback: one stack on this board.

Layer: cli.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from speccompose import serving
from speccompose.cli import session
from speccompose.cli.numbers import Whole
from speccompose.cli.options import stack_options, stack_request
from speccompose.cli.orders import NAMES as ORDER_NAMES
from speccompose.cli.orders import order_options, take_order
from speccompose.cli.output import echo, echo_json
from speccompose.cli.progress import ProgressLine
from speccompose.device import operate, take_down, transaction
from speccompose.device.doctor import explain_stack
from speccompose.device.interrupts import signals_interrupt
from speccompose.device.long_prompt import try_long_prompt
from speccompose.device.ports import real_ports
from speccompose.errors import ExitStatus
from speccompose.report.boot_fault_text import boot_fault_text
from speccompose.report.serving_text import (
    deploy_text,
    preview_document,
    preview_text,
    proof_text,
    status_text,
)
from speccompose.vocab.board import BoardSource
from speccompose.vocab.preview import Preview
from speccompose.world.onboard import as_our_errors, roots

STACK = click.argument("stack", metavar="STACK")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="the result as JSON")


@contextmanager
def this_machine(*, overlays: bool = True) -> Iterator[serving.Here]:
    """Settings, catalog and ports of this machine, with progress on standard error.

    A lost session (SIGHUP) and a stopping service (SIGTERM) end a verb as Ctrl-C does: undone.
    Verbs on what is installed need no ``overlays``: a typo in one must not keep a stack running.
    """
    settings = session.settings()
    if not overlays:
        settings = msgspec.structs.replace(settings, overlays=())
    with ProgressLine() as say, signals_interrupt():
        yield serving.Here(
            settings=settings, catalog=session.catalog(settings), ports=real_ports(), say=say
        )


@click.command()
@STACK
def pull(stack: str) -> int:
    """Bring the image and weights of a stack (a name or a rendered folder); resumable."""
    with this_machine() as here:
        brought = serving.pull_folder(serving.find_folder(stack, here.settings), here)
    parts = [*([brought.image] if brought.image else []), *brought.weights]
    echo(f"{brought.name}: brought {', '.join(parts)}" if parts else f"{brought.name}: all there")
    return int(ExitStatus.DONE)


@click.command()
@click.argument("stack", metavar="[STACK]", required=False)
@stack_options
@click.option("--assume-l4t", metavar="X.Y.Z", help="take this L4T; recorded in the plan")
@order_options
@click.option("--dry-run", "--check", is_flag=True, help="show what would change; touch nothing")
@click.option("--replan", is_flag=True, help="read the board's free memory again")
@AS_JSON
def deploy(stack: str | None, dry_run: bool, replan: bool, as_json: bool, **values: Any) -> int:
    """Bring a stack up on this board: compare, switch, start, verify.

    Give plan options (--model ...), or STACK: a rendered folder or an installed name. With
    --dry-run the exit status is 15 when something stands in the way. --force also switches where
    the release that serves now could not be brought back.
    """
    if bool(stack) == bool(values["model"]):
        raise click.UsageError("name either --model or STACK")
    order = take_order(values)
    with this_machine() as here:
        here = msgspec.structs.replace(here, order=order)
        if stack is not None:
            refuse_plan_options()
            folder = serving.find_folder(stack, here.settings)
            if dry_run:
                preview = serving.preview_folder(folder, here, offline=values["offline"])
                return show_preview(preview, as_json)
            done = serving.deploy_folder(folder, here, offline=values["offline"])
        else:
            request = stack_request(values, here.settings)
            board = BoardSource(facts=session.facts(None, None), assume_l4t=request.assume_l4t)
            if dry_run:
                preview = serving.preview_request(request, board, here, replan=replan)
                return show_preview(preview, as_json)
            done = serving.deploy_request(request, board, here, replan=replan)
    if as_json:
        echo_json(done.as_dict())
    else:
        echo(deploy_text(done))
    return int(ExitStatus.DONE)


def show_preview(preview: Preview, as_json: bool) -> int:
    """Print what deploy would do; the status is the one that deploy would be refused with."""
    if as_json:
        echo_json(preview_document(preview))
    else:
        echo(preview_text(preview))
    return int(ExitStatus.PREFLIGHT if preview.refused else ExitStatus.DONE)


WITH_STACK = ("stack", "dry_run", "offline", "as_json", *ORDER_NAMES)


def refuse_plan_options() -> None:
    """A rendered stack is what it is: plan options beside it would be dropped, so refuse them."""
    context = click.get_current_context()
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name not in WITH_STACK
        and context.get_parameter_source(str(option.name)) == click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)}: not with STACK, which is already planned")


@click.command()
@STACK
@click.option("--long-prompt", is_flag=True, help="also answer a prompt as long as the context")
@AS_JSON
def verify(stack: str, long_prompt: bool, as_json: bool) -> int:
    """Check health, ask for one real answer, see that it speculates.

    --long-prompt proves the memory plan: on unified memory a prompt that is too long for it can
    cost the host, so try it on one board before you serve from many.
    """
    answered = None
    with this_machine(overlays=False) as here, as_our_errors():
        stack = serving.stack_of(stack, here.settings)
        place = roots(here.settings)
        proof = operate.verify(stack, place, ports=here.ports, say=here.say)
        if long_prompt:
            answered = try_long_prompt(stack, place, ports=here.ports, say=here.say)
    if as_json:
        more = {} if answered is None else {"long_prompt": dict(answered._asdict())}
        echo_json({**proof._asdict(), **more})
    else:
        echo(proof_text(stack, proof, answered))
    return int(ExitStatus.DONE)


@click.command()
@click.argument("stack", metavar="[STACK]", required=False)
@AS_JSON
def status(stack: str | None, as_json: bool) -> int:
    """Show what runs, since when, and how it does; without STACK every stack."""
    with this_machine(overlays=False) as here, as_our_errors():
        place = roots(here.settings)
        if stack is None:
            found = operate.all_status(place, ports=here.ports)
        else:
            name = serving.stack_of(stack, here.settings)
            found = [operate.status(name, place, ports=here.ports)]
    if as_json:
        echo_json({"stacks": [item.as_dict() for item in found]})
    else:
        echo(status_text(found))
    return int(ExitStatus.DONE)


@click.command()
@STACK
@click.option("--tail", type=Whole(1), default=200, show_default=True, metavar="N")
@click.option("-f", "--follow", is_flag=True, help="go on as the log grows")
@click.option("--explain", is_flag=True, help="say why the server does not start")
def logs(stack: str, tail: int, follow: bool, explain: bool) -> int:
    """Show the server's log, without secrets."""
    if follow and explain:
        raise click.UsageError("--follow and --explain do not go together")
    with this_machine(overlays=False) as here, as_our_errors():
        stack, place = serving.stack_of(stack, here.settings), roots(here.settings)
        if explain:
            echo(boot_fault_text(explain_stack(stack, place, ports=here.ports)))
        elif follow:
            operate.follow_logs(stack, place, ports=here.ports, on_text=print_raw, tail=tail)
        else:
            print_raw(operate.logs(stack, place, ports=here.ports, tail=tail))
    return int(ExitStatus.DONE)


def print_raw(text: str) -> None:
    """Log text as it is."""
    click.echo(text, nl=not text.endswith("\n"))


@click.command()
@STACK
def stop(stack: str) -> int:
    """Stop a stack; it stays installed, `deploy STACK` starts it again."""
    with this_machine(overlays=False) as here, as_our_errors():
        stack = serving.stack_of(stack, here.settings)
        take_down.stop(stack, roots(here.settings), ports=here.ports)
    echo(f"{stack} is stopped; start it with: speccompose deploy {stack}")
    return int(ExitStatus.DONE)


@click.command()
@STACK
@click.option("--volumes", is_flag=True, help="its compile caches too")
@click.option("--weights", is_flag=True, help="its weights too, where no other stack uses them")
def remove(stack: str, volumes: bool, weights: bool) -> int:
    """Remove a stack from this board; weights stay unless asked."""
    with this_machine(overlays=False) as here, as_our_errors():
        stack = serving.stack_of(stack, here.settings)
        gone = take_down.remove(
            stack, roots(here.settings), ports=here.ports, volumes=volumes, weights=weights
        )
    echo(f"{stack} is removed" + "".join(f"\n  weights gone: {item}" for item in gone.weights))
    return int(ExitStatus.DONE)


@click.command()
@STACK
def rollback(stack: str) -> int:
    """Let the previous release of a stack serve again."""
    with this_machine(overlays=False) as here, as_our_errors():
        stack, place = serving.stack_of(stack, here.settings), roots(here.settings)
        done = transaction.rollback(stack, place, ports=here.ports, say=here.say)
    echo(deploy_text(done))
    return int(ExitStatus.DONE)
