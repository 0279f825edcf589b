"""The verbs that bring images and weights.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).
"""

import argparse

from speccompose.device.errors import USAGE, DeviceError
from speccompose.device.verb import Report, Verb, folder_of, roots_of, stack_argument, this_board

_HUB = "https://huggingface.co"


def _pull(options: argparse.Namespace) -> Report:
    from pathlib import Path

    from speccompose.device import gate, hub, pull, small_file

    token = None
    if options.token_file:
        try:
            token = small_file.read_small_text(Path(options.token_file), 65536).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise DeviceError(USAGE, "cannot read the token file", [str(error)])
    address = options.hub or options.environment.get("SPECCOMPOSE_HUB") or _HUB
    sources = pull.Sources(hub.Hub(address, token))
    folder, roots, ports = folder_of(options), roots_of(options), this_board()
    gate.refuse_bad_disks(folder, roots, ports=ports)
    done = pull.pull_stack(folder, roots, ports=ports, sources=sources, say=options.say)
    return dict(done._asdict())


def _pull_arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--hub", help="the model hub or a mirror of it")
    parser.add_argument("--token-file", help="a file with the hub token")


def _unbundle(options: argparse.Namespace) -> Report:
    from pathlib import Path

    from speccompose.device import enrolment, interrupts, signature, unbundle

    named = options.allowed_signers is not None
    signers = Path(options.allowed_signers) if named else enrolment.SIGNERS
    rules = unbundle.Rules(signature.Trust(signers, named), options.allow_downgrade)
    with interrupts.signals_interrupt():
        done = unbundle.unbundle(
            Path(options.file), roots_of(options), ports=this_board(), rules=rules, say=options.say
        )
    return dict(done._asdict())


def _unbundle_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="what `speccompose bundle` wrote")
    who = "who may sign it (default: as enrolled, /etc/speccompose/allowed_signers)"
    parser.add_argument("--allowed-signers", metavar="FILE", help=who)
    older = "take it although it is older than what is here"
    parser.add_argument("--allow-downgrade", action="store_true", help=older)


VERBS = (
    Verb("pull", "bring image and weights", _pull_arguments, _pull),
    Verb("unbundle", "check a bundle and take what is in it", _unbundle_arguments, _unbundle),
)
