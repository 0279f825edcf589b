"""Boards of a fleet file become boards that can be planned and reached: keys, facts, rights.

Layer: pipeline, beside fleets.py. Host keys are shown before they count; facts are kept as files
beside the fleet file, so that every plan can be made and reviewed where no board is reachable.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from speccompose.catalog.facts_file import read_facts, write_facts
from speccompose.catalog.serials import remove_serial_numbers
from speccompose.catalog.text_file import read_text
from speccompose.device import command
from speccompose.errors import DataError, UsageError
from speccompose.fleet import host_keys
from speccompose.fleet.ansible_engine import AnsibleEngine, Errand
from speccompose.fleet.ansible_outcome import outcome_of
from speccompose.fleet.ansible_settings import Reach
from speccompose.fleet.file import FACTS, Fleet
from speccompose.fleet.host_keys import Collected, HostKey
from speccompose.fleets import known_hosts_of, reaches
from speccompose.vocab.base import Frozen
from speccompose.world.output_file import write_output
from speccompose.world.program import onboard_program

PROBE_S = 60
BOOTSTRAP_S = 120
Tell = Callable[[str, str], None]


class Answer(Frozen, frozen=True, kw_only=True):
    """What one board answered: its JSON, or why there is none."""

    board: str
    body: Mapping[str, object] | None = None
    reason: str | None = None
    message: str | None = None

    @property
    def done(self) -> tuple[str, ...]:
        """What enrolling changed there, one line each."""
        lines = (self.body or {}).get("done")
        return tuple(str(line) for line in lines) if isinstance(lines, list) else ()


def chosen(fleet: Fleet, names: tuple[str, ...]) -> dict[str, Reach]:
    """The boards that are meant; all of them without names.

    Raises:
        UsageError: the fleet has no board of that name.
    """
    every = reaches(fleet)
    unknown = [name for name in names if name not in every]
    if unknown:
        raise UsageError(f"no board {', '.join(unknown)} in this fleet", code="no_board")
    return {name: every[name] for name in names} if names else every


def shown_keys(fleet: Fleet, boards: Mapping[str, Reach]) -> Collected:
    """What the boards show, held against what is enrolled."""
    file = known_hosts_of(fleet.file.ssh, Path(fleet.folder))
    known = host_keys.parse_known_hosts(_text(file))
    return host_keys.collect(boards, known, command.run)


def keep_keys(fleet: Fleet, keys: tuple[HostKey, ...]) -> Path:
    """Write approved keys into the fleet's own known_hosts."""
    file = known_hosts_of(fleet.file.ssh, Path(fleet.folder))
    write_output(host_keys.merged(_text(file), keys), file)
    return file


def probe_boards(boards: Mapping[str, Reach]) -> Iterator[Answer]:
    """What each board says of itself; nothing needs to be installed there for it."""
    plain = {name: msgspec.structs.replace(reach, sudo=False) for name, reach in boards.items()}
    errands = [
        Errand(board=name, argv=("check", "probe"), timeout_s=PROBE_S, changes=False)
        for name in plain
    ]
    yield from _asked(plain, "probe", errands)


def keep_facts(fleet: Fleet, answer: Answer) -> Path:
    """Write a board's facts file, serial numbers removed; returns where.

    Raises:
        DataError: what it answered are no facts.
    """
    text = msgspec.json.encode(answer.body).decode()
    facts = remove_serial_numbers(read_facts(text, f"the answer of {answer.board}"))
    file = Path(fleet.folder) / FACTS / f"{answer.board}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_output(write_facts(facts), file)
    return file


def bootstrap(
    boards: Mapping[str, Reach], user: str, *, signers: bytes | None, check: bool, undo: bool
) -> Iterator[Answer]:
    """Give boards what their fleet needs there, or take it away; ``check`` only says what.

    Needs sudo without a password on the board, this once.
    """
    words = ["check", "enroll", "--user", user]
    words += ["--undo"] if undo else []
    words += ["--check"] if check else []
    words += ["--signers"] if signers is not None else []
    errands = [
        Errand(board=name, argv=tuple(words), timeout_s=BOOTSTRAP_S, changes=not check)
        for name in boards
    ]
    yield from _asked(boards, "enroll", errands, payload=signers or b"")


def _asked(
    boards: Mapping[str, Reach], name: str, errands: list[Errand], payload: bytes = b""
) -> Iterator[Answer]:
    missing = set(boards)
    with _engine(boards) as engine:
        for board, event, result in engine.answers(
            name, errands, payload=payload, program=onboard_program()
        ):
            missing.discard(board)
            yield _answer(board, event, result)
    for board in sorted(missing):
        yield Answer(board=board, reason="no_answer")


def _answer(board: str, event: str, result: Mapping[str, object]) -> Answer:
    body = result.get("answer")
    if isinstance(body, dict) and "error" not in body:
        return Answer(board=board, body=body)
    outcome = outcome_of(board, event, result)
    return Answer(board=board, reason=outcome.reason, message=outcome.message)


@contextmanager
def _engine(boards: Mapping[str, Reach]) -> Iterator[AnsibleEngine]:
    with TemporaryDirectory(prefix="speccompose-enroll-") as folder:
        engine = AnsibleEngine(boards, _no_bundle, folder=Path(folder), cores=2)
        try:
            yield engine
        finally:
            engine.close()


def _no_bundle(bundle: str) -> bytes:
    raise DataError(f"no bundle {bundle} while boards are enrolled", code="bundle_gone")


def _text(file: Path) -> str:
    try:
        return read_text(file)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise DataError(
            f"cannot read {file}: {error.strerror}",
            hint="boards' keys are kept in it: give the fleet file's ssh another known_hosts",
            code="known_hosts_unreadable",
        ) from None
