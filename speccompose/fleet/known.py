"""What is known of boards without asking them: the last releases, folded from journals.

Layer: fleet. boards.json in the rollouts' folder is a copy for planning; the truth is on the
boards, and every rollout asks them first.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from speccompose.catalog.text_file import read_regular
from speccompose.errors import DataError, ExitStatus
from speccompose.fleet.phases import DONE
from speccompose.fleet.rollout_state import RolloutState
from speccompose.vocab.base import Frozen

KNOWN: Final = "boards.json"


class KnownBoard(Frozen, frozen=True, kw_only=True):
    """``had``: stacks of the fleet file that it has run, for what requires them."""

    digest: str | None = None
    rollout: str | None = None
    had: tuple[str, ...] = ()


class KnownFleet(Frozen, frozen=True, kw_only=True):
    """``last``: the last release that went through (0 or 13); ``counter``: the highest release
    counter that was given out, and ``release`` what it was given for."""

    last: str | None = None
    counter: int = 0
    release: str | None = None
    boards: Mapping[str, KnownBoard] = {}


def remembered(known: KnownFleet, state: RolloutState) -> KnownFleet:
    """What is known after a rollout, or after as much of it as has happened."""
    boards = dict(known.boards)
    for name, board in state.boards.items():
        before = boards.get(name, KnownBoard())
        if board.phase in DONE or board.committed:
            entry = state.stack(board).entry
            boards[name] = KnownBoard(
                digest=board.digest,
                rollout=state.plan.rollout,
                had=tuple(dict.fromkeys((*before.had, entry))),
            )
        elif before.rollout == state.plan.rollout:
            boards[name] = msgspec.structs.replace(before, digest=None)
    through = state.mode == "finished" and state.status in (ExitStatus.DONE, ExitStatus.PENDING)
    taken_back = state.reason == "rollback"
    is_release = state.plan.kind == "release"  # what follows it up brings no other one
    return msgspec.structs.replace(
        known,
        last=state.plan.rollout if through and is_release and not taken_back else known.last,
        counter=max(known.counter, state.plan.counter),
        release=state.plan.rollout if state.plan.counter > known.counter else known.release,
        boards=boards,
    )


def read_known(rollouts: Path) -> KnownFleet:
    """What was written last; nothing on a new fleet.

    Raises:
        DataError: the file is there and cannot be understood.
    """
    path = rollouts / KNOWN
    try:
        return msgspec.json.decode(read_regular(path, 1 << 28), type=KnownFleet)
    except FileNotFoundError:
        return KnownFleet()
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(
            f"{path} cannot be read: {error}",
            hint="bring it back from version control: it counts the fleet's releases",
            code="known_unreadable",
        ) from error


def write_known(rollouts: Path, known: KnownFleet) -> None:
    """Write it whole.

    Raises:
        DataError: it cannot be written.
    """
    try:
        rollouts.mkdir(parents=True, exist_ok=True)
        draft = rollouts / f".{KNOWN}"
        draft.write_bytes(msgspec.json.encode(known, order="sorted") + b"\n")
        draft.replace(rollouts / KNOWN)
    except OSError as error:
        raise DataError(
            f"{rollouts / KNOWN} cannot be written: {error.strerror}", code="known_unwritable"
        ) from error
