"""One line of a rollout's journal, and the phases a board goes through.

Layer: vocab. The journal is the only state of a rollout; fleet/rollout_state.py folds it.
"""

from typing import Literal

import msgspec

from speccompose.vocab.rollout_engine import Verdict
from speccompose.vocab.rollout_policy import RollbackScope

Phase = Literal[
    "waiting",
    "unreached",
    "deferred",
    "ready",
    "pushing",
    "pushed",
    "staging",
    "staged",
    "applying",
    "unconfirmed",
    "declining",
    "committed",
    "already",
    "pending",
    "ineligible",
    "skipped",
    "untouched",
    "inconclusive",
    "failed",
    "stuck",
    "reverting",
    "reverted",
    "unreverted",
]
"""A board as the controller sees it. From ``applying`` on the board itself has been changed."""

Event = Literal[
    "opened",
    "resumed",
    "took_over",
    "wave",
    "board",
    "seen",
    "missed",
    "baking",
    "promoted",
    "without_speculation",
    "pausing",
    "paused",
    "continued",
    "aborting",
    "finished",
]


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line. ``t``: milliseconds of rollout time (only while a controller lives), ``at``: UTC.

    ``board`` lines: ``was`` -> ``phase`` with ``reason``; ``digest`` is what the board is to get,
    ``until`` a deadline in rollout time, ``evidence`` the hash of the report that decided it,
    ``fault`` a failure whose rollback is still to come, ``verdict`` and the speeds what its own
    A/B gave.
    ``allow_downgrade`` of `opened`: boards may take a release older than theirs (S28).
    ``seen`` and ``missed``: ``boards``
    answered, or could not be reached, and nothing changed by it. Who decided what is drafted
    without ``seq``, ``t``, ``at`` and ``actor``: the journal stamps them.
    """

    event: Event
    t: int = 0
    at: str = ""
    actor: str = ""
    seq: int = 0
    rollout: str | None = None
    wave: int | None = None
    board: str | None = None
    was: Phase | None = None
    phase: Phase | None = None
    reason: str | None = None
    message: str | None = None
    digest: str | None = None
    until: int | None = None
    restarts: int | None = None
    accepted_length: float | None = None
    verdict: Verdict | None = None
    baseline_tokens_s: float | None = None
    speculative_tokens_s: float | None = None
    fault: bool = False
    allow_downgrade: bool = False
    evidence: str | None = None
    scope: RollbackScope | None = None
    boards: tuple[str, ...] = ()
    board_class: str | None = None
    status: int | None = None
