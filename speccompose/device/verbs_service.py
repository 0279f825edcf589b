"""The verbs that this board's units and timers call; a person may as well.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).
"""

import argparse

from speccompose.device.verb import Report, Verb, name_of, roots_of, stack_argument, this_board


def _boot_check(options: argparse.Namespace) -> Report:
    from speccompose.device import boot_check

    return boot_check.boot_check(name_of(options), roots_of(options), ports=this_board())


VERBS = (
    Verb("boot-check", "whether a stack's unit may start it now", stack_argument, _boot_check),
)
