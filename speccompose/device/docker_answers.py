"""What docker printed becomes typed values.

Layer: device (standard library, Python 3.8). Pure. What docker leaves out is empty or None here;
what is no answer at all is for ``docker_cli`` to tell.
"""

from __future__ import annotations

import json
from typing import Dict, NamedTuple, Optional, Tuple


class EngineInfo(NamedTuple):
    """What `docker info` says of the daemon."""

    version: str
    runtimes: Tuple[str, ...]
    root_dir: str
    driver: str
    architecture: str
    kernel: str


class ImageInfo(NamedTuple):
    """An image that is on this machine."""

    id: str
    architecture: str


class ContainerInfo(NamedTuple):
    """A container as `docker inspect` shows it. ``health`` is None without a health check.

    ``config_hash`` is Compose's word for the service that it was made from.
    """

    id: str
    status: str
    health: Optional[str]
    health_exit: Optional[int]
    health_output: str
    restarts: int
    exit_code: int
    out_of_memory: bool
    started_at: str
    image: str
    image_id: str
    entrypoint: Tuple[str, ...]
    command: Tuple[str, ...]
    runtime: str
    error: str
    config_hash: str = ""
    compose_version: str = ""

    @property
    def running(self) -> bool:
        """Whether its process runs right now."""
        return self.status == "running"


def read_container(body: Dict[str, object]) -> ContainerInfo:
    """What `docker container inspect` shows of one container."""
    state, config = _part(body, "State"), _part(body, "Config")
    health, labels = _part(state, "Health"), _part(config, "Labels")
    log = health.get("Log")
    probe = log[-1] if isinstance(log, list) and log and isinstance(log[-1], dict) else {}
    return ContainerInfo(
        id=str(body["Id"]),
        status=str(state.get("Status") or ""),
        health=str(health["Status"]) if health.get("Status") not in (None, "", "none") else None,
        health_exit=_whole(probe.get("ExitCode")) if probe else None,
        health_output=str(probe.get("Output") or "").strip(),
        restarts=_whole(body.get("RestartCount")),
        exit_code=_whole(state.get("ExitCode")),
        out_of_memory=state.get("OOMKilled") is True,
        started_at=str(state.get("StartedAt") or ""),
        image=str(config.get("Image") or ""),
        image_id=str(body.get("Image") or ""),
        entrypoint=_texts(config.get("Entrypoint")),
        command=_texts(config.get("Cmd")),
        runtime=str(_part(body, "HostConfig").get("Runtime") or ""),
        error=str(state.get("Error") or ""),
        config_hash=str(labels.get("com.docker.compose.config-hash") or ""),
        compose_version=str(labels.get("com.docker.compose.version") or ""),
    )


def json_object(text: str) -> Dict[str, object]:
    """The object that a text is; an empty one when it is none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def first_object(text: str) -> Optional[Dict[str, object]]:
    """The object of an `inspect`; None when it is none, or one without an id."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and value and isinstance(value[0], dict) and "Id" in value[0]:
        return value[0]
    return None


def _part(body: Dict[str, object], key: str) -> Dict[str, object]:
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> Tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def version_numbers(text: str) -> Optional[Tuple[int, ...]]:
    """'v5.6.1' or '2.20.2-desktop.1' as numbers; None when it is no version."""
    words = text.strip().lstrip("v").split("-")[0].split("+")[0].split(".")
    if not words or not all(word.isdigit() for word in words):
        return None
    return tuple(int(word) for word in words)


def last_line(text: str) -> str:
    """The last line that says anything."""
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""
