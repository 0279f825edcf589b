"""The verb that examines this board and tells what to do; it changes nothing.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).
"""

import argparse
from typing import TYPE_CHECKING, List

from speccompose.device.verb import (
    Report,
    Verb,
    folder_of,
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
    if options.stack or own_folder():
        found = doctor.examine_stack(folder_of(options), roots, ports=ports)
    else:
        jetson = bool(ports.machine.host().text("/etc/nv_tegra_release"))
        runtime = "nvidia" if jetson else None
        hub = options.environment.get("SPECCOMPOSE_HUB") or "https://huggingface.co"
        asked = doctor.Asked(
            gpu_runtime=runtime,
            host_network=jetson,
            sources=(hub,) if options.online else (),
            clock_s=options.now,
        )
        found = doctor.examine(ports, roots, asked)
    _tell(options, found)
    report = {"findings": [dict(finding._asdict()) for finding in found]}  # type: Report
    if doctor.refused(found):
        report["outcome"] = REFUSED
    return report


def _tell(options: argparse.Namespace, found: "List[HostFinding]") -> None:
    from speccompose.device.ports import Progress

    for finding in found:
        options.say(Progress(finding.severity, "%s: %s" % (finding.code, finding.message)))
        for line in finding.fix:
            options.say(Progress("", "fix: " + line))


def _arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--online", action="store_true", help="ask the hub whether it answers")
    parser.add_argument("--now", type=float, help="seconds since 1970 of a clock that is right")


VERBS = (
    Verb("doctor", "what stands in the way here, and what to do about it", _arguments, _doctor),
)
