"""An installed stack is run without speculation for a while, and always put back."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from speccompose.device import state
from speccompose.device.accept_stack import Asked, accept_stack
from speccompose.device.answers import Server
from speccompose.device.command import Completed
from speccompose.device.docker_cli import Docker
from speccompose.device.errors import DeviceError
from speccompose.device.lock import hold
from speccompose.device.measured_stack import Prompts
from speccompose.device.ports import Ports
from speccompose.device.stack_folder import read_stack
from speccompose.device.transaction import deploy
from speccompose.vocab.acceptance_result import AcceptanceResult
from tests.device.fakes import FakeDocker, ok
from tests.docker.stacks import SPECULATING, free_port
from tests.stub_server import Script, StubServer

BASE = Script(model="tests/tiny-target", rates={1: 900.0, 8: 3600.0}, version="b11669-stub")
SPEC = Script(
    model="tests/tiny-target",
    rates={1: 300.0, 8: 1200.0},
    depth=3,
    accepted_length=2.2,
    version="b11669-stub",
)


class ServingDocker(FakeDocker):
    """Compose that reads override files, and whose containers answer on the stack's port."""

    port = 0
    stub = None
    broken_baseline = False
    broken_after_baseline = False

    def compose(self, words: tuple[str, ...]) -> Completed:
        if "up" not in words:
            return super().compose(words)
        files = [words[i + 1] for i, word in enumerate(words) if word == "--file"]
        body = json.loads(Path(files[0]).read_text())
        for extra in files[1:]:
            for name, service in json.loads(Path(extra).read_text())["services"].items():
                changes = {
                    key: [word.replace("$$", "$") for word in value]
                    for key, value in service.items()
                }
                body["services"][name].update(changes)
        project = words[words.index("--project-name") + 1]
        if self.broken_after_baseline and not self._speculates(project, default=True):
            body["services"]["server"]["command"] = ["--crash"]
        if self.broken_baseline and len(files) > 1:
            body["services"]["server"]["command"] = ["--crash"]
        before = self.containers.get(project, {}).get("Id")
        self.up(project, body, "--force-recreate" in words)
        if self.containers[project]["Id"] != before:
            self.serve(project)
        return ok(words, "")

    def _speculates(self, project: str, *, default: bool) -> bool:
        found = self.containers.get(project)
        return default if found is None else "-md" in found["Config"]["Cmd"]

    def serve(self, project: str) -> None:
        self.close()
        if self.containers[project]["State"]["Status"] == "running":
            script = SPEC if self._speculates(project, default=False) else BASE
            self.stub = StubServer(script, self.port).start()

    def close(self) -> None:
        if self.stub is not None:
            self.stub.stop()
            self.stub = None


@pytest.fixture
def serving(board):
    """A fake board whose stack is deployed and really answers."""
    board.stack = replace(board.stack, port=free_port())
    board.docker = ServingDocker(images=board.docker.images)
    board.docker.port = board.stack.port
    board.ports = Ports(
        Docker(board.docker),
        board.machine,
        lambda plan, key: Server(plan.engine, plan.local_host, plan.port, key),
    )
    yield board
    board.docker.close()


def rules(**changes):
    return {
        "concurrency": [1, 8],
        "min_repeats": 3,
        "max_repeats": 12,
        "output_tokens": 8,
        "gain_accept_pct": 30.0,
        "tpot_accept_pct": -20.0,
        "gain_reject_pct": 10.0,
        "no_regression_ratio": 0.97,
        "min_accepted_length": 1.05,
        "speculation_expected": True,
        **changes,
    }


def install(board, **changes):
    """Deploy the stack with its acceptance.json; its baseline has the same command, no draft."""
    folder = board.write()
    command = [word for word in board.stack.command if word not in SPECULATING]
    body = json.dumps({"baseline_command": [*command, "--price", "$5"], **rules(**changes)})
    (folder / "acceptance.json").write_text(body)
    with (folder / "SHA256SUMS").open("a") as sums:
        sums.write(f"{hashlib.sha256(body.encode()).hexdigest()}  acceptance.json\n")
    deploy(folder, board.roots, ports=board.ports)
    return read_stack(folder).plan


def accepted(board, **more):
    return accept_stack("tiny", board.roots, ports=board.ports, say=board.said.append, **more)


def commands(board):
    """Whether another command than the planned one was asked for, of every start."""
    return [call.count("--file") > 1 for call in ups(board)]


def ups(board):
    return [call for call in board.docker.calls if "up" in call]


def test_a_slower_stack_is_rejected_and_runs_again_as_planned(serving):
    plan = install(serving)
    first = serving.docker.containers["speccompose-tiny"]["Id"]
    release = {path: path.read_bytes() for path in serving.paths.current.resolve().iterdir()}
    result = accepted(serving, asked=Asked(quick=True))
    assert result.verdict.outcome == "rejected", result.verdict.reasons
    told = msgspec.convert(result.as_dict(), AcceptanceResult)
    assert (told.subject.stack, told.subject.plan) == ("tiny", plan.digest)
    assert told.commands["measure"] == "speccompose accept tiny --yes --quick"
    assert told.dataset.name == "builtin"
    assert commands(serving)[1:5] == [False, True, False, False]
    now = serving.docker.containers["speccompose-tiny"]
    assert now["Config"]["Cmd"] == list(plan.command)
    assert now["Id"] != first
    record = state.load(serving.paths)
    assert (record.phase, record.container) == (state.COMMITTED, now["Id"])
    assert {p: p.read_bytes() for p in release} == release
    (folder,) = (serving.paths.home / "accept").iterdir()
    assert json.loads((folder / "result.json").read_text())["outcome"] == "rejected"
    assert len((folder / "runs.jsonl").read_text().splitlines()) == len(result.runs)
    again = deploy(serving.paths.current.resolve(), serving.roots, ports=serving.ports)
    assert not again.changed


