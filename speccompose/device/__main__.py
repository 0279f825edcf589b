"""The on-board program: one verb, one JSON object on standard output, one exit status.

Layer: device (standard library; this file and `probe` run on Python 3.6, the rest on 3.8, so each
verb imports what it needs when it is called). Every rendered stack carries it as `check`. Progress
and messages for people go to standard error.
"""

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Callable, Dict, List, Optional

from speccompose.device.errors import DATA, PREFLIGHT, USAGE, DeviceError

if TYPE_CHECKING:
    from pathlib import Path

    from speccompose.device.paths import Roots
    from speccompose.device.ports import Ports, Progress

Report = Dict[str, object]

_STATUS_BY_OUTCOME = {"rejected": 9, "inconclusive": 11, "invalid": 11}


def main(argv: Optional[List[str]] = None) -> None:
    """Run one verb and exit with the contract's status."""
    options = _parser().parse_args(argv)
    try:
        if options.verb != "probe" and sys.version_info < (3, 8):
            raise DeviceError(PREFLIGHT, "Python 3.8 or newer is needed", [sys.version])
        report = _VERBS[options.verb](options)
    except DeviceError as error:
        print(error.as_text(), file=sys.stderr)
        print(json.dumps({"error": error.as_dict()}, indent=2))
        sys.exit(error.status)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(130)
    print(json.dumps(report, indent=2))
    sys.exit(_STATUS_BY_OUTCOME.get(str(report.get("outcome")), 0))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="check", description="Runs one speccompose stack on this board. Prints JSON."
    )
    parser.add_argument(
        "--state", default=os.environ.get("SPECCOMPOSE_STATE") or "/var/lib/speccompose"
    )
    parser.add_argument(
        "--secrets", default=os.environ.get("SPECCOMPOSE_SECRETS") or "/etc/speccompose/secrets"
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    verbs.required = True
    for name, text in _HELP.items():
        verb = verbs.add_parser(name, help=text, description=text)
        if name == "probe":
            verb.add_argument("--root", default="/", help="read a copied root folder instead")
            continue
        what = "an installed stack's name, or a rendered folder; this program's own by default"
        verb.add_argument("stack", nargs="?", metavar="STACK", help=what)
        if name == "logs":
            verb.add_argument("--tail", type=int, default=200, help="how many lines")
        if name == "pull":
            hub = os.environ.get("SPECCOMPOSE_HUB") or "https://huggingface.co"
            verb.add_argument("--hub", default=hub, help="the model hub or a mirror of it")
            verb.add_argument("--token-file", help="a file with the hub token")
        if name == "accept":
            verb.add_argument("--quick", action="store_true", help="fewer and shorter repeats")
            verb.add_argument("--yes", action="store_true", help="yes, interrupt the stack")
        if name == "remove":
            verb.add_argument("--volumes", action="store_true", help="compile caches too")
            verb.add_argument("--weights", action="store_true", help="weights nobody else uses too")
    return parser


def _probe(options: argparse.Namespace) -> Report:
    from speccompose.device import probe

    try:
        return dict(probe.probe(options.root))
    except probe.ProbeError as error:
        raise DeviceError(DATA, str(error), code="root_unreadable")


def _preflight(options: argparse.Namespace) -> Report:
    from speccompose.device import preflight, transaction

    found = transaction.preflight(_folder(options), _roots(options), ports=_ports())
    preflight.refuse(found)
    return {"findings": [dict(finding._asdict()) for finding in found]}


def _pull(options: argparse.Namespace) -> Report:
    from pathlib import Path

    from speccompose.device import hub, pull, small_file

    token = None
    if options.token_file:
        try:
            token = small_file.read_small_text(Path(options.token_file), 65536).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise DeviceError(USAGE, "cannot read the token file", [str(error)])
    sources = pull.Sources(hub.Hub(options.hub, token))
    done = pull.pull_stack(
        _folder(options), _roots(options), ports=_ports(), sources=sources, say=_say
    )
    return dict(done._asdict())


def _deploy(options: argparse.Namespace) -> Report:
    from speccompose.device import interrupts, transaction

    with interrupts.signals_interrupt():
        done = transaction.deploy(_folder(options), _roots(options), ports=_ports(), say=_say)
    return done.as_dict()


def _rollback(options: argparse.Namespace) -> Report:
    from speccompose.device import interrupts, transaction

    with interrupts.signals_interrupt():
        done = transaction.rollback(_name(options), _roots(options), ports=_ports(), say=_say)
    return done.as_dict()


def _recover(options: argparse.Namespace) -> Report:
    from speccompose.device import restore

    done = restore.recover(_name(options), _roots(options), ports=_ports(), say=_say)
    return {"name": _name(options), "done": done}


def _verify(options: argparse.Namespace) -> Report:
    from speccompose.device import operate

    proof = operate.verify(_name(options), _roots(options), ports=_ports(), say=_say)
    return dict(proof._asdict())


def _accept(options: argparse.Namespace) -> Report:
    from speccompose.device import arms

    name = _name(options)
    if not options.yes:
        raise DeviceError(
            USAGE,
            "accept restarts %s twice or more, and nobody else is served meanwhile" % name,
            hint="say --yes if that is all right",
            code="needs_yes",
        )
    done = arms.accept_stack(name, _roots(options), ports=_ports(), quick=options.quick, say=_say)
    return done.as_dict()


def _status(options: argparse.Namespace) -> Report:
    from speccompose.device import operate

    ports, roots = _ports(), _roots(options)
    if options.stack is None and _own_folder() is None:
        stacks = operate.all_status(roots, ports=ports)
    else:
        stacks = [operate.status(_name(options), roots, ports=ports)]
    return {"stacks": [stack.as_dict() for stack in stacks]}


def _logs(options: argparse.Namespace) -> Report:
    from speccompose.device import operate

    text = operate.logs(_name(options), _roots(options), ports=_ports(), tail=options.tail)
    return {"name": _name(options), "lines": text.splitlines()}


def _stop(options: argparse.Namespace) -> Report:
    from speccompose.device import operate

    operate.stop(_name(options), _roots(options), ports=_ports())
    return {"name": _name(options), "stopped": True}


def _remove(options: argparse.Namespace) -> Report:
    from speccompose.device import operate

    done = operate.remove(
        _name(options),
        _roots(options),
        ports=_ports(),
        volumes=options.volumes,
        weights=options.weights,
    )
    return dict(done._asdict())


def _own_folder() -> Optional[str]:
    """The rendered folder that this program lies in, when it does."""
    folder = os.path.dirname(os.path.abspath(sys.argv[0]))
    return folder if os.path.isfile(os.path.join(folder, "SHA256SUMS")) else None


def _folder(options: argparse.Namespace) -> "Path":
    from pathlib import Path

    from speccompose.device import operate

    given = options.stack or _own_folder()
    if given is None:
        raise DeviceError(USAGE, "no stack was named", hint="name a stack or a rendered folder")
    if os.path.isdir(given) or "/" in given:
        return Path(given).resolve()
    return operate.installed_folder(given, _roots(options))


def _name(options: argparse.Namespace) -> str:
    from speccompose.device import stack_folder

    if options.stack and not os.path.isdir(options.stack) and "/" not in options.stack:
        return str(options.stack)
    return stack_folder.read_stack(_folder(options)).plan.name


def _roots(options: argparse.Namespace) -> "Roots":
    from pathlib import Path

    from speccompose.device.paths import Roots

    return Roots(Path(options.state).resolve(), Path(options.secrets).resolve())


def _ports() -> "Ports":
    from speccompose.device.ports import real_ports

    return real_ports()


def _say(progress: "Progress") -> None:
    seconds = "%4.0f s " % progress.elapsed_s if progress.elapsed_s else ""
    print("%-9s %s%s" % (progress.step, seconds, progress.message), file=sys.stderr, flush=True)


_HELP = {
    "probe": "what this board says of itself, as a facts file",
    "preflight": "what would stand in the way of a deploy",
    "pull": "bring image and weights",
    "deploy": "let this stack serve, or put everything back",
    "verify": "health, one real answer, speculation, version",
    "accept": "measure whether speculation pays here; interrupts the stack",
    "status": "how a stack stands; all of them without a name",
    "logs": "the last lines of the server's log",
    "stop": "stop a stack; it stays installed",
    "remove": "take a stack off this board",
    "rollback": "let the previous release serve again",
    "recover": "finish a deploy that a power cut left",
}
_VERBS: Dict[str, Callable[[argparse.Namespace], Report]] = {
    "probe": _probe,
    "preflight": _preflight,
    "pull": _pull,
    "deploy": _deploy,
    "verify": _verify,
    "accept": _accept,
    "status": _status,
    "logs": _logs,
    "stop": _stop,
    "remove": _remove,
    "rollback": _rollback,
    "recover": _recover,
}

if __name__ == "__main__":
    main()
