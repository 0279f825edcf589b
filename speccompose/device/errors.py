"""The on-board layer's one error: what was wanted, what was there, what to do, and the status.

Layer: device (standard library, Python 3.6). The statuses are the contract's; the control side
turns a DeviceError into the error class of the same status, a board prints it as JSON.
"""

from typing import Dict, Optional, Sequence, Union

USAGE = 2
DATA = 3
DEPLOY = 8
HEALTH = 9
LOCKED = 12
PENDING = 13
ROLLBACK_INCOMPLETE = 14
PREFLIGHT = 15
DRIFT = 16
UNREACHABLE = 18
MISMATCH = 19
INTERRUPTED = 130

_CODES = {
    USAGE: "usage",
    DATA: "data",
    DEPLOY: "deploy",
    HEALTH: "health",
    LOCKED: "locked",
    PENDING: "deferred",
    ROLLBACK_INCOMPLETE: "rollback_incomplete",
    PREFLIGHT: "preflight",
    UNREACHABLE: "unreachable",
    MISMATCH: "mismatch",
    INTERRUPTED: "interrupted",
}


class DeviceError(Exception):
    """A refusal for people.

    Args:
        status: the contract's exit status.
        brief: one line, without "error:"; what was wanted and what was there.
        details: further lines, one fact each.
        hint: what to do now.
        code: the finding code; the status's own name when not given.
    """

    def __init__(
        self,
        status: int,
        brief: str,
        details: Sequence[str] = (),
        hint: Optional[str] = None,
        code: Optional[str] = None,
    ) -> None:
        super(DeviceError, self).__init__(brief)
        self.status = status
        self.brief = brief
        self.details = tuple(details)
        self.hint = hint
        self.code = code or _CODES.get(status, "bug")

    def as_dict(self) -> Dict[str, Union[int, str, Sequence[str], None]]:
        """The error as JSON carries it."""
        return {
            "status": self.status,
            "code": self.code,
            "brief": self.brief,
            "details": list(self.details),
            "hint": self.hint,
        }

    def as_text(self) -> str:
        """The error as a person reads it on a terminal."""
        lines = ["error: " + self.brief]
        lines += ["  " + line for detail in self.details for line in detail.splitlines()]
        if self.hint:
            lines.append("  hint: " + self.hint)
        return "\n".join(lines)