def test_the_baseline_runs_exactly_the_command_of_acceptance_json(serving):
    plan = install(serving)
    seen = []
    original = serving.docker.serve

    def serve(project):
        seen.append(serving.docker.containers[project]["Config"]["Cmd"])
        original(project)

    serving.docker.serve = serve
    accepted(serving, asked=Asked(quick=True))
    assert seen[0][-2:] == ["--price", "$5"]
    assert not set(SPECULATING) & set(seen[0])
    assert seen[1] == list(plan.command)


def test_a_baseline_that_does_not_start_is_invalid_and_the_stack_is_back(serving):
    plan = install(serving)
    serving.docker.broken_baseline = True
    result = accepted(serving, asked=Asked(quick=True))
    assert result.verdict.outcome == "invalid"
    assert "ended while starting" in result.verdict.reasons[0]
    now = serving.docker.containers["speccompose-tiny"]
    assert now["Config"]["Cmd"] == list(plan.command)


def test_a_stack_that_does_not_come_back_is_status_14(serving):
    install(serving)
    serving.docker.broken_after_baseline = True
    with pytest.raises(DeviceError) as caught:
        accepted(serving, asked=Asked(quick=True))
    assert caught.value.status == 14
    assert state.load(serving.paths).phase == state.STUCK


def test_a_stack_without_speculation_has_nothing_to_accept(serving):
    install(serving, speculation_expected=False)
    with pytest.raises(DeviceError) as caught:
        accepted(serving)
    assert (caught.value.status, caught.value.code) == (2, "nothing_to_accept")
    assert len(ups(serving)) == 1


def test_a_stopped_stack_is_left_stopped(serving):
    install(serving)
    serving.docker.containers["speccompose-tiny"]["State"]["Status"] = "exited"
    with pytest.raises(DeviceError) as caught:
        accepted(serving)
    assert (caught.value.status, caught.value.code) == (9, "not_running")
    assert len(ups(serving)) == 1


def test_one_operation_at_a_time(serving):
    install(serving)
    with hold(serving.paths, "deploy"), pytest.raises(DeviceError) as caught:
        accepted(serving)
    assert caught.value.status == 12


def test_rules_that_cannot_be_read_are_an_error(serving):
    install(serving, min_repeats=0)
    with pytest.raises(DeviceError) as caught:
        accepted(serving)
    assert (caught.value.status, caught.value.code) == (3, "bad_acceptance")


def test_an_unknown_stack(board):
    with pytest.raises(DeviceError) as caught:
        accepted(board)
    assert caught.value.status == 2


def test_a_stack_that_carries_no_rules(board):
    deploy(board.write(), board.roots, ports=board.ports)
    with pytest.raises(DeviceError) as caught:
        accepted(board)
    assert (caught.value.status, caught.value.code) == (3, "incomplete_stack")


def prompts(tmp_path, *texts):
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in texts))
    return file


def test_prompts_of_ones_own(serving, tmp_path):
    install(serving)
    file = prompts(tmp_path, *(f"question {n}" for n in range(12)))
    asked = Asked(quick=True, prompts=Prompts(file, None, 2))
    told = msgspec.convert(accepted(serving, asked=asked).as_dict(), AcceptanceResult)
    assert (told.dataset.name, told.dataset.conversations) == ("mine.jsonl", 12)
    assert {run.requests for run in told.runs if run.concurrency == 1} == {2}
    assert told.commands["measure"].endswith(f"--quick --dataset {file} --requests 2")


def test_prompts_that_do_not_fit_are_told_before_the_stack_is_interrupted(serving, tmp_path):
    """The planned context is 512 tokens."""
    install(serving)
    before = serving.docker.containers["speccompose-tiny"]["Id"]
    file = prompts(tmp_path, "short", "word " * 2000)
    with pytest.raises(DeviceError) as caught:
        accepted(serving, asked=Asked(prompts=Prompts(file)))
    assert (caught.value.status, caught.value.code) == (2, "prompts_too_long")
    assert serving.docker.containers["speccompose-tiny"]["Id"] == before
    assert not (serving.paths.home / "accept").exists()


@pytest.mark.parametrize(
    ("asked", "status"),
    [(Prompts(Path("/nonexistent.jsonl")), 3), (Prompts(category="poetry"), 2)],
)
def test_prompts_that_cannot_be_had(serving, asked, status):
    install(serving)
    with pytest.raises(DeviceError) as caught:
        accepted(serving, asked=Asked(prompts=asked))
    assert caught.value.status == status
