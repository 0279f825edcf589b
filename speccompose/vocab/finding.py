"""What a stage noticed and what it decided, each with its reason.

Layer: vocab.
"""

from enum import Enum

from speccompose.vocab.base import Frozen


class Severity(str, Enum):
    """How much a finding matters: errors refuse, warnings are shown, infos explain."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Finding(Frozen, frozen=True, kw_only=True):
    """One thing noticed on the way; codes are listed in docs/findings.md."""

    severity: Severity
    code: str
    message: str
    hint: str | None = None
    source: str | None = None


class HostNotice(Finding, frozen=True, kw_only=True):
    """A finding about a host: what was read, and command lines that would mend it."""

    evidence: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()


class Decision(Frozen, frozen=True, kw_only=True):
    """One value that the plan chose: what, by which rule, from where (shown by --explain)."""

    subject: str
    value: str
    rule: str
    source: str | None = None


class Rejection(Frozen, frozen=True, kw_only=True):
    """A candidate that was not taken, with what it wanted and what was there."""

    id: str
    reason: str


def info(code: str, message: str, *, hint: str | None = None, source: str | None = None) -> Finding:
    """Make an informative finding."""
    return Finding(severity=Severity.INFO, code=code, message=message, hint=hint, source=source)


def warning(
    code: str, message: str, *, hint: str | None = None, source: str | None = None
) -> Finding:
    """Make a warning."""
    return Finding(severity=Severity.WARNING, code=code, message=message, hint=hint, source=source)


def error(
    code: str, message: str, *, hint: str | None = None, source: str | None = None
) -> Finding:
    """Make a finding that stands in the way."""
    return Finding(severity=Severity.ERROR, code=code, message=message, hint=hint, source=source)
