"""The on-board program: one verb, one JSON object on standard output, one exit status.

Layer: device (standard library; this file, the tables of verbs and `probe` run on Python 3.6, the
rest on 3.8). Every rendered stack carries it as `check`. Progress and messages for people go to
standard error. A new verb is a line in one of the tables, a new table a line in _TABLES.
"""

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, List, Optional

from speccompose.device import (
    verbs_doctor,
    verbs_fleet,
    verbs_inspect,
    verbs_measure,
    verbs_serve,
    verbs_service,
    verbs_supply,
    verbs_transaction,
    verbs_upkeep,
)
from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.redact import redact
from speccompose.device.verb import Report

if TYPE_CHECKING:
    from speccompose.device.ports import Progress

_TABLES = (
    verbs_inspect.VERBS,
    verbs_supply.VERBS,
    verbs_transaction.VERBS,
    verbs_upkeep.VERBS,
    verbs_serve.VERBS,
    verbs_measure.VERBS,
    verbs_service.VERBS,
    verbs_doctor.VERBS,
    verbs_fleet.VERBS,
)
_VERBS = {verb.name: verb for table in _TABLES for verb in table}
_STATUS_BY_OUTCOME = {
    "rejected": 9,
    "inconclusive": 11,
    "invalid": 11,
    "refused": 15,
    "drifted": 16,
}


def main(argv: Optional[List[str]] = None) -> None:
    """Run one verb and exit with the contract's status."""
    options = _parser().parse_args(argv)
    try:
        if options.verb != "probe" and sys.version_info < (3, 8):
            raise DeviceError(PREFLIGHT, "Python 3.8 or newer is needed", [sys.version])
        report = _VERBS[options.verb].run(options)
    except DeviceError as error:
        print(redact(error.as_text()), file=sys.stderr)
        print(redact(json.dumps({"error": error.as_dict()}, indent=2)))
        sys.exit(error.status)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(130)
    print(redact(json.dumps(report, indent=2)))
    sys.exit(_status(report))


def _status(report: Report) -> int:
    """The exit status that a report carries itself, else the one of its outcome."""
    status = report.get("status")
    if isinstance(status, int):
        return status
    return _STATUS_BY_OUTCOME.get(str(report.get("outcome")), 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="check", description="Runs one speccompose stack on this board. Prints JSON."
    )
    ours = {key: value for key, value in os.environ.items() if key.startswith("SPECCOMPOSE_")}
    parser.set_defaults(environment=ours, say=_say)
    parser.add_argument("--state", default=ours.get("SPECCOMPOSE_STATE") or "/var/lib/speccompose")
    parser.add_argument(
        "--secrets", default=ours.get("SPECCOMPOSE_SECRETS") or "/etc/speccompose/secrets"
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    verbs.required = True
    for verb in _VERBS.values():
        verb.arguments(verbs.add_parser(verb.name, help=verb.help, description=verb.help))
    return parser


def _say(progress: "Progress") -> None:
    seconds = "%4.0f s " % progress.elapsed_s if progress.elapsed_s else ""
    line = "%-9s %s%s" % (progress.step, seconds, progress.message)
    print(redact(line), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
