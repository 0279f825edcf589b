"""What a decision asks for: calls to boards, lines for the journal, waiting, or the end.

Layer: fleet. Made by decide.py, carried out by controller.py.
"""

from typing import Literal, TypeAlias

from speccompose.vocab.base import Frozen
from speccompose.vocab.rollout_journal import Entry

CommandKind = Literal["probe", "push", "stage", "apply", "poll", "confirm", "rollback"]


class Command(Frozen, frozen=True, kw_only=True):
    """One call of the engine for some boards; ``wait_s`` belongs to poll."""

    kind: CommandKind
    boards: tuple[str, ...]
    wait_s: float = 0.0


class Record(Frozen, frozen=True, kw_only=True):
    """A decision: nothing but a line in the journal, which changes the state."""

    entry: Entry


class Wait(Frozen, frozen=True, kw_only=True):
    """Nothing to do before this rollout time (milliseconds)."""

    until: int


class Done(Frozen, frozen=True, kw_only=True):
    """The rollout has ended, or paused, with this exit status."""

    status: int


RolloutStep: TypeAlias = Command | Record | Wait | Done


class Now(Frozen, frozen=True, kw_only=True):
    """``t``: rollout time in ms, which runs only while a controller does, so that neither clock
    jumps nor a dead laptop use up a deadline. ``wall``: seconds since 1970, for windows only."""

    t: int
    wall: float
