"""The verbs of a deploy, whole and step by step.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).

    deploy = preflight, stage, switch; a controller calls stage, switch, report and confirm
"""

import argparse
from typing import TYPE_CHECKING

from speccompose.device.verb import (
    Report,
    Verb,
    folder_of,
    name_of,
    own_folder,
    roots_of,
    stack_argument,
    this_board,
)

if TYPE_CHECKING:
    from speccompose.device.order import Order


def _deploy(options: argparse.Namespace) -> Report:
    from speccompose.device import foresee, interrupts, transaction

    folder, roots, ports = folder_of(options), roots_of(options), this_board()
    if options.check:
        return foresee.foresee(folder, roots, ports=ports, order=_order(options)).as_dict()
    with interrupts.signals_interrupt():
        done = transaction.deploy(
            folder, roots, ports=ports, say=options.say, order=_order(options)
        )
    return done.as_dict()


def _stage(options: argparse.Namespace) -> Report:
    from speccompose.device import interrupts, transaction

    with interrupts.signals_interrupt():
        done = transaction.stage(
            folder_of(options),
            roots_of(options),
            ports=this_board(),
            say=options.say,
            order=_order(options),
        )
    return dict(done._asdict())


def _switch(options: argparse.Namespace) -> Report:
    from speccompose.device import interrupts, transaction

    with interrupts.signals_interrupt():
        done = transaction.switch(
            name_of(options),
            roots_of(options),
            ports=this_board(),
            say=options.say,
            order=_order(options),
        )
    return done.as_dict()


def _confirm(options: argparse.Namespace) -> Report:
    from speccompose.device import confirm

    done = confirm.confirm(
        name_of(options),
        roots_of(options),
        ports=this_board(),
        rollout=options.rollout,
        say=options.say,
    )
    return done.as_dict()


def _expire(options: argparse.Namespace) -> Report:
    from speccompose.device import confirm

    done = confirm.expire(
        name_of(options),
        roots_of(options),
        ports=this_board(),
        rollout=options.rollout,
        say=options.say,
    )
    return done.as_dict()


def _rollback(options: argparse.Namespace) -> Report:
    from speccompose.device import confirm, interrupts, transaction

    name, roots, ports = name_of(options), roots_of(options), this_board()
    with interrupts.signals_interrupt():
        if options.unconfirmed:
            given = confirm.give_up(
                name, roots, ports=ports, rollout=options.rollout, say=options.say
            )
            return given.as_dict()
        done = transaction.rollback(
            name, roots, ports=ports, say=options.say, order=_order(options)
        )
    return done.as_dict()


def _recover(options: argparse.Namespace) -> Report:
    from speccompose.device import recover

    roots, ports = roots_of(options), this_board()
    if not options.all and (options.stack is not None or own_folder() is not None):
        name = name_of(options)
        done = recover.recover(name, roots, ports=ports, say=options.say)
        return {"name": name, "done": done}
    found = recover.recover_all(roots, ports=ports, say=options.say)
    return {
        "stacks": [item.as_dict() for item in found],
        "status": recover.worst(found),
    }


def _order(options: argparse.Namespace) -> "Order":
    from speccompose.device.order import Limits, Order

    given = {name: getattr(options, name, None) for name in Limits._fields}
    limits = Limits()._replace(**{k: v for k, v in given.items() if v is not None})
    return Order(
        rollout=options.rollout,
        confirm_within_s=getattr(options, "confirm_within", None),
        allow_downgrade=getattr(options, "allow_downgrade", False),
        force=options.force,
        take_over=options.take_over,
        limits=limits,
    )


def _whose(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--rollout", metavar="ID", help="whose transaction it is")


def _step(parser: argparse.ArgumentParser) -> None:
    _whose(parser)
    parser.add_argument("--force", action="store_true", help="although there is no way back")
    take_over = "end another rollout's transaction whose process has died"
    parser.add_argument("--take-over", action="store_true", help=take_over)
    for name, text in _LIMITS:
        what = "%s may take, in seconds" % text
        parser.add_argument("--%s-s" % name, type=float, metavar="S", help=what)


def _forward(parser: argparse.ArgumentParser) -> None:
    _step(parser)
    within = "roll back unless `confirm` comes within so many seconds"
    parser.add_argument("--confirm-within", type=float, metavar="S", help=within)
    older = "although its counter is lower than what was committed"
    parser.add_argument("--allow-downgrade", action="store_true", help=older)


def _deploy_arguments(parser: argparse.ArgumentParser) -> None:
    _forward(parser)
    check = "say what would change, and change nothing"
    parser.add_argument("--check", action="store_true", help=check)


def _rollback_arguments(parser: argparse.ArgumentParser) -> None:
    _step(parser)
    only = "only what is staged or unconfirmed; what is committed stays"
    parser.add_argument("--unconfirmed", action="store_true", help=only)


def _recover_arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--all", action="store_true", help="every stack of this board")


_LIMITS = (
    ("stage", "copying the release"),
    ("start", "switching and getting ready"),
    ("accept", "proving itself"),
)

VERBS = (
    Verb("deploy", "let this stack serve, or put everything back", _deploy_arguments, _deploy),
    Verb("stage", "check everything and copy the release, no more", _forward, _stage),
    Verb("switch", "let the staged release serve, or put everything back", _forward, _switch),
    Verb("confirm", "commit what is unconfirmed", _whose, _confirm),
    Verb("expire", "roll back what nobody confirmed; a timer calls this", _whose, _expire),
    Verb("rollback", "let the previous release serve again", _rollback_arguments, _rollback),
    Verb("recover", "finish what a crash or power cut left", _recover_arguments, _recover),
)
