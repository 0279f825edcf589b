"""A rendered folder becomes what deploying it here would change; nothing is changed.

Layer: device (standard library, Python 3.8). The dry run of ``transaction.deploy``: the same
checks, read only, without the lock, and everything that stands in the way at once.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

from speccompose.device import state
from speccompose.device.admission import refusals
from speccompose.device.deploy_result import ALREADY
from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.gate import preflight
from speccompose.device.order import Order
from speccompose.device.paths import Roots, StackPaths
from speccompose.device.ports import Ports
from speccompose.device.preflight import ERROR, HostFinding
from speccompose.device.small_file import read_small_text
from speccompose.device.stack_folder import StackFolder, read_stack
from speccompose.device.standing import glance, peek

INSTALL, RESTART, SWITCH = "install", "restart", "switch"


class Foreseen(NamedTuple):
    """``would`` is already, install (nothing is there), restart (the same release) or switch.

    ``outcome`` is checked, or refused when a deploy would be.
    """

    name: str
    would: str
    digest: str
    current_digest: Optional[str]
    changes: Tuple[str, ...]
    findings: Tuple[Dict[str, object], ...]
    outcome: str

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        return dict(self._asdict())


def foresee(stack_dir: Path, roots: Roots, *, ports: Ports, order: Order) -> Foreseen:
    """What a deploy would do.

    Raises:
        DeviceError: 3 and 19 for a bad folder.
    """
    folder = read_stack(stack_dir)
    plan, paths = folder.plan, StackPaths(folder.plan.name, roots)
    current = state.linked_digest(paths.current)
    if glance(paths, plan, ports) is not None:
        return Foreseen(plan.name, ALREADY, plan.digest, current, (), (), "checked")
    found = [
        *preflight(stack_dir, roots, ports=ports),
        *early_refusals(stack_dir, roots, ports=ports, order=order),
    ]
    return Foreseen(
        name=plan.name,
        would=INSTALL if current is None else RESTART if current == plan.digest else SWITCH,
        digest=plan.digest,
        current_digest=current,
        changes=tuple(_changes(folder, paths, current)),
        findings=tuple(dict(item._asdict()) for item in found),
        outcome="refused" if any(item.severity == ERROR for item in found) else "checked",
    )


def early_refusals(
    stack_dir: Path, roots: Roots, *, ports: Ports, order: Order
) -> List[HostFinding]:
    """What a deploy would be refused with besides preflight's findings; none for what serves.

    Raises:
        DeviceError: 3 and 19 for a bad folder.
    """
    return [_finding(error) for error in _refusals(read_stack(stack_dir), roots, ports, order)]


def refuse_early(stack_dir: Path, roots: Roots, *, ports: Ports, order: Order) -> None:
    """Refuse before anything is brought what would be refused afterwards.

    Raises:
        DeviceError: the first of them; 3 and 19 for a bad folder.
    """
    for error in _refusals(read_stack(stack_dir), roots, ports, order):
        raise error


def _refusals(folder: StackFolder, roots: Roots, ports: Ports, order: Order) -> List[DeviceError]:
    paths = StackPaths(folder.plan.name, roots)
    if glance(paths, folder.plan, ports) is not None:
        return []
    try:
        now = peek(paths, folder.plan, ports)
    except DeviceError as error:  # docker does not answer: preflight says so
        return [] if error.status == PREFLIGHT else [error]
    return refusals(folder, paths, ports=ports, order=order, now=now)


def _finding(error: DeviceError) -> HostFinding:
    message = "\n".join((error.brief, *error.details))
    return HostFinding(ERROR, error.code, message, error.hint)


def _changes(folder: StackFolder, paths: StackPaths, current: Optional[str]) -> List[str]:
    """The Compose file as a diff against the installed one."""
    old = "" if current is None else _text(paths.release(current) / "compose.yaml")
    new = _text(folder.path / "compose.yaml")
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), "installed", "planned", lineterm="", n=1
    )
    return list(lines)


def _text(file: Path) -> str:
    try:
        return read_small_text(file)
    except (OSError, UnicodeDecodeError):
        return ""
