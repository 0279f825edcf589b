"""What a deploy would do on this machine (`deploy --dry-run`).

Layer: vocab.
"""

from speccompose.vocab.base import Frozen
from speccompose.vocab.document import PlanDocument
from speccompose.vocab.finding import Finding, Severity


class Preview(Frozen, frozen=True, kw_only=True):
    """The plan, what serves now, and what stands in the way."""

    document: PlanDocument
    current_digest: str | None
    changes: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def changed(self) -> bool:
        """Whether anything would be switched."""
        return self.document.digest != self.current_digest

    @property
    def refused(self) -> bool:
        """Whether deploy would refuse."""
        return any(finding.severity == Severity.ERROR for finding in self.findings)
