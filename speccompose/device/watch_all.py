"""Every stack of this board gets its look; one that cannot be looked at keeps none from it.

Layer: device (standard library, Python 3.8), over ``watch``. What the verb `watch` reports.
"""

from __future__ import annotations

from typing import Dict, List, Optional

from speccompose.device.errors import HEALTH, DeviceError
from speccompose.device.paths import Roots, known_stacks
from speccompose.device.ports import Ports, Progress, Say
from speccompose.device.record import DEGRADED
from speccompose.device.watch import watch
from speccompose.device.watch_decision import DEAD


def watch_all(roots: Roots, *, ports: Ports, say: Say) -> Dict[str, object]:
    """One look at each; what was done about a dead one is no failure of the watch.

    Raises:
        DeviceError: the first one, after every stack had its look.
    """
    seen: List[Dict[str, object]] = []
    first: Optional[DeviceError] = None
    for name in known_stacks(roots):
        try:
            seen.append(watch(name, roots, ports=ports, say=say).as_dict())
        except DeviceError as error:
            say(Progress("watch", f"{name}: {error.brief}"))
            first = first or error
    if first is not None:
        raise first
    return {"stacks": seen}


def watch_one(
    name: str, roots: Roots, *, ports: Ports, say: Say, token_s: Optional[float] = None
) -> Dict[str, object]:
    """One look, for a person or a script.

    Raises:
        DeviceError: 9 when the stack is dead or given up, and what was done; else as ``watch``.
    """
    found = watch(name, roots, ports=ports, say=say, token_s=token_s)
    if found.state in (DEAD, DEGRADED):
        raise DeviceError(
            HEALTH,
            f"{name} is {found.state}",
            [found.reason or "watch.json does not say why", f"done: {found.action}"],
            hint=f"see: speccompose status {name}; speccompose logs {name}",
            code="stack_dead" if found.state == DEAD else "stack_degraded",
        )
    return {"stacks": [found.as_dict()]}
