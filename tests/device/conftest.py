"""A fake board with its stack folders, for the on-board layer's tests."""

import uuid
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from speccompose.device.paths import Roots, StackPaths
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Progress
from speccompose.device.stack_folder import read_stack
from speccompose.device.weights import Marker, StoredFile, write_marker
from tests.device.fakes import FakeDocker, FakeMachine, fake_ports
from tests.docker.stacks import DRAFT, IMAGE, TARGET, StackText, write_stack


@dataclass
class FakeBoard:
    """State tree, Docker and machine of one test."""

    roots: Roots
    docker: FakeDocker
    machine: FakeMachine
    ports: Ports
    stack: StackText
    scratch: Path
    said: list[Progress]

    @property
    def paths(self) -> StackPaths:
        return StackPaths(self.stack.name, self.roots)

    @property
    def left(self) -> list[str]:
        """What lies in the stack's folder."""
        return sorted(path.name for path in self.paths.home.iterdir())

    def write(self, **changes: object) -> Path:
        """A rendered folder of this board's stack, with changes."""
        folder = self.scratch / f"stack-{uuid.uuid4().hex[:6]}"
        return write_stack(folder, replace(self.stack, **changes))

    def plan(self, **changes: object) -> Plan:
        """The plan of such a folder."""
        return read_stack(self.write(**changes)).plan


@pytest.fixture
def board(tmp_path: Path) -> FakeBoard:
    """Image and weights are there; nothing is deployed."""
    return make_board(tmp_path)


def make_board(place: Path) -> FakeBoard:
    """The same in any folder."""
    roots = Roots(place / "state", place / "secrets")
    docker = FakeDocker(images={IMAGE: "arm64"})
    machine = FakeMachine()
    stack = StackText(name="tiny", port=8099, models=roots.models, secrets=roots.secrets)
    for directory in (TARGET, DRAFT):
        folder = roots.models / directory
        folder.mkdir(parents=True)
        (folder / "model.gguf").write_bytes(b"GGUF")
        files = {"model.gguf": StoredFile(4, None)}
        write_marker(folder, Marker(directory.replace("--", "/"), "main", False, files))
    return FakeBoard(roots, docker, machine, fake_ports(docker, machine), stack, place, [])
