"""A stack's report and the work that was ordered on it become what a rollout is told.

Layer: device (standard library, Python 3.8). ``board_report`` says how the stack stands; here the
transaction is the one that was ordered last: while a stage runs, and when it failed before it
touched the stack, the state is 'idle', although the release before serves on; and a release that
is still being measured is 'checking', so that nobody confirms it yet.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional

from speccompose.device import board_report, drift, state
from speccompose.device.errors import DeviceError
from speccompose.device.incoming import incoming_folder
from speccompose.device.order import Order
from speccompose.device.paths import Roots, StackPaths
from speccompose.device.ports import Ports
from speccompose.device.work import is_running
from speccompose.device.work_file import APPLY, ROLLBACK, Work, load_work

POLL_S = 1.0
Report = Dict[str, object]

_STATES = {state.FAILED: state.DEGRADED}
"""The control side knows one word for a stack that was given up."""

_WAKES = ("state", "running", "rollout", "target", "reason")
"""What a waiting controller wants to be woken for."""


class Asked(NamedTuple):
    """What the report is for: with ``preflight`` also what keeps the bundle of ``digest`` out,
    and whether what serves is still what was deployed.
    """

    digest: Optional[str] = None
    preflight: bool = False
    wait_s: float = 0.0


def rollout_report(name: str, roots: Roots, asked: Asked, *, ports: Ports) -> Report:
    """The report, once it has changed or ``wait_s`` has passed; nothing is changed."""
    machine = ports.machine
    until = machine.now_s() + asked.wait_s
    report = first = _report(name, roots, ports)
    while all(report[key] == first[key] for key in _WAKES) and machine.now_s() < until:
        machine.sleep(min(POLL_S, max(until - machine.now_s(), 0.0)))
        report = _report(name, roots, ports)
    if asked.preflight:
        report["unfit"] = _unfit(name, roots, asked, ports)
        report["drift"] = _drift(name, roots, ports)
    return {key: value for key, value in report.items() if value is not None}


def _report(name: str, roots: Roots, ports: Ports) -> Report:
    base, work = board_report.board_report(name, roots, ports=ports), load_work(name, roots)
    report = {**base, "running": None, "state": _STATES.get(str(base["state"]), base["state"])}
    if work is None:
        return report
    running = work.action if not work.ended and is_running(ports) else None
    report.update(
        running=running,
        verdict=work.verdict,
        baseline_tokens_s=work.baseline_tokens_s,
        speculative_tokens_s=work.speculative_tokens_s,
    )
    theirs = (base["rollout"], base["target"])
    if work.action != ROLLBACK and theirs != (work.rollout, work.digest):
        return {**report, **_not_there_yet(work, running)}
    if running == APPLY and base["state"] == state.UNCONFIRMED:
        report["state"] = state.CHECKING
    if running is None and work.action == APPLY and base["state"] == state.UNCONFIRMED:
        # Its unit died in the measurement or the long prompt: what was asked for was not shown.
        report.update({} if work.ended else {"reason": "interrupted"})
    if work.code is not None and not report["reason"]:
        report.update(reason=work.code, message=work.message)
    return report


def _not_there_yet(work: Work, running: Optional[str]) -> Report:
    """It has not come as far as the stack's own record, or ended before that."""
    lost = not work.ended and running is None
    return {
        "state": state.IDLE,
        "rollout": work.rollout,
        "target": work.digest,
        "reason": "interrupted" if lost else work.code,
        "message": work.message,
    }


def _unfit(name: str, roots: Roots, asked: Asked, ports: Ports) -> List[Report]:
    """What would refuse the stack here; its own needs are known once its bundle is here."""
    if asked.digest is None:
        return []
    folder = incoming_folder(name, asked.digest, roots)
    if not folder.is_dir():
        return []
    try:
        return board_report.unfit(folder, roots, ports=ports, order=Order(force=True))
    except DeviceError as error:
        return [{"code": error.code or "refused", "message": error.brief}]


def _drift(name: str, roots: Roots, ports: Ports) -> List[str]:
    try:
        return [item.code for item in drift.drift(name, roots, ports=ports)]
    except DeviceError as error:
        installed = state.linked_digest(StackPaths(name, roots).current) is not None
        return [error.code or "unknown"] if installed else []
