"""Rendered stacks written by hand: the smallest folders that the on-board layer takes.

These tests must fail for reasons of device/ alone, so nothing of plan/ is used here.
"""

import hashlib
import json
import socket
from dataclasses import dataclass, field
from pathlib import Path

IMAGE = "speccompose/llamacpp-cpu:0.7.0-b11669"
TARGET, DRAFT = "tests--tiny-target", "tests--tiny-draft"
SPECULATING = ("-md", "/models/draft/model.gguf", "--spec-type", "draft-simple")


@dataclass(frozen=True)
class StackText:
    """What a test may want different about a stack."""

    name: str
    port: int
    models: Path
    secrets: Path
    image: str = IMAGE
    extra: tuple[str, ...] = SPECULATING
    method: str = "draft_model"
    engine_version: str = "b11669"
    health_test: tuple[str, ...] = ()
    deadline_s: int = 30
    api_key_file: str | None = None
    changes: dict[str, object] = field(default_factory=dict)
    counter: int | None = None

    @property
    def command(self) -> list[str]:
        key = ["--api-key-file", "/secrets/api-key"] if self.api_key_file else []
        return [
            *("-m", "/models/target/model.gguf", "--host", "0.0.0.0", "--port", str(self.port)),
            *("--alias", "tests/tiny-target", "--metrics", "-c", "512", "-np", "1"),
            *("--cache-ram", "0", "--no-warmup", *key, *self.extra),
        ]

    @property
    def test(self) -> list[str]:
        url = f"http://127.0.0.1:{self.port}/health"
        return list(self.health_test) or ["CMD", "curl", "-fsS", url]


def write_stack(folder: Path, text: StackText) -> Path:
    """Write the folder with its SHA256SUMS; returns it."""
    folder.mkdir(parents=True)
    plan = plan_body(text)
    (folder / "compose.yaml").write_text(json.dumps(compose_body(text), indent=2))
    (folder / "plan.json").write_text(json.dumps(plan, indent=2))
    if text.counter is not None:
        (folder / "release.json").write_text(json.dumps({"counter": text.counter}))
    names = sorted(path.name for path in folder.iterdir())
    lines = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (folder / "SHA256SUMS").write_text("".join(lines))
    return folder


def compose_body(text: StackText) -> dict:
    volumes = [
        bind(text.models / TARGET, "/models/target"),
        bind(text.models / DRAFT, "/models/draft"),
    ]
    if text.api_key_file:
        volumes.append(bind(text.secrets / text.name, "/secrets"))
    service = {
        "image": text.image,
        "labels": {"io.speccompose.stack": text.name},
        "ports": [f"127.0.0.1:{text.port}:{text.port}"],
        "entrypoint": ["llama-server"],
        "command": text.command,
        "volumes": volumes,
        "init": True,
        "restart": "on-failure:3",
        "stop_grace_period": "3s",
        "cap_drop": ["ALL"],
        "healthcheck": {
            "test": text.test,
            "start_period": f"{text.deadline_s}s",
            "interval": "1s",
            "timeout": "2s",
            "retries": 3,
        },
    }
    return {"name": f"speccompose-{text.name}", "services": {"server": service}}


def bind(source: Path, target: str) -> dict:
    return {
        "type": "bind",
        "source": str(source),
        "target": target,
        "read_only": True,
        "bind": {"create_host_path": False},
    }


def plan_body(text: StackText) -> dict:
    body = {
        "name": text.name,
        "project": f"speccompose-{text.name}",
        "service": "server",
        "device": {"id": "generic-x86-64", "family": "generic"},
        "image": {
            "id": "llamacpp-cpu",
            "reference": text.image,
            "engine": "llama.cpp",
            "engine_version": text.engine_version,
            "digest": None,
        },
        "speculation": {"method": text.method, "depth": 4},
        "memory": {
            "total_mib": 4096,
            "weights_mib": 1,
            "draft_mib": 1,
            "kv_cache_mib": 1,
            "runtime_mib": 64,
            "shm_mib": 0,
            "gpu_memory_utilization": None,
            "context_tokens": 512,
        },
        "entrypoint": ["llama-server"],
        "command": text.command,
        "port": text.port,
        "bind": "127.0.0.1",
        "health": {
            "start_deadline_s": text.deadline_s,
            "interval_s": 1,
            "timeout_s": 2,
            "path": "/health",
        },
        "acceptance": {},
        "served_name": "tests/tiny-target",
        "api_key": text.api_key_file is not None,
        "api_key_file": text.api_key_file,
        "downloads": [download("target", TARGET), download("draft", DRAFT)],
        **text.changes,
    }
    digest = hashlib.sha256(
        json.dumps([body, compose_body(text)], sort_keys=True, default=str).encode()
    )
    return {**body, "digest": f"sha256:{digest.hexdigest()}"}


def download(role: str, directory: str) -> dict:
    return {
        "role": role,
        "repo": directory.replace("--", "/"),
        "file": "model.gguf",
        "directory": directory,
        "mib": 1,
        "bundled": "tests",
    }


def free_port() -> int:
    """A port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
