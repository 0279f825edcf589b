"""A journal, checked and told: is the chain whole, and who did what when (S21).

Layer: fleet.
"""

from pathlib import Path

from speccompose.catalog.text_file import read_regular
from speccompose.errors import DataError, MismatchError
from speccompose.fleet.chain import read_chain
from speccompose.vocab.base import Frozen
from speccompose.vocab.rollout_journal import Entry


class Audit(Frozen, frozen=True, kw_only=True):
    """A journal whose chain holds. ``head``: hash of its last line; written down elsewhere, it
    also proves that no last lines were cut off."""

    lines: int
    head: str
    torn: bool
    actors: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def ended(self) -> bool:
        """Whether the last run of the rollout came to its end."""
        return bool(self.entries) and self.entries[-1].event == "finished"


def verify(path: Path, rollout: str | None = None, head: str | None = None) -> Audit:
    """Check a journal: hashes, numbering, time that only goes on, the rollout it belongs to.

    Raises:
        MismatchError: something was changed or is missing (status 19).
        DataError: it cannot be read.
    """
    try:
        content = read_regular(path, 1 << 30)
    except OSError as error:
        raise DataError(
            f"the journal {path} cannot be read: {error.strerror}", code="journal_unreadable"
        ) from error
    read = read_chain(content, str(path))
    last = 0
    for number, entry in enumerate(read.entries):
        if entry.seq != number:
            raise _broken(path, number, f"it says that it is line {entry.seq + 1}")
        if entry.t < last:
            raise _broken(path, number, "its time lies before the line above")
        last = entry.t
    stated = {entry.rollout for entry in read.entries if entry.rollout is not None}
    if rollout is not None and stated - {rollout}:
        raise _broken(path, 0, f"it belongs to {', '.join(sorted(stated))}, not to {rollout}")
    if head is not None and head != read.head:
        raise _broken(path, len(read.entries) - 1, "it is not the last line that was written")
    return Audit(
        lines=len(read.entries),
        head=read.head,
        torn=read.torn,
        actors=tuple(sorted({entry.actor for entry in read.entries})),
        entries=read.entries,
    )


def _broken(path: Path, number: int, why: str) -> MismatchError:
    return MismatchError(f"{path} line {number + 1} does not hold", [why], code="journal_tampered")
