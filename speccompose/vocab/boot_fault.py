"""What a server that does not start says, what it means, and what to do about it.

Layer: vocab. Filled from profiles/boot_faults/*.yaml, whose on-board copy is
device/boot_faults.json.
"""

from typing import Annotated, Literal

from msgspec import Meta

from speccompose.vocab.base import Frozen, Sourced

FaultKind = Literal["cause", "general", "consequence"]


class BootFault(Sourced, frozen=True, kw_only=True):
    """One kind of failed start.

    ``patterns``: regular expressions, any of them in one line of the log. ``near``: one that must
    stand in the lines before it too. ``exit_statuses``: those of the container that say the same.
    ``kind``: a ``general`` fault is told after every cause, a ``consequence`` last.
    """

    id: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$")]
    patterns: Annotated[tuple[str, ...], Meta(min_length=1)]
    near: str | None = None
    exit_statuses: tuple[int, ...] = ()
    kind: FaultKind = "cause"
    meaning: Annotated[str, Meta(min_length=10)]
    do: Annotated[tuple[str, ...], Meta(min_length=1)]


class BootFaultsFile(Frozen, frozen=True, kw_only=True):
    """One file of profiles/boot_faults/, in the order in which entries count."""

    faults: tuple[BootFault, ...]
