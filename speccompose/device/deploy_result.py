"""How a deploy ended well, as people and programs read it.

Layer: device (standard library, Python 3.8). Pure.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple

from speccompose.device import state
from speccompose.device.prove import Proof

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
