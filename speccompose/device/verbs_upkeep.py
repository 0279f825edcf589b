"""The verbs that look after what is installed: report, health, drift, prune.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).
"""

import argparse

from speccompose.device.verb import (
    Report,
    Verb,
    name_of,
    own_folder,
    roots_of,
    stack_argument,
    this_board,
)


def _report(options: argparse.Namespace) -> Report:
    from pathlib import Path

    from speccompose.device import board_report, drift
    from speccompose.device.order import Order

    name, roots, ports = name_of(options), roots_of(options), this_board()
    if options.left:
        found = board_report.wait_report(
            name, roots, ports=ports, left=options.left, within_s=options.wait_s
        )
    else:
        found = board_report.board_report(name, roots, ports=ports)
    if options.folder:
        order = Order(
            rollout=options.rollout, allow_downgrade=options.allow_downgrade, force=options.force
        )
        folder = Path(options.folder).resolve()
        found["unfit"] = board_report.unfit(folder, roots, ports=ports, order=order)
    if options.drift and found["state"] != "idle":
        found["drift"] = [item.code for item in drift.drift(name, roots, ports=ports)]
    return found


def _health(options: argparse.Namespace) -> Report:
    from speccompose.device import operate

    found = operate.health(name_of(options), roots_of(options), ports=this_board())
    return found.as_dict()


def _drift(options: argparse.Namespace) -> Report:
    from speccompose.device import drift

    roots, ports = roots_of(options), this_board()
    if options.stack is None and own_folder() is None:
        found = drift.all_drift(roots, ports=ports)
    else:
        found = drift.drift(name_of(options), roots, ports=ports)
    return {
        "drift": [item.as_dict() for item in found],
        "outcome": "drifted" if found else "in_place",
    }


def _prune(options: argparse.Namespace) -> Report:
    from speccompose.device import pruning

    done = pruning.prune_board(
        roots_of(options), ports=this_board(), dry_run=options.dry_run, weights=options.weights
    )
    return done.as_dict()


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--from", dest="left", metavar="STATE", help="wait for another than this")
    parser.add_argument("--wait-s", type=float, default=20.0, metavar="S", help="at most so long")
    parser.add_argument("--folder", help="say what would keep this rendered folder out")
    parser.add_argument("--rollout", metavar="ID", help="with --folder: for whom")
    parser.add_argument("--allow-downgrade", action="store_true", help="with --folder")
    parser.add_argument("--force", action="store_true", help="with --folder")
    parser.add_argument("--drift", action="store_true", help="look for drift, too")


def _prune_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument("--weights", action="store_true", help="weights that no release reads too")


VERBS = (
    Verb("report", "how a stack stands, for a controller", _report_arguments, _report),
    Verb("health", "whether a stack is up and healthy", stack_argument, _health),
    Verb("drift", "what is not as it was committed", stack_argument, _drift),
    Verb("prune", "take away what no release needs any more", _prune_arguments, _prune),
)
