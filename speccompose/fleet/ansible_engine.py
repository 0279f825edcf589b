"""Calls to boards become one Ansible run each, and its events one outcome per board.

Layer: fleet. The only importer of ansible_runner. One task per run, our own module, a JSON
inventory with exactly the boards of the call; nothing here knows waves, decides or retries.
"""

import base64
import json
import queue
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

import msgspec

from speccompose.errors import UsageError
from speccompose.fleet import ansible_settings, board_argv
from speccompose.fleet.ansible_outcome import TERMINAL, outcome_of
from speccompose.fleet.ansible_settings import Reach
from speccompose.vocab.base import Frozen
from speccompose.vocab.rollout_engine import Action, BoardCall, BoardResult

LIBRARY = Path(__file__).parent / "library"
Answer = tuple[str, str, Mapping[str, object]]
"""Board, Ansible's event, and the JSON that came with it."""

RUN_MARGIN_S = 120
"""What connecting and copying may take on top of what the board was given."""


class Bundles(Protocol):
    """Where the bytes of a stack's bundle come from."""

    def __call__(self, bundle: str) -> bytes:
        """The tar of a bundle, by its name in the plan."""
        ...


class Errand(Frozen, frozen=True, kw_only=True):
    """One board's part of a run: the on-board program's arguments, and how long it may take."""

    board: str
    argv: tuple[str, ...]
    timeout_s: int
    changes: bool = True


class AnsibleEngine:
    """The `Engine` port over ssh. ``folder`` keeps one subfolder per run, for people to read."""

    def __init__(
        self,
        boards: Mapping[str, Reach],
        bundles: Bundles,
        *,
        folder: Path,
        cores: int,
        on_event: Callable[[str, str], None] = lambda board, event: None,
    ) -> None:
        self._boards, self._bundles = boards, bundles
        self._folder, self._cores, self._on_event = folder.absolute(), cores, on_event
        # Unix sockets take 108 bytes: never below a state folder, however deep that lies.
        self._control = Path(tempfile.mkdtemp(prefix="sc-"))
        self._number = 0

    def close(self) -> None:
        """Forget the connections that are kept open."""
        shutil.rmtree(self._control, ignore_errors=True)

    def probe(self, calls: Sequence[BoardCall]) -> Iterable[BoardResult]:
        """See `Engine`."""
        errands = [_errand(call, board_argv.probe(call), 60, changes=False) for call in calls]
        return self.run("probe", errands)

    def push(self, calls: Sequence[BoardCall]) -> Iterable[BoardResult]:
        """See `Engine`; equal bundles travel in one run."""
        by_bundle: dict[str, list[BoardCall]] = defaultdict(list)
        for call in calls:
            by_bundle[call.bundle].append(call)
        for bundle, group in by_bundle.items():
            errands = [_errand(call, board_argv.receive(call), 300) for call in group]
            yield from self.run("push", errands, payload=self._bundles(bundle))

    def start(self, calls: Sequence[BoardCall], action: Action) -> Iterable[BoardResult]:
        """See `Engine`."""
        errands = [
            _errand(call, board_argv.start(call, action, self._boards[call.board].hub), 60)
            for call in calls
        ]
        return self.run(f"start-{action}", errands)

    def poll(self, calls: Sequence[BoardCall], wait_s: float) -> Iterable[BoardResult]:
        """See `Engine`; the board waits, not we: a pass costs as much as a run of work."""
        errands = [
            _errand(call, board_argv.poll(call, wait_s), int(wait_s) + 60, changes=False)
            for call in calls
        ]
        return self.run("poll", errands)

    def confirm(self, calls: Sequence[BoardCall]) -> Iterable[BoardResult]:
        """See `Engine`."""
        errands = [_errand(call, board_argv.confirm(call), 120) for call in calls]
        return self.run("confirm", errands)

    def run(
        self,
        name: str,
        errands: Sequence[Errand],
        *,
        payload: bytes = b"",
        program: bytes = b"",
        check: bool = False,
    ) -> Iterator[BoardResult]:
        """Run one errand per board; results come as boards answer.

        Raises:
            UsageError: ansible-runner is not installed.
        """
        for board, event, result in self.answers(
            name, errands, payload=payload, program=program, check=check
        ):
            yield outcome_of(board, event, result)

    def answers(
        self,
        name: str,
        errands: Sequence[Errand],
        *,
        payload: bytes = b"",
        program: bytes = b"",
        check: bool = False,
    ) -> Iterator[Answer]:
        """As ``run``, with each board's own answer: (board, Ansible's event, its JSON)."""
        if not errands:
            return
        shared = {
            "speccompose_payload": base64.b64encode(payload).decode(),
            "speccompose_program": base64.b64encode(program).decode(),
        }
        place = self._prepare(name, errands, shared)
        run = _Run(self._on_event)
        longest = max(errand.timeout_s for errand in errands)
        run.begin(
            private_data_dir=str(place),
            inventory=str(place / "inventory" / "hosts.json"),
            envvars=self._environment(place),
            forks=ansible_settings.forks(len(errands), self._cores),
            timeout=_rounds(len(errands), self._cores) * longest + RUN_MARGIN_S,
            cmdline="--check" if check else None,
        )
        yield from run.results()
        run.must_have_run(place)

    def _prepare(self, name: str, errands: Sequence[Errand], shared: Mapping[str, str]) -> Path:
        """Write inventory, play and settings of one run."""
        self._number += 1
        place = self._folder / f"{self._number:05d}-{name}"
        for part in ("inventory", "project"):
            (place / part).mkdir(parents=True, exist_ok=True)
        calls = {errand.board: self._encoded(errand) for errand in errands}
        hosts = ansible_settings.inventory(self._boards, calls, shared)
        (place / "inventory" / "hosts.json").write_text(json.dumps(hosts), encoding="utf-8")
        (place / "project" / "play.yml").write_text(ansible_settings.PLAY, encoding="utf-8")
        (place / "ansible.cfg").write_text("[defaults]\n", encoding="utf-8")
        return place

    def _encoded(self, errand: Errand) -> str:
        call = {
            "argv": errand.argv,
            "sudo": self._boards[errand.board].sudo,
            "timeout_s": errand.timeout_s,
            "changes": errand.changes,
        }
        return base64.b64encode(msgspec.json.encode(call)).decode()

    def _environment(self, place: Path) -> dict[str, str]:
        return ansible_settings.ansible_environment(
            programs=str(Path(sys.executable).parent),
            library=str(LIBRARY),
            config=str(place / "ansible.cfg"),
            control=str(self._control),
        )


