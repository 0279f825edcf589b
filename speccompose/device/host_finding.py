"""What a check noticed on this host: how bad, what was read, what to do about it.

Layer: device (standard library, Python 3.8). Pure. An ``error`` is only what would make a deploy
fail; a ``warning`` wants to be read; an ``info`` explains. ``fix`` holds commands as text: nothing
is changed by looking.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence, Tuple

ERROR = "error"
WARNING = "warning"
INFO = "info"


class HostFinding(NamedTuple):
    """One thing noticed on this host, in the shape of the contract's findings.

    ``evidence`` are the texts that it was seen in, ``fix`` command lines for whoever decides so.
    """

    severity: str
    code: str
    message: str
    hint: Optional[str] = None
    evidence: Tuple[str, ...] = ()
    fix: Tuple[str, ...] = ()


def error(
    code: str,
    message: str,
    hint: Optional[str] = None,
    *,
    evidence: Sequence[str] = (),
    fix: Sequence[str] = (),
) -> HostFinding:
    """What makes a deploy fail."""
    return HostFinding(ERROR, code, message, hint, tuple(evidence), tuple(fix))


def warning(
    code: str,
    message: str,
    hint: Optional[str] = None,
    *,
    evidence: Sequence[str] = (),
    fix: Sequence[str] = (),
) -> HostFinding:
    """What may go wrong later, or costs something now."""
    return HostFinding(WARNING, code, message, hint, tuple(evidence), tuple(fix))


def info(
    code: str,
    message: str,
    hint: Optional[str] = None,
    *,
    evidence: Sequence[str] = (),
    fix: Sequence[str] = (),
) -> HostFinding:
    """What explains, or could be better."""
    return HostFinding(INFO, code, message, hint, tuple(evidence), tuple(fix))
