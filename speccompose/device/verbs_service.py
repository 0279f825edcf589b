"""The verbs that this board's units and timers call; a person may as well.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).
"""

import argparse

from speccompose.device.verb import Report, Verb, name_of, roots_of, stack_argument, this_board


def _boot_check(options: argparse.Namespace) -> Report:
    from speccompose.device import boot_check

    return boot_check.boot_check(name_of(options), roots_of(options), ports=this_board())


def _watch(options: argparse.Namespace) -> Report:
    from speccompose.device import watch_all

    ports, roots = this_board(), roots_of(options)
    if options.all:
        return watch_all.watch_all(roots, ports=ports, say=options.say)
    return watch_all.watch_one(name_of(options), roots, ports=ports, say=options.say)


def _watch_arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--all", action="store_true", help="every stack of this board")


VERBS = (
    Verb("boot-check", "whether a stack's unit may start it now", stack_argument, _boot_check),
    Verb("watch", "one look: restart what is dead, give up in the end", _watch_arguments, _watch),
)
