"""Secrets planted wherever a user can put them are in nothing that we write, print or pass on.

Rules section 5, field case X-01. Everything that a verb prints, writes, says, stores, or hands to
docker is collected and searched; only the stack's own secrets folder may hold the API key.
"""

import base64
import contextlib
import json
import os
from pathlib import Path

import pytest

from speccompose.device import operate
from speccompose.device.accept import Trial, accept
from speccompose.device.answers import Server
from speccompose.device.artifacts import Artifacts
from speccompose.device.command import Completed
from speccompose.device.doctor import Asked, examine, explain_stack
from speccompose.device.errors import DeviceError
from speccompose.device.paths import Roots
from speccompose.errors import SpecComposeError
from tests.cli.conftest import cli
from tests.device.endpoints import endpoint_of
from tests.device.test_accept import QUIET, RULES, SHORT, StubArms, speculating
from tests.serving_board import ServingBoard, serving_board
from tests.stub_server import StubServer

__all__ = ["cli", "serving_board"]

API_KEY = "sp3c-api-key-5e6d7c8b9a"
HUB_TOKEN = "hf_plantedTOKEN0123456789"
PASSWORD = "r3gistry-pa55"
LOGIN = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
PROXY_PASSWORD = "pr0xy-pa55w0rd"
MIRROR_PASSWORD = "m1rr0r-pa55"
SERVICE_TOKEN = "nvapi-plantedServiceToken_01234"
SECRETS = (
    *(API_KEY, HUB_TOKEN, PASSWORD, LOGIN),
    *(PROXY_PASSWORD, MIRROR_PASSWORD, SERVICE_TOKEN),
)
PROXY = f"http://user:{PROXY_PASSWORD}@proxy.example:3128"
MIRROR = f"http://user:{MIRROR_PASSWORD}@127.0.0.1:9/hub"
NAME = "smollm2-135m"
NOISE = (
    f"Authorization: Bearer {API_KEY}",
    f"HF_TOKEN={HUB_TOKEN}",
    f"NGC_API_KEY={SERVICE_TOKEN}",
    f'{{"auths": {{"registry.example": {{"auth": "{LOGIN}"}}}}}}',
    f"proxyconnect tcp: {PROXY}: connection refused",
    f"GET {MIRROR}/api/models failed",
    f"REGISTRY_PASSWORD={PASSWORD}",
    f"serve --api-key {API_KEY}",
    f"the key was {API_KEY}, said in the middle of a line",
)
"""What engines, docker and tutorials write into logs and errors."""


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def assert_clean(what: str, text: str) -> None:
    assert leaks(text) == [], f"{what} shows a secret:\n{text[:2000]}"


def assert_tree_clean(folder: Path, *, but: tuple[Path, ...] = ()) -> int:
    """Every file below a folder, its name included; returns how many there were."""
    count = 0
    for path in sorted(folder.rglob("*")):
        if path in but or any(one in path.parents for one in but):
            continue
        assert_clean("a file name", str(path.relative_to(folder)))
        if path.is_file() and not path.is_symlink():
            assert_clean(str(path), path.read_bytes().decode("utf-8", "replace"))
            count += 1
    return count


