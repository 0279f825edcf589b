"""The verbs that examine this board or a failed start and tell what to do; they change nothing.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).
"""

import argparse
from typing import TYPE_CHECKING, List

from speccompose.device.errors import DATA, DeviceError
from speccompose.device.verb import (
    Report,
    Verb,
    folder_of,
    name_of,
    own_folder,
    roots_of,
    stack_argument,
    this_board,
)

if TYPE_CHECKING:
    from speccompose.device.host_finding import HostFinding

REFUSED = "refused"
"""The outcome that `__main__` turns into status 15."""


def _doctor(options: argparse.Namespace) -> Report:
    from speccompose.device import doctor

    ports, roots = this_board(), roots_of(options)
    jetson = bool(ports.machine.host().text("/etc/nv_tegra_release"))
    hub = options.environment.get("SPECCOMPOSE_HUB") or "https://huggingface.co"
    asked = doctor.Asked(
        gpu_runtime="nvidia" if jetson else None,
        host_network=jetson,
        sources=(hub,) if options.online else (),
        clock_s=options.now,
    )
    if options.stack or own_folder():
        found = doctor.examine_stack(folder_of(options), roots, ports=ports, asked=asked)
    else:
        found = doctor.examine(ports, roots, asked)
    _tell(options, found)
    report = {"findings": [dict(finding._asdict()) for finding in found]}  # type: Report
    if doctor.refused(found):
        report["outcome"] = REFUSED
    return report


def _tell(options: argparse.Namespace, found: "List[HostFinding]") -> None:
    from speccompose.device.ports import Progress

    for finding in found:
        message = finding.message.replace("\n", "; ")
        options.say(Progress(finding.severity, "%s: %s" % (finding.code, message)))
        if finding.hint:
            options.say(Progress("", "hint: " + finding.hint))
        for line in finding.fix:
            options.say(Progress("", "fix: " + line))


def _explain(options: argparse.Namespace) -> Report:
    from speccompose.device import boot_faults, doctor
    from speccompose.device.redact import redact

    if options.log is None:
        name = name_of(options)
        found = doctor.explain_stack(name, roots_of(options), ports=this_board())
    else:
        try:
            with open(options.log, encoding="utf-8", errors="replace") as source:
                found = boot_faults.explain(redact(source.read()))
        except OSError as error:
            raise DeviceError(DATA, "cannot read the log", [str(error)], code="log_unreadable")
    return {"faults": [item.as_dict() for item in found]}


def _explain_arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--log", metavar="FILE", help="a log in a file instead")


def _arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--online", action="store_true", help="ask the hub whether it answers")
    parser.add_argument("--now", type=float, help="seconds since 1970 of a clock that is right")


VERBS = (
    Verb("doctor", "what stands in the way here, and what to do about it", _arguments, _doctor),
    Verb("explain", "why a stack's server does not start", _explain_arguments, _explain),
)
