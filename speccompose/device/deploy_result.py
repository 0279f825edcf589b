"""How a deploy ended well, as people and programs read it.

Layer: device (standard library, Python 3.8).
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple

from speccompose.device import state
from speccompose.device.errors import USAGE, DeviceError
from speccompose.device.paths import StackPaths
from speccompose.device.prove import Proof
from speccompose.device.release import release_plan

ALREADY = "already"


class DeployResult(NamedTuple):
    """``changed`` is False when everything already was so; ``phase`` how the stack stands now.

    ``confirm_within_s``: what is left of the time in which it must be confirmed.
    """

    name: str
    changed: bool
    digest: str
    previous_digest: Optional[str]
    endpoint: str
    container: str
    proof: Optional[Proof]
    notices: Tuple[str, ...] = ()
    phase: str = state.COMMITTED
    confirm_within_s: Optional[int] = None

    @property
    def result(self) -> str:
        """'already', or the phase that this deploy brought the stack to."""
        return ALREADY if not self.changed and self.phase in state.SERVING else self.phase

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        body: Dict[str, object] = dict(self._asdict())
        body["proof"] = None if self.proof is None else dict(self.proof._asdict())
        body["result"] = self.result
        return body


def rolled_back(paths: StackPaths, done: str) -> DeployResult:
    """What serves (or is stopped) after an open deploy was undone.

    Raises:
        DeviceError: status 2 when nothing is left: it was a first install.
    """
    record = state.load(paths)
    plan = release_plan(paths, record.digest)
    if plan is None:
        brief = f"{paths.name} has no release to go back to"
        why = [f"its deploy was cut short: {done}"]
        raise DeviceError(USAGE, brief, why, code="no_previous")
    return DeployResult(
        name=paths.name,
        changed=True,
        digest=plan.digest,
        previous_digest=state.linked_digest(paths.previous),
        endpoint=plan.endpoint,
        container=record.container or "",
        proof=None,
        notices=(f"an open deploy was undone: {done}",),
        phase=record.phase,
    )
