"""What a deploy would do on this machine (`deploy --dry-run`).

Layer: vocab.
"""

from speccompose.vocab.base import Frozen
from speccompose.vocab.finding import Finding
from speccompose.vocab.plan import StackPlan


class Preview(Frozen, frozen=True, kw_only=True):
    """The plan, what serves now, and what stands in the way."""

    plan: StackPlan
    current_digest: str | None
    changes: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def changed(self) -> bool:
        """Whether anything would be switched."""
        return self.plan.digest != self.current_digest