def _errand(call: BoardCall, argv: tuple[str, ...], timeout_s: int, changes: bool = True) -> Errand:
    return Errand(board=call.board, argv=argv, timeout_s=timeout_s, changes=changes)


def _rounds(count: int, cores: int) -> int:
    """How many times a slow board can hold up the ones behind it."""
    at_once = ansible_settings.forks(count, cores)
    return -(-count // at_once)


class _Run:
    """One run of the play in a thread of its own; what boards answer is handed on as it comes."""

    def __init__(self, on_event: Callable[[str, str], None]) -> None:
        self._on_event = on_event
        self._told: queue.Queue[Answer | None] = queue.Queue()
        self._cancelled = False
        self._answered = 0
        self._ended: object = None
        self._fault: str | None = None

    def begin(self, **how: Any) -> None:
        """Start the play.

        Raises:
            UsageError: Ansible is not installed.
        """
        runner = ansible_runner()

        def play() -> None:
            try:
                self._ended = runner.run(
                    playbook="play.yml",
                    quiet=True,
                    suppress_env_files=True,
                    event_handler=self._take,
                    cancel_callback=lambda: self._cancelled,
                    **how,
                )
            except OSError as error:
                self._fault = str(error)
            finally:
                self._told.put(None)

        self._thread = Thread(target=play, daemon=True)
        self._thread.start()

    def results(self) -> Iterator[Answer]:
        """Until the play has ended; whoever stops listening cancels it."""
        try:
            while (item := self._told.get()) is not None:
                self._answered += 1
                yield item
        finally:
            self._cancelled = True
            self._thread.join()

    def must_have_run(self, place: Path) -> None:
        """Tell a broken Ansible from boards that did not answer: each board has its event.

        Raises:
            UsageError: it ended by itself before it asked any board.
        """
        status, how = getattr(self._ended, "rc", None), getattr(self._ended, "status", None)
        if self._answered or status == 0 or how in ("timeout", "canceled"):
            return
        if self._fault is not None:
            raise _broken([self._fault], place)
        said = [line for file in place.glob("artifacts/*/stdout") for line in _last_lines(file)]
        raise _broken(said or [f"exit status {status}"], place)

    def _take(self, event: Mapping[str, Any]) -> bool:
        kind, data = str(event.get("event")), event.get("event_data") or {}
        board = data.get("host")
        if board is not None:
            self._on_event(board, kind)
            if kind in TERMINAL:
                self._told.put((board, kind, data.get("res") or {}))
        return True  # or the runner does not keep the event


def _broken(why: list[str], place: Path) -> UsageError:
    return UsageError(
        "Ansible did not run on this machine; no board was asked",
        why,
        hint=f"see {place}/artifacts",
        code="ansible_failed",
    )


def _last_lines(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line[:200] for line in lines if line.strip()][-3:]


def ansible_runner() -> Any:
    """The library, imported where it is used: only fleets need it.

    Raises:
        UsageError: status 2; the extra is not installed.
    """
    try:
        import ansible_runner
    except ModuleNotFoundError:
        raise UsageError(
            "fleets need Ansible, which is not installed here",
            hint="pip install 'speccompose[fleet]'",
            code="no_ansible",
        ) from None
    return ansible_runner
