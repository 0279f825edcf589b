"""The one port to boards: five methods, one outcome per board, nothing of waves or Compose.

Layer: fleet. Implemented by the Ansible engine (real boards), by the simulator (virtual ones) and
by the tests' fake. An engine never retries, never decides, and never mutates rollout state.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from speccompose.vocab.rollout_engine import Action, BoardCall, BoardResult


class Engine(Protocol):
    """Every method yields one result per call, in any order, as results come in.

    A board that gets no result counts as ``unknown``. ``unreachable`` is said only where nothing
    was delivered to the board; whatever broke off in the middle is ``unknown``.
    """

    def probe(self, calls: Sequence[BoardCall]) -> Iterable[BoardResult]:
        """Read the board's state, preflight for ``digest`` included; change nothing."""
        ...

    def push(self, calls: Sequence[BoardCall]) -> Iterable[BoardResult]:
        """Put the bundle of ``digest`` on the board, checked there; idempotent."""
        ...

    def start(self, calls: Sequence[BoardCall], action: Action) -> Iterable[BoardResult]:
        """Start an action in the board's transient unit and return at once.

        The board refuses with 'locked' while another rollout's unit runs, and answers a repeated
        start of what runs already with ok and its report.
        """
        ...

    def poll(self, calls: Sequence[BoardCall], wait_s: float) -> Iterable[BoardResult]:
        """The board's state, waiting on the board for a change for at most ``wait_s``."""
        ...

    def confirm(self, calls: Sequence[BoardCall]) -> Iterable[BoardResult]:
        """Commit what is unconfirmed; idempotent; 'rolled_back' when it came too late."""
        ...
