"""The verbs that this board's units and timers call; a person may as well.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).
"""

import argparse
from typing import TYPE_CHECKING

from speccompose.device.verb import Report, Verb, name_of, roots_of, stack_argument, this_board

if TYPE_CHECKING:
    from speccompose.device.ports import Ports


def _boot_check(options: argparse.Namespace) -> Report:
    from speccompose.device import boot_check

    return boot_check.boot_check(name_of(options), roots_of(options), ports=this_board())


def _watch(options: argparse.Namespace) -> Report:
    from speccompose.device import watch_all

    ports, roots = this_board(), roots_of(options)
    if options.all:
        return watch_all.watch_all(roots, ports=ports, say=options.say)
    return watch_all.watch_one(
        name_of(options), roots, ports=ports, say=options.say, token_s=options.token_s
    )


def _power(options: argparse.Namespace) -> Report:
    from speccompose.device import power

    ports, roots = this_board(), roots_of(options)
    wanted = power.Wanted(options.mode, options.clocks, options.restore_clocks)
    found = power.set_power(wanted, ports)
    if options.at_boot:
        _install_own_program(ports)
        power.set_at_boot(wanted, roots, ports)
    if options.not_at_boot:
        power.not_at_boot(ports)
    return found._replace(at_boot=power.look_at_power(ports).at_boot).as_dict()


def _install_own_program(ports: "Ports") -> None:
    """The unit calls the board's program, which a board without any stack does not have yet."""
    import sys
    from pathlib import Path

    from speccompose.device import program

    own = Path(sys.argv[0])
    if program.program_version(own) is not None:
        program.install_program(own, ports.units.program)


def _power_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mode", metavar="NAME", help="a power mode by its name, or max")
    parser.add_argument("--clocks", action="store_true", help="lock the clocks at their highest")
    parser.add_argument("--restore-clocks", action="store_true", help="as they were before that")
    parser.add_argument("--at-boot", action="store_true", help="the same at every boot, by a unit")
    parser.add_argument("--not-at-boot", action="store_true", help="take that unit away")


def _watch_arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--all", action="store_true", help="every stack of this board")
    text = "how long one token may take (60)"
    parser.add_argument("--token-s", type=float, metavar="S", help=text)


VERBS = (
    Verb("boot-check", "whether a stack's unit may start it now", stack_argument, _boot_check),
    Verb("watch", "one look: restart what is dead, give up in the end", _watch_arguments, _watch),
    Verb("power", "power mode and clocks; without an option only shown", _power_arguments, _power),
)
