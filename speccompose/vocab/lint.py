"""What `lint` says of a Compose file that somebody wrote: findings with their place.

Layer: vocab. Made by lint/, shown by report/lint_text.py.
"""

from speccompose.vocab.base import Frozen
from speccompose.vocab.finding import Severity


class LintFinding(Frozen, frozen=True, kw_only=True):
    """The contract's lint finding. ``line`` counts from 1; None where only the file is known."""

    severity: Severity
    code: str
    message: str
    hint: str | None = None
    source: str | None = None
    file: str
    line: int | None = None


class LintDocument(Frozen, frozen=True, kw_only=True):
    """{findings}: what `lint --json` prints."""

    findings: tuple[LintFinding, ...]

    @property
    def failed(self) -> bool:
        """Whether anything is an error."""
        return any(finding.severity == Severity.ERROR for finding in self.findings)
