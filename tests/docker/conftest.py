"""A board for each test: its own state tree, stack names that nobody else has, and a clean end."""

import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from speccompose.device import operate, pull, transaction
from speccompose.device.answers import Completion, Server
from speccompose.device.hub import Hub
from speccompose.device.paths import Roots
from speccompose.device.plan_file import Download
from speccompose.device.ports import Ports, Progress, real_ports
from tests.docker.stacks import IMAGE, StackText, free_port, write_stack
from tests.docker.tiny_gguf import write_tiny_model


@dataclass
class Board:
    """This machine as one test sees it."""

    roots: Roots
    ports: Ports
    stack: StackText
    scratch: Path
    said: list[Progress]

    def write(self, **changes: object) -> Path:
        """A rendered folder of this board's stack, with changes."""
        folder = self.scratch / f"stack-{uuid.uuid4().hex[:6]}"
        return write_stack(folder, replace(self.stack, **changes))

    def deploy(self, folder: Path) -> transaction.DeployResult:
        return transaction.deploy(folder, self.roots, ports=self.ports, say=self.said.append)

    def ask(self) -> Completion:
        """One real answer from whatever serves on the stack's port."""
        server = Server("llama.cpp", "127.0.0.1", self.stack.port)
        return server.complete("tests/tiny-target", 8, 10.0)

    def status(self) -> operate.Status:
        return operate.status(self.stack.name, self.roots, ports=self.ports)

    def containers(self) -> list[str]:
        """All containers of the stack, running or not."""
        label = f"label=io.speccompose.stack={self.stack.name}"
        return docker("ps", "--all", "--quiet", "--filter", label).split()


def docker(*arguments: str) -> str:
    """Run docker; a failure fails the test."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="session", autouse=True)
def cpu_image(data_root: Path) -> str:
    """The real llama-server, built when it is missing."""
    subprocess.run([data_root / "images/llamacpp-cpu/build"], check=True)
    return IMAGE


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tiny")
    found = {"target": folder / "target.gguf", "draft": folder / "draft.gguf"}
    write_tiny_model(found["target"], layers=2, seed=1)
    write_tiny_model(found["draft"], layers=1, seed=2)
    return found


@pytest.fixture
def provide(tiny_models: dict[str, Path]) -> Callable[[Download, Path], None]:
    """Writes a bundled download, as the pipeline does for its demo model."""

    def write(download: Download, folder: Path) -> None:
        data = tiny_models[download.role].read_bytes()
        (folder / str(download.file)).write_bytes(data)

    return write


@pytest.fixture
def board(tmp_path: Path, provide: Callable[[Download, Path], None]) -> Iterator[Board]:
    """A board with its weights pulled; whatever runs on it at the end is removed."""
    roots = Roots(tmp_path / "state", tmp_path / "secrets")
    name = f"t-{uuid.uuid4().hex[:8]}"
    stack = StackText(name=name, port=free_port(), models=roots.models, secrets=roots.secrets)
    made = Board(roots, real_ports(), stack, tmp_path, [])
    sources = pull.Sources(Hub("http://127.0.0.1:9"), provide_bundled=provide)
    pull.pull_stack(made.write(), roots, ports=made.ports, sources=sources)
    yield made
    for container in made.containers():
        docker("rm", "--force", container)
    network = f"speccompose-{name}_default"
    if network in docker("network", "ls", "--format", "{{.Name}}").split():
        docker("network", "rm", network)
