"""An installed stack becomes one that may be measured: locked, settled, with its rules read.

Layer: device (standard library, Python 3.8). What `accept` and `tune` have in common before the
first run.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from speccompose.device import state
from speccompose.device.acceptance_file import Acceptance, parse_acceptance
from speccompose.device.dataset import Dataset, builtin, load_dataset, select
from speccompose.device.errors import DATA, USAGE, DeviceError
from speccompose.device.interrupts import signals_interrupt
from speccompose.device.lock import hold
from speccompose.device.paths import Roots, StackPaths, find_stack
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Say
from speccompose.device.recover import settle
from speccompose.device.small_file import read_small_text
from speccompose.device.stack_folder import StackFolder, read_stack
from speccompose.device.subject import Subject, read_subject
from speccompose.device.window import Pace, full_pace, quick_pace


class Prompts(NamedTuple):
    """Which prompts the user wants; nothing given means the built-in ones.

    ``output_tokens``: the longest answer, for a runner that takes one; the rules say it without.
    """

    file: Optional[Path] = None
    category: Optional[str] = None
    requests: Optional[int] = None
    output_tokens: Optional[int] = None

    def read(self) -> Dataset:
        """The dataset, of one category where one is named.

        Raises:
            DeviceError: 3 for a file that cannot be read, 2 for an unknown category.
        """
        if self.file is None:
            return select(builtin(), category=self.category, requests=None)
        return load_dataset(self.file, category=self.category, requests=None)

    def pace(self, output_tokens: int, quick: bool) -> Pace:
        """How much is asked: so many requests per run where the user says how many."""
        pace = quick_pace(output_tokens) if quick else full_pace(output_tokens)
        tokens = self.output_tokens or pace.output_tokens
        return pace._replace(exactly=self.requests, output_tokens=tokens)

    def words(self) -> str:
        """The same as options, with a blank before each."""
        given = (
            ("dataset", self.file),
            ("category", self.category),
            ("requests", self.requests),
            ("osl", self.output_tokens),
        )
        return "".join(f" --{name} {value}" for name, value in given if value is not None)

    def as_dict(self, dataset: Dataset) -> "dict[str, object]":
        """The form that results keep."""
        return {
            "name": dataset.name,
            "sha256": dataset.sha256,
            "conversations": len(dataset.conversations),
            "category": self.category,
            "requests": self.requests,
            "output_tokens": self.output_tokens,
        }


class OpenStack(NamedTuple):
    """A stack whose lock we hold."""

    paths: StackPaths
    folder: StackFolder
    acceptance: Acceptance
    subject: Subject

    @property
    def plan(self) -> Plan:
        """What the release was planned as."""
        return self.folder.plan

    @property
    def sequences(self) -> Optional[int]:
        """How many requests the engine runs at once, as the plan says."""
        value = self.subject.body["sequences"]
        return value if isinstance(value, int) else None

    @property
    def context_tokens(self) -> Optional[int]:
        """Prompt plus output of one request, as the plan says."""
        value = self.subject.body["context_tokens"]
        return value if isinstance(value, int) else None


@contextmanager
def open_stack(
    name: str, roots: Roots, verb: str, *, ports: Ports, say: Say
) -> Iterator[OpenStack]:
    """Hold an installed stack that speculates for the block; a transaction left open is finished.

    Raises:
        DeviceError: 2 for an unknown stack or one that does not speculate, 3 without rules, 12
            when it is being changed.
    """
    paths = find_stack(name, roots)
    with signals_interrupt(), hold(paths, verb):
        settle(paths, ports=ports, say=say, wait=True)
        folder = _current(paths)
        if folder.plan.is_native:
            raise DeviceError(
                USAGE,
                f"{name} is served without a container, and {verb} cannot restart it another way",
                [f"served by {folder.plan.image}"],
                hint="measure it in a container: deploy it without --runtime native",
                code="native_not_measured",
            )
        acceptance = _acceptance(folder, verb)
        text = read_small_text(folder.path / "plan.json")
        subject = read_subject(text, folder.plan, acceptance.baseline_command)
        yield OpenStack(paths, folder, acceptance, subject)


def _current(paths: StackPaths) -> StackFolder:
    digest = state.linked_digest(paths.current)
    if digest is None:
        raise DeviceError(USAGE, f"{paths.name} has no current release", code="nothing_installed")
    return read_stack(paths.release(digest))


def _acceptance(folder: StackFolder, verb: str) -> Acceptance:
    path = folder.path / "acceptance.json"
    try:
        text = read_small_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise DeviceError(
            DATA,
            f"{folder.plan.name} carries no acceptance rules",
            [f"{path}: {error}"],
            hint="render the stack again",
            code="incomplete_stack",
        ) from None
    acceptance = parse_acceptance(text, str(path))
    if not acceptance.speculation_expected:
        raise DeviceError(
            USAGE,
            f"{folder.plan.name} does not speculate, so there is nothing to {verb}",
            [f"method: {folder.plan.method}"],
            hint="plan it with a speculation method first",
            code="nothing_to_accept",
        )
    return acceptance
