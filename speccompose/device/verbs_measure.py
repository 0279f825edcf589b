"""The verbs that measure.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).
"""

import argparse

from speccompose.device.errors import USAGE, DeviceError
from speccompose.device.verb import Report, Verb, name_of, roots_of, stack_argument, this_board


def _accept(options: argparse.Namespace) -> Report:
    from pathlib import Path

    from speccompose.device import accept_stack, measured_stack

    name = name_of(options)
    if not options.yes:
        raise DeviceError(
            USAGE,
            "accept restarts %s twice or more, and nobody else is served meanwhile" % name,
            hint="say --yes if that is all right",
            code="needs_yes",
        )
    prompts = measured_stack.Prompts(
        None if options.dataset is None else Path(options.dataset),
        options.category,
        options.requests,
    )
    done = accept_stack.accept_stack(
        name,
        roots_of(options),
        ports=this_board(),
        asked=accept_stack.Asked(quick=options.quick, prompts=prompts),
        say=options.say,
    )
    return done.as_dict()


def _accept_arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repeats")
    parser.add_argument("--yes", action="store_true", help="yes, interrupt the stack")
    parser.add_argument("--dataset", metavar="FILE", help="prompts of your own, as JSON lines")
    parser.add_argument("--category", metavar="C", help="one kind of prompts")
    parser.add_argument("--requests", type=int, metavar="N", help="requests per repeat")


_HELP = "measure whether speculation pays here; interrupts the stack"


VERBS = (Verb("accept", _HELP, _accept_arguments, _accept),)
