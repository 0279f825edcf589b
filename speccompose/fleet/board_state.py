"""One board of a rollout, as the journal's lines add up to it.

Layer: fleet. Filled by rollout_state.py, read by decisions and reports.
"""

from speccompose.vocab.rollout_journal import Phase
from speccompose.vocab.rollout_plan import PlannedBoard


class BoardState:
    """One board: ``bundle`` and its ``digest`` are what it is to get, ``committed`` whether it
    runs that by us.

    Times are rollout milliseconds: ``since`` of the phase, ``touched`` of the last answer or
    attempt, ``until`` a deadline. ``misses``: attempts without an answer since the last one.
    ``probes``: answers in this phase, or in this bake. ``tries``: starts that never arrived.
    """

    __slots__ = (
        "accepted_length",
        "bundle",
        "committed",
        "digest",
        "fault",
        "message",
        "misses",
        "phase",
        "planned",
        "probes",
        "reason",
        "restarts",
        "run",
        "since",
        "stale",
        "touched",
        "tries",
        "until",
        "wave",
    )

    def __init__(self, planned: PlannedBoard, wave: int, digest: str) -> None:
        self.planned = planned
        self.wave = wave
        self.phase: Phase = "waiting"
        self.bundle = planned.stack or ""
        self.digest = digest
        self.reason: str | None = None
        self.message: str | None = None
        self.since = 0
        self.touched = 0
        self.until: int | None = None
        self.misses = 0
        self.probes = 0
        self.tries = 0
        self.run = 1
        self.restarts = 0
        self.accepted_length: float | None = None
        self.committed = False
        self.fault = False
        self.stale = False

    @property
    def id(self) -> str:
        """The board's name."""
        return self.planned.id

    @property
    def board_class(self) -> str:
        """SoC x memory x L4T major, as its id."""
        return self.planned.board_class or ""
