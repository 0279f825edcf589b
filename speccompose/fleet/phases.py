"""Which phases of a board mean what. Pure.

Layer: fleet. The one place where phases are grouped; decisions and reports go by these names.
"""

from typing import Final

from speccompose.vocab.rollout_journal import Phase

Phases = tuple[Phase, ...]

UNSTARTED: Final[Phases] = (
    "waiting",
    "unreached",
    "deferred",
    "ready",
    "pushing",
    "pushed",
    "staging",
    "staged",
)
"""Nothing that serves was touched: an abort leaves these boards as they are."""

IN_FLIGHT: Final[Phases] = ("applying", "unconfirmed", "declining")
"""The board itself has been changed and must be seen to its end."""

DONE: Final[Phases] = ("committed", "already")
ACTIVE: Final[Phases] = (*UNSTARTED, *IN_FLIGHT, "reverting")
"""Not terminal: a wave is not over while a board is in one of these."""

LEFT_OUT: Final[Phases] = ("pending", "ineligible", "skipped", "untouched", "inconclusive")
FAILED: Final[Phases] = ("failed", "stuck", "unreverted")
DOUBTFUL: Final[Phases] = (
    "ready",
    "pushing",
    "pushed",
    "staging",
    "staged",
    "applying",
    "unconfirmed",
    "declining",
    "reverting",
)
"""After a controller died, only the board knows where it is: probe before anything else."""

POLLED: Final[Phases] = ("staging", "applying", "unconfirmed", "declining", "reverting")
