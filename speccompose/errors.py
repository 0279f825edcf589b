"""The one error family: what was wanted, what was there, what to do, and the exit status.

Layer: errors (bottom). Every refusal in the program is one of these; `cli` alone prints them.
Statuses are the contract's and unique; ``tests/test_errors.py`` proves it.
"""

from collections.abc import Sequence
from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit statuses of the contract. Each is reached by a test."""

    DONE = 0
    BUG = 1
    USAGE = 2
    DATA = 3
    BOARD = 4
    IMAGE = 5
    MEMORY = 6
    SPECULATION = 7
    DEPLOY = 8
    HEALTH = 9
    ROLLOUT_HALTED = 10
    PAUSED = 11
    LOCKED = 12
    PENDING = 13
    ROLLBACK_INCOMPLETE = 14
    PREFLIGHT = 15
    DRIFT = 16
    LINT = 17
    UNREACHABLE = 18
    MISMATCH = 19
    INTERRUPTED = 130


class SpecComposeError(Exception):
    """A refusal for people.

    Args:
        brief: one line, without "error:"; what was wanted and what was there.
        details: further lines, one fact each.
        hint: what to do now.
        code: the finding code that ``--json`` carries.
        source: where the rule comes from.
    """

    status = ExitStatus.BUG

    def __init__(
        self,
        brief: str,
        details: Sequence[str] = (),
        *,
        hint: str | None = None,
        code: str | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(brief)
        self.brief = brief
        self.details = tuple(details)
        self.hint = hint
        self.code = code or self.status.name.lower()
        self.source = source


class UsageError(SpecComposeError):
    """A bad option, an unknown model, a wide bind without a key."""

    status = ExitStatus.USAGE


class DataError(SpecComposeError):
    """Facts, catalog data or a checkpoint are unreadable or invalid."""

    status = ExitStatus.DATA


class BoardError(SpecComposeError):
    """The board is unknown or unsupported."""

    status = ExitStatus.BOARD


class ImageError(SpecComposeError):
    """No image fits, or the image or flag asked for cannot run here."""

    status = ExitStatus.IMAGE


class MemoryFitError(SpecComposeError):
    """The parts exceed the memory that is there."""

    status = ExitStatus.MEMORY


class SpeculationError(SpecComposeError):
    """Method, pair or depth refused."""

    status = ExitStatus.SPECULATION


class DeployError(SpecComposeError):
    """Deploy failed; the previous stack is restored, or nothing is left running."""

    status = ExitStatus.DEPLOY


class HealthError(SpecComposeError):
    """Health failed, or acceptance was rejected."""

    status = ExitStatus.HEALTH


class PausedError(SpecComposeError):
    """Acceptance inconclusive or invalid: never a pass."""

    status = ExitStatus.PAUSED


class LockedError(SpecComposeError):
    """Another operation holds the lock."""

    status = ExitStatus.LOCKED


class PendingError(SpecComposeError):
    """Put off: the board is held, or not reached yet. Nothing was changed."""

    status = ExitStatus.PENDING


class RollbackIncompleteError(SpecComposeError):
    """The previous stack could not be restored."""

    status = ExitStatus.ROLLBACK_INCOMPLETE


class PreflightError(SpecComposeError):
    """This host would not survive the deploy."""

    status = ExitStatus.PREFLIGHT


class SourceUnreachableError(SpecComposeError):
    """Hub, registry or mirror out of reach."""

    status = ExitStatus.UNREACHABLE


class MismatchError(SpecComposeError):
    """A signature or hash differs."""

    status = ExitStatus.MISMATCH


class InterruptedVerbError(SpecComposeError):
    """Interrupted by a signal; what stood before was put back."""

    status = ExitStatus.INTERRUPTED


ERROR_BY_STATUS: dict[int, type[SpecComposeError]] = {
    int(cls.status): cls for cls in SpecComposeError.__subclasses__()
}
"""Turns the exit status that the on-board program reports back into the error it means."""
