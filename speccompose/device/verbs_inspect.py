"""The verbs that look at this board and change nothing.

Layer: device (standard library, Python 3.6 until a verb is called, `probe` on 3.6 too; see `verb`).
"""

import argparse

from speccompose.device.errors import DATA, DeviceError
from speccompose.device.verb import Report, Verb, folder_of, roots_of, stack_argument, this_board


def _probe(options: argparse.Namespace) -> Report:
    from speccompose.device import probe

    try:
        return dict(probe.probe(options.root))
    except probe.ProbeError as error:
        raise DeviceError(DATA, str(error), code="root_unreadable")


def _preflight(options: argparse.Namespace) -> Report:
    from speccompose.device import preflight, transaction

    found = transaction.preflight(folder_of(options), roots_of(options), ports=this_board())
    preflight.refuse(found)
    return {"findings": [dict(finding._asdict()) for finding in found]}


def _probe_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", default="/", help="read a copied root folder instead")


VERBS = (
    Verb("probe", "what this board says of itself, as a facts file", _probe_arguments, _probe),
    Verb("preflight", "what would stand in the way of a deploy", stack_argument, _preflight),
)
