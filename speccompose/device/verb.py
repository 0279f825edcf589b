"""One verb of the on-board program, and what its options mean to it.

Layer: device (standard library, Python 3.6: every table of verbs is read on any board, so each verb
imports what it needs when it is called). The tables are the modules verbs_*.py; `__main__` puts
them together, and sets ``environment`` and ``say`` among the options.
"""

import argparse
import os
import sys
from typing import TYPE_CHECKING, Callable, Dict, NamedTuple, Optional

from speccompose.device.errors import USAGE, DeviceError

if TYPE_CHECKING:
    from pathlib import Path

    from speccompose.device.paths import Roots
    from speccompose.device.ports import Ports

Report = Dict[str, object]
"""What a verb prints as JSON."""


class Verb(NamedTuple):
    """A verb: its name, one line for the help, its own arguments, and what it does."""

    name: str
    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Report]


def stack_argument(parser: argparse.ArgumentParser) -> None:
    """The one argument that most verbs take."""
    what = "an installed stack's name, or a rendered folder; this program's own by default"
    parser.add_argument("stack", nargs="?", metavar="STACK", help=what)


def own_folder() -> Optional[str]:
    """The rendered folder that this program lies in, when it does."""
    folder = os.path.dirname(os.path.abspath(sys.argv[0]))
    return folder if os.path.isfile(os.path.join(folder, "SHA256SUMS")) else None


def folder_of(options: argparse.Namespace) -> "Path":
    """The rendered folder that is meant: a given one, an installed stack's, or our own.

    Raises:
        DeviceError: nothing was named, or no stack of that name is installed.
    """
    from pathlib import Path

    from speccompose.device import operate

    given = options.stack or own_folder()
    if given is None:
        raise DeviceError(USAGE, "no stack was named", hint="name a stack or a rendered folder")
    if os.path.isdir(given) or "/" in given:
        return Path(given).resolve()
    return operate.installed_folder(given, roots_of(options))


def name_of(options: argparse.Namespace) -> str:
    """The name of the stack that is meant.

    Raises:
        DeviceError: nothing was named, or the folder is no rendered stack.
    """
    from speccompose.device import stack_folder

    if options.stack and not os.path.isdir(options.stack) and "/" not in options.stack:
        return str(options.stack)
    return stack_folder.read_stack(folder_of(options)).plan.name


def roots_of(options: argparse.Namespace) -> "Roots":
    """Where state and secrets lie."""
    from pathlib import Path

    from speccompose.device.paths import Roots

    return Roots(Path(options.state).resolve(), Path(options.secrets).resolve())


def this_board() -> "Ports":
    """Docker and this machine."""
    from speccompose.device.ports import real_ports

    return real_ports()
