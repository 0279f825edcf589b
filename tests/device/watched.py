"""A serving stack with a server whose every answer a test decides, for the watch."""

from dataclasses import dataclass, field

from speccompose.device import state
from speccompose.device.answers import Completion, Reply, Server
from speccompose.device.compose_cli import Compose
from speccompose.device.paths import StackPaths
from speccompose.device.watch import Pass, watch
from tests.device.conftest import FakeBoard
from tests.device.serviced import Serviced, serviced

SKY = "the sky is blue because air scatters short waves more than long ones, and at dusk"


class Engine(Server):
    """Says what it is told to say; ``asked`` counts requests for tokens."""

    def __init__(self) -> None:
        super().__init__("llama.cpp", "127.0.0.1", 1)
        self.status = 200
        self.token = Reply(200, "")
        self.requests = 0.0
        self.steps: float | None = 10.0
        self.drafted = (0.0, 0.0, 0.0)
        self.says = SKY
        self.asked = 0

    def health(self, path: str) -> Reply:
        return Reply(self.status, "")

    def metrics(self, timeout_s: float = 5.0) -> str | None:
        if self.steps is None:
            return None
        drafts, tokens, accepted = self.drafted
        return (
            f"llamacpp:requests_processing {self.requests}\n"
            f"llamacpp:n_decode_total {self.steps}\n"
            f"llamacpp:tokens_predicted_total {self.steps}\n"
            f"llamacpp:spec_decode_num_drafts_total {drafts}\n"
            f"llamacpp:spec_decode_num_draft_tokens_total {tokens}\n"
            f"llamacpp:spec_decode_num_accepted_tokens_total {accepted}\n"
        )

    def first_token(self, model: str, timeout_s: float) -> Reply:
        self.asked += 1
        return self.token

    def complete_prompt(
        self, model: str, prompt: str, max_tokens: int, timeout_s: float
    ) -> Completion:
        return Completion(self.says, max_tokens, None, 0.5)


@dataclass
class WatchedBoard:
    """One deployed stack; ``look`` is one pass, a minute after the last."""

    here: Serviced
    engine: Engine
    said: list[str] = field(default_factory=list)

    @property
    def board(self) -> FakeBoard:
        return self.here.board

    @property
    def paths(self) -> StackPaths:
        return self.board.paths

    @property
    def container(self) -> dict:
        return self.board.docker.containers["speccompose-tiny"]

    def look(self, count: int = 1) -> Pass:
        for _ in range(count):
            self.board.machine.clock_s += 60.0
            done = watch(
                "tiny",
                self.board.roots,
                ports=self.board.ports,
                say=lambda progress: self.said.append(progress.message),
            )
        return done

    def deadlock(self) -> None:
        """/health says 200, two requests run, nothing advances."""
        self.engine.requests, self.engine.token = 2.0, Reply(0, "timed out")

    def phase(self) -> str:
        return state.load(self.paths).phase

    def ups(self) -> int:
        return sum("up" in words for words in self.board.docker.calls)


def watched(board: FakeBoard) -> WatchedBoard:
    """A stack that is committed and runs, with systemd."""
    here, engine = serviced(board), Engine()
    digest = here.committed()
    board.ports = board.ports._replace(connect=lambda plan, key: engine)
    Compose(board.ports.docker, "speccompose-tiny", board.paths.release(digest)).up()
    here.systemd.folder.mkdir(exist_ok=True)
    (here.systemd.folder / "speccompose@tiny.service").write_text("[Service]\n")
    here.systemd.active.add("speccompose@tiny.service")
    here.systemd.enabled.add("speccompose@tiny.service")
    return WatchedBoard(here, engine)
