"""A machine whose stacks answer: every container is a scripted server, by the depth it drafts at.

What the servers do at each depth is a recorded curve; nothing else of a search is made up.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from speccompose.catalog.yaml_file import parse_plain
from speccompose.device.answers import Server
from speccompose.device.command import Completed
from speccompose.device.docker_cli import Docker
from speccompose.device.window import Pace
from speccompose.plan.reread import undouble
from tests.serving_board import ServingBoard, YamlDocker
from tests.stub_server import Script, StubServer

DEPTH_FLAG = "--spec-draft-n-max"
SPEEDS = {
    0: 900.0,
    1: 1200.0,
    2: 2000.0,
    3: 1300.0,
    4: 1000.0,
    5: 800.0,
    6: 700.0,
    7: 600.0,
    8: 500.0,
}
VIRTUAL = Pace(
    prompts=4, prompts_per_client=2, output_tokens=96, check_prompts=4, check_tokens=24, stall_s=5
)
"""What is asked where the load is played in virtual time."""
POSITIONS = (0.95, 0.9, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05)


@dataclasses.dataclass
class AnsweringDocker(YamlDocker):
    """Compose that reads override files, and whose containers answer on the stack's port."""

    scripts: Callable[[int], Script] = lambda depth: script_at(depth)
    starts: list[int] = dataclasses.field(default_factory=list)
    broken: set[int] = dataclasses.field(default_factory=set)
    stub: StubServer | None = None

    def compose(self, words: Sequence[str]) -> Completed:
        if "down" in words or "stop" in words:
            self.close()
        if "up" not in words:
            return super().compose(words)
        files = [Path(words[i + 1]) for i, word in enumerate(words) if word == "--file"]
        service = parse_plain(files[0].read_text())["services"]["server"]
        for key in ("entrypoint", "command"):
            service[key] = [undouble(item) for item in service[key]]
        for extra in files[1:]:
            command = json.loads(extra.read_text())["services"]["server"]["command"]
            service["command"] = [word.replace("$$", "$") for word in command]
        depth = depth_of(service["command"])
        if depth in self.broken:
            service["command"] = [*service["command"], "--crash"]
        project = words[words.index("--project-name") + 1]
        before = self.containers.get(project, {}).get("Id")
        self.up(project, {"services": {"server": service}}, "--force-recreate" in words)
        if self.containers[project]["Id"] != before:
            self.serve(depth, service["command"])
        self.after_up()
        return Completed(tuple(words), 0, "", "")

    def serve(self, depth: int, command: Sequence[str]) -> None:
        self.close()
        self.starts.append(depth)
        if depth not in self.broken:
            port = int(command[command.index("--port") + 1])
            self.stub = StubServer(self.scripts(depth), port).start()

    def close(self) -> None:
        if self.stub is not None:
            self.stub.stop()
            self.stub = None


def depth_of(command: Sequence[str]) -> int:
    """The depth that an argument list drafts at; 0 without speculation."""
    words = list(command)
    return int(words[words.index(DEPTH_FLAG) + 1]) if DEPTH_FLAG in words else 0


def script_at(depth: int, **more: object) -> Script:
    """A server of the recorded curve."""
    speed = SPEEDS[depth]
    return Script(
        **{
            "rates": {1: speed, 8: speed * 4},
            "depth": depth,
            "positions": POSITIONS[:depth],
            "version": "b11669-stub",
            **more,
        }
    )


def answering(
    made: ServingBoard, kind: Callable[..., AnsweringDocker] = AnsweringDocker
) -> ServingBoard:
    """The same machine, whose containers answer."""
    docker = kind(images=made.docker.images)
    ports = made.here.ports._replace(
        docker=Docker(docker),
        connect=lambda plan, key: Server(plan.engine, plan.local_host, plan.port, key),
    )
    made.docker = docker
    made.here = msgspec.structs.replace(made.here, ports=ports)
    return made
