"""A generic machine with fake Docker on which real plans are deployed, weights in place."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from speccompose import serving
from speccompose.catalog.yaml_file import parse_plain
from speccompose.device.command import Completed
from speccompose.device.ports import Progress
from speccompose.device.transaction import DeployResult
from speccompose.device.weights import Marker, StoredFile, write_marker
from speccompose.pipeline import plan_stack
from speccompose.plan.reread import undouble
from speccompose.settings import Settings
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import RawFacts
from speccompose.vocab.request import StackRequest
from tests.device.fakes import FakeDocker, FakeMachine, fake_ports

ROOT = Path(__file__).resolve().parent.parent
MACHINE = os.uname().machine
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[MACHINE]


@dataclass
class YamlDocker(FakeDocker):
    """Reads the Compose files that we render, as Compose does."""

    def compose(self, words: Sequence[str]) -> Completed:
        if "up" not in words:
            return super().compose(tuple(words))
        text = Path(words[words.index("--file") + 1]).read_text()
        service = parse_plain(text)["services"]["server"]
        for key in ("entrypoint", "command"):
            service[key] = [undouble(item) for item in service[key]]
        project = words[words.index("--project-name") + 1]
        self.up(project, {"services": {"server": service}}, "--force-recreate" in words)
        self.after_up()
        return Completed(tuple(words), 0, "", "")


@dataclass
class ServingBoard:
    """This machine as the serving verbs see it."""

    here: serving.Here
    docker: YamlDocker
    machine: FakeMachine
    said: list[Progress]

    def board(self, available_mib: int = 16_000) -> BoardSource:
        """Facts with this much memory left."""
        memory = (
            f"MemTotal: 24000000 kB\nMemFree: 999 kB\nMemAvailable: {available_mib * 1024} kB\n"
        )
        facts = RawFacts(
            origin="a test",
            files={"/proc/meminfo": memory},
            commands={"uname -m": f"{MACHINE}\n"},
        )
        return BoardSource(facts=facts)

    def request(self, **options: object) -> StackRequest:
        return StackRequest(
            **{
                "model": "smollm2-135m",
                "state_root": self.here.settings.state_root,
                "secrets_root": self.here.settings.secrets_root,
                **options,
            }
        )

    def deploy(self, available_mib: int = 16_000, **options: object) -> DeployResult:
        return serving.deploy_request(self.request(**options), self.board(available_mib), self.here)

    @property
    def state(self) -> Path:
        return Path(self.here.settings.state_root)


@pytest.fixture
def serving_board(tmp_path: Path, catalog: Catalog, data_root: Path) -> ServingBoard:
    return made_board(tmp_path, catalog, data_root)


def made_board(tmp_path: Path, catalog: Catalog, data_root: Path) -> ServingBoard:
    """The machine, with its state below a folder; what is there already stays."""
    settings = Settings(
        data_root=str(data_root),
        overlays=(),
        cache_dir=None,
        state_root=str(tmp_path / "state"),
        secrets_root=str(tmp_path / "secrets"),
    )
    docker, said = YamlDocker(), []
    machine = FakeMachine(arch=MACHINE)
    here = serving.Here(
        settings=settings, catalog=catalog, ports=fake_ports(docker, machine), say=said.append
    )
    made = ServingBoard(here, docker, machine, said)
    plan = plan_stack(made.request(), made.board(), catalog)
    docker.images[plan.image_reference] = ARCHITECTURE
    store(made, plan.choice.checkpoint.repo, str(plan.choice.checkpoint.file))
    store(made, str(plan.speculation.draft_repo), str(plan.speculation.draft_file))
    return made


def store(board: ServingBoard, repo: str, file: str) -> None:
    """A complete download of one small file."""
    folder = board.state / "models" / repo.replace("/", "--")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(b"GGUF")
    write_marker(folder, Marker(repo, "main", False, {file: StoredFile(4, None)}))


def with_memory(board: BoardSource, available_mib: int) -> BoardSource:
    """The same recorded board with another MemAvailable."""
    total = next(
        line for line in board.facts.files["/proc/meminfo"].splitlines() if "MemTotal" in line
    )
    text = f"{total}\nMemFree: 999 kB\nMemAvailable: {available_mib * 1024} kB\n"
    facts = msgspec.structs.replace(board.facts, files={**board.facts.files, "/proc/meminfo": text})
    return msgspec.structs.replace(board, facts=facts)
