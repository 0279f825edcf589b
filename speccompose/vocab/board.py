"""Which board a plan is for: named, read from facts, or this machine.

Layer: vocab. What stands in front of stage 1.
"""

from collections.abc import Mapping

from speccompose.vocab.base import Frozen
from speccompose.vocab.facts import RawFacts
from speccompose.vocab.measured import StoredResult


class BoardSource(Frozen, frozen=True, kw_only=True):
    """Exactly one of ``device`` and ``facts`` is given.

    ``committed_available_mib``: what the running release was planned with; a redeploy plans with
    the same figure, so that the memory it holds itself does not change its digest.
    ``elsewhere_mib``: what other stacks on this board were planned with.
    ``registries``: mirrors of its site, by registry host; ``sealed``: nothing can be pulled there.
    ``measured``: what acceptances and tunings on this board found; empty when it is not this
    machine.
    """

    device: str | None = None
    l4t: str | None = None
    facts: RawFacts | None = None
    assume_l4t: str | None = None
    committed_available_mib: int | None = None
    elsewhere_mib: int = 0
    measured: tuple[StoredResult, ...] = ()
    registries: Mapping[str, str] = {}
    sealed: bool = False