@pytest.fixture
def planted(cli, tmp_path, monkeypatch):
    """A user's home, environment and docker with a secret in every place that there is."""
    home = tmp_path / "home"
    (home / ".docker").mkdir(parents=True)
    (home / ".docker" / "config.json").write_text(
        json.dumps(
            {
                "auths": {"registry.example": {"auth": LOGIN}},
                "proxies": {"default": {"httpProxy": PROXY, "httpsProxy": PROXY}},
            }
        )
    )
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "key").write_text(API_KEY + "\n")
    (folder / "token").write_text(HUB_TOKEN + "\n")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, PROXY)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.setenv(name, HUB_TOKEN)
    for name in ("VLLM_API_KEY", "LLAMA_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, API_KEY)
    monkeypatch.setenv("NGC_API_KEY", SERVICE_TOKEN)
    monkeypatch.setenv("DOCKER_AUTH_CONFIG", json.dumps({"auths": {"r": {"auth": LOGIN}}}))
    monkeypatch.setenv("SPECCOMPOSE_HUB", MIRROR)
    monkeypatch.setenv("SPECCOMPOSE_HUB_TOKEN_FILE", str(folder / "token"))
    programs = Path(cli.programs("uname", "sh", "cat"))
    info = {
        "ServerVersion": "27.5.1",
        "Runtimes": {"runc": {}, "nvidia": {}},
        "Driver": "overlay2",
        "DockerRootDir": "/",
        "Architecture": "x86_64",
        "KernelVersion": "6.1",
        "HttpProxy": PROXY,
        "HttpsProxy": PROXY,
        "RegistryConfig": {"Mirrors": [MIRROR]},
        "Labels": [f"token={HUB_TOKEN}"],
        "Warnings": list(NOISE[:-1]),
    }
    (tmp_path / "info.json").write_text(json.dumps(info))
    (tmp_path / "noise").write_text("\n".join(NOISE) + "\n")
    docker = programs / "docker"
    docker.write_text(
        "#!/bin/sh\n"
        f"case \"$1 $2\" in\n'info '*) cat {tmp_path}/info.json;;\n"
        "'compose version') echo 2.40.0;;\n"
        f"*) cat {tmp_path}/noise >&2; exit 1;;\nesac\n"
    )
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    return folder


def test_no_verb_prints_or_writes_a_secret(cli, planted):
    """Good runs, refusals and failures of every verb that a user has."""
    key = ("--api-key-file", str(planted / "key"))
    model = ("--model", NAME, *key, "--bind", "0.0.0.0")
    on_thor = ("--device", "agx-thor-t5000", "--model", "qwen3-8b", *key, "--bind", "0.0.0.0")
    stack = str(cli.here / "out")
    (cli.here / "log.txt").write_text("\n".join(NOISE))
    (cli.here / "compose.yaml").write_text(
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.27.1\n"
        f"    command: --model x --api-key {API_KEY}\n"
        f"    environment:\n      HF_TOKEN: {HUB_TOKEN}\n      HTTP_PROXY: {PROXY}\n"
    )
    inputs = (cli.here / "log.txt", cli.here / "compose.yaml")
    ran = {}
    for words in (
        ("detect",),
        ("detect", "--json"),
        ("detect", "--save", "board.yaml"),
        ("plan", *model, "--explain"),
        ("plan", *model, "--json"),
        ("plan", *model, "--set", f"--api-key={API_KEY}"),
        ("plan", *model, "--set", f"--hf-token={HUB_TOKEN}", "--json"),
        ("plan", *model, "--image", f"user:{PASSWORD}@registry.example/vllm:1"),
        ("render", *model, "-o", stack),
        ("render", *on_thor, "-o", str(cli.here / "thor")),
        ("catalog", "list"),
        ("doctor",),
        ("doctor", "--json"),
        ("doctor", "--online", "--json"),
        ("doctor", stack, "--json"),
        ("doctor", "--log", "log.txt"),
        ("doctor", "--log", "log.txt", "--json"),
        ("lint", "compose.yaml"),
        ("lint", "compose.yaml", "--json"),
        ("pull", stack),
        ("deploy", stack, "--dry-run"),
        ("deploy", stack, "--dry-run", "--json"),
        ("deploy", *model, "--dry-run", "--json"),
        ("deploy", stack),
        ("deploy", stack, "--offline"),
        ("status",),
        ("status", "--json"),
        ("verify", NAME),
        ("logs", NAME),
        ("lock", stack),
    ):
        answer = cli(*words)
        assert answer.status != 1, (words, answer.err)
        ran[words[0]] = ran.get(words[0], 0) + 1
        assert_clean(" ".join(words[:2]), answer.out + answer.err)
    assert ran["plan"] == 5
    for folder in ("out", "thor"):
        assert (cli.here / folder / "plan.json").is_file()
    assert (cli.here / "board.yaml").is_file()
    assert assert_tree_clean(cli.here, but=inputs) > 8


def test_a_key_that_is_planned_is_a_file_name_and_nothing_else(cli, planted):
    answer = cli("plan", "--model", NAME, "--api-key-file", str(planted / "key"), "--json")
    assert answer.status == 0
    assert str(planted / "key") in answer.out
    assert "/secrets/" in " ".join(answer.json["command"])


def everything_said(board: ServingBoard) -> str:
    return "\n".join(line.message for line in board.said)


def handed_to_docker(board: ServingBoard) -> str:
    """Argument lists, and what `docker inspect` shows of what we made."""
    made = [(body["Config"], body["HostConfig"]) for body in board.docker.containers.values()]
    return repr(board.docker.calls) + json.dumps(made)


def told(error: Exception) -> str:
    parts = [str(error), *getattr(error, "details", ()), str(getattr(error, "hint", ""))]
    return "\n".join(parts)


def test_a_deployed_key_lies_in_its_own_file_alone(serving_board, tmp_path):
    """Good deploy, status, logs, verify, doctor, a failed second deploy, remove."""
    key = tmp_path / "key"
    key.write_text(API_KEY + "\n")
    board = serving_board
    board.docker.log = "\n".join(NOISE)
    ports, place = board.here.ports, Roots(board.state, tmp_path / "secrets")
    done = board.deploy(api_key_file=str(key), bind="0.0.0.0")
    found = [json.dumps(done.as_dict())]
    status = operate.status(NAME, place, ports=ports)
    found += [json.dumps(status.as_dict()), operate.logs(NAME, place, ports=ports)]
    found += [repr(explain_stack(NAME, place, ports=ports))]
    found += [repr(examine(ports, place, Asked(sources=())))]
    with contextlib.suppress(DeviceError):
        found.append(repr(operate.verify(NAME, place, ports=ports)))
    board.docker.after_up = lambda: crash(board)
    with pytest.raises(SpecComposeError) as failed:
        board.deploy(api_key_file=str(key), bind="0.0.0.0", context_tokens=1024)
    found.append(told(failed.value))
    assert "***" in found[-1], "the log's last lines are told, without what they show"
    for text in (*found, everything_said(board), handed_to_docker(board)):
        assert_clean("an operation", text)
    assert assert_tree_clean(board.state) > 5
    holders = [p for p in (tmp_path / "secrets").rglob("*") if p.is_file() and leaks(p.read_text())]
    assert [path.parent.name for path in holders] == [NAME]
    assert all(path.stat().st_mode & 0o077 == 0 for path in holders)


def crash(board: ServingBoard) -> None:
    for body in board.docker.containers.values():
        body["State"]["Status"] = "exited"
        body["State"]["ExitCode"] = 1
        body["State"]["Error"] = f"cannot pull through {PROXY}"


def test_what_compose_and_a_smoke_test_say_is_told_without_secrets(serving_board):
    board = serving_board
    noise = "\n".join((*NOISE, "unknown or invalid runtime name: nvidia"))
    compose = board.docker.compose

    def failing(words):
        return Completed(tuple(words), 1, "", noise) if "up" in words else compose(words)

    board.docker.compose = failing
    with pytest.raises(SpecComposeError) as failed:
        board.deploy()
    # A key given on a line by itself cannot be known by its form; it is never in a log of ours.
    text = told(failed.value).replace(NOISE[-1], "")
    assert_clean("a failed compose", text)
    assert "gpu_runtime_missing" in text


def test_what_acceptance_keeps(tmp_path):
    """runs.jsonl, report and texts of a measurement against a server with a key."""

    class KeyedArms(StubArms):
        def start(self, arm):
            served = super().start(arm)
            server = Server(served.server.engine, "127.0.0.1", served.endpoint.port, API_KEY)
            return served._replace(server=server)

    baseline = speculating(1, 1)
    arms = KeyedArms(baseline, speculating(1.9, 1.1))
    done = accept(
        Trial(rules=RULES, pace=SHORT, dataset=_few(), mark="test"),
        arms,
        artifacts=Artifacts(tmp_path),
        conditions=lambda: QUIET,
    )
    assert_clean("an acceptance", json.dumps(done.as_dict(), default=str))
    assert assert_tree_clean(tmp_path) >= 1


def _few():
    from speccompose.device.dataset import builtin

    return builtin()


def test_the_stub_would_show_a_leak():
    """The search itself works: each secret is found where it stands."""
    for line in NOISE:
        assert leaks(line), line
    assert sorted({secret for line in NOISE for secret in leaks(line)}) == sorted(
        {API_KEY, HUB_TOKEN, SERVICE_TOKEN, LOGIN, PROXY_PASSWORD, MIRROR_PASSWORD, PASSWORD}
    )
    assert StubServer
    assert endpoint_of
    assert os.sep == "/"
