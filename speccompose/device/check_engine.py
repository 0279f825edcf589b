"""Does Docker answer, is it Docker, and do client, Compose and daemon speak the same language.

Layer: device (standard library, Python 3.8). Pure: observed texts become findings.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from speccompose.device.command import Completed
from speccompose.device.docker_answers import json_object, last_line, version_numbers
from speccompose.device.docker_cli import INSTALL_COMPOSE, read_engine
from speccompose.device.errors import DeviceError
from speccompose.device.host_finding import HostFinding, error, info, warning
from speccompose.device.host_texts import (
    Needs,
    compose_version,
    engine_body,
    engine_version,
    modern_store,
    output,
    starting,
    text_at,
    texts_at,
    version_body,
)
from speccompose.device.observe import DOCKER_INFO, DOCKER_VERSION, Observed

SILENT = ("no_docker", "docker_down", "docker_denied", "docker_api_mismatch", "podman_as_docker")
"""Codes that say that docker gives no answer: what it would tell is not known then."""

OLDEST_ENGINE = (20, 10)
"""The first with `run --pull` and host-gateway; Compose 5 still speaks to it."""
_WAIT_COMPOSE = (2, 16)
_RECREATES_BELOW = (5, 5)
_HALF_RUNTIME = ((2, 29, 7),)
_TOO_NEW = re.compile(r"client version [\d.]+ is too (?:new|old)[^\n]*")
_IPTABLES = re.compile(
    r"[^\n]*(?:nf_tables|nft: |can't initialize iptables table|iptables failed|"
    r"iptables not found|failed to create NAT chain)[^\n]*",
    re.I,
)
_BAD_CONFIG = re.compile(r"[^\n]*unable to configure the Docker daemon with file[^\n]*", re.I)


def check_engine(observed: Observed, needs: Needs) -> List[HostFinding]:
    """One finding when docker does not answer; else everything about engine and Compose."""
    answer = output(observed, DOCKER_INFO)
    if answer is None:
        return []
    podman = _podman(observed)
    if podman is not None:
        return [podman]
    try:
        read_engine(Completed(("docker", "info"), answer.status, answer.out, answer.err))
    except DeviceError as silent:
        return [_silent(observed, silent)]
    return [
        *_compose(observed),
        *_engine_version(observed),
        *_kind_of_engine(observed, needs),
        *_elsewhere(observed),
    ]


def _silent(observed: Observed, fault: DeviceError) -> HostFinding:
    """Why there is no answer, as far as client, daemon's log and rights tell."""
    answer = output(observed, DOCKER_INFO)
    words = "\n".join([answer.out, answer.err, *fault.details]) if answer is not None else ""
    mismatch = _TOO_NEW.search(words)
    if mismatch:
        return _api_mismatch(mismatch.group(0))
    if "permission denied" in words and fault.code == "docker_down":
        return error(
            "docker_denied",
            "this user may not speak to the docker daemon",
            "run as root, or add this user to the docker group (who is in it is root)",
            evidence=fault.details,
            fix=("sudo usermod -aG docker $USER", "newgrp docker"),
        )
    log = starting(observed, "journalctl --unit=docker.service")
    told = log.out if log is not None else ""
    bad = _BAD_CONFIG.search(told)
    if fault.code == "docker_down" and bad:
        return error(
            "docker_down",
            "the docker daemon does not start: its configuration is wrong",
            evidence=(bad.group(0).strip(),),
            fix=(
                "python3 -m json.tool /etc/docker/daemon.json",
                "sudo dockerd --validate --config-file /etc/docker/daemon.json",
            ),
        )
    tables = _IPTABLES.search(told)
    if fault.code == "docker_down" and tables:
        return error(
            "docker_down",
            "the docker daemon does not start: iptables (nft) does not work on this kernel",
            evidence=(tables.group(0).strip(),),
            fix=(
                "sudo update-alternatives --set iptables /usr/sbin/iptables-legacy",
                "sudo update-alternatives --set ip6tables /usr/sbin/ip6tables-legacy",
                "sudo systemctl restart docker",
            ),
        )
    return error(fault.code, "\n".join((fault.brief, *fault.details)), fault.hint)


def _api_mismatch(text: str) -> HostFinding:
    return error(
        "docker_api_mismatch",
        "docker's client and its daemon do not speak the same API version",
        "update the older of both; an exported DOCKER_API_VERSION forces one: unset it",
        evidence=(text,),
        fix=("docker version", "unset DOCKER_API_VERSION"),
    )


def _podman(observed: Observed) -> Optional[HostFinding]:
    shown = [output(observed, key) for key in (DOCKER_INFO, DOCKER_VERSION)]
    text = "\n".join(part.out + part.err for part in shown if part is not None)
    body = json_object(shown[0].out) if shown[0] is not None else {}
    if "Podman Engine" in text or "using podman" in text or text_at(body, "host", "buildahVersion"):
        return error(
            "podman_as_docker",
            "docker is Podman here, which these stacks are not made for",
            "CDI on Orin fails with newer toolkits under Podman; install Docker Engine",
            evidence=(last_line(text)[:120],) if "{" not in last_line(text) else (),
            fix=("sudo apt-get remove podman-docker", "sudo apt-get install docker.io"),
        )
    return None


def _compose(observed: Observed) -> List[HostFinding]:
    tried = [
        (key[: -len(" version --short")], value)
        for key, value in observed.outputs.items()
        if key.endswith(" version --short")
    ]
    version = compose_version(observed)
    if tried and version < (2,):
        lines = [f"{name}: {v.out.strip() or last_line(v.err) or 'no answer'}" for name, v in tried]
        text = "\n".join(("Docker Compose 2 or newer is not installed", *lines))
        hint = f"{INSTALL_COMPOSE}, or on a development machine: make engine"
        return [error("no_compose", text, hint)]
    listed = next((v for k, v in observed.outputs.items() if k.endswith(" ls --all --quiet")), None)
    mismatch = _TOO_NEW.search(listed.err) if listed is not None and listed.status else None
    found = [_api_mismatch(f"docker compose ls: {mismatch.group(0)}")] if mismatch else []
    return [*found, *_compose_version(version, modern_store(observed))]


def _compose_version(version: Tuple[int, ...], modern: bool) -> List[HostFinding]:
    """Versions that lack something, or were seen to do something wrong."""
    if not version:
        return []
    shown = ".".join(str(part) for part in version)
    update = ("sudo apt-get install --only-upgrade docker-compose-plugin",)
    found = []
    if version < _WAIT_COMPOSE:
        text = f"Compose {shown} has no `up --wait --wait-timeout`, which the units need"
        found.append(warning("compose_old", text, "Compose 2.16 or newer has it", fix=update))
    if version[:3] in _HALF_RUNTIME:
        text = f"Compose {shown} was seen to apply `runtime: nvidia` by half (Orin NX)"
        hint = "deploy proves that the GPU is used; another Compose is safer"
        found.append(warning("compose_half_runtime", text, hint, fix=update))
    if version < _RECREATES_BELOW and modern:
        text = (
            f"Compose {shown} may recreate containers although nothing changed "
            "(containerd image store)"
        )
        hint = "mended in Compose 5.5; expect one recreation when it comes"
        found.append(info("compose_recreates", text, hint))
    return found


def _engine_version(observed: Observed) -> List[HostFinding]:
    version = engine_version(observed)
    shown = text_at(engine_body(observed), "ServerVersion")
    found = []
    if version and version < OLDEST_ENGINE:
        found.append(
            error(
                "docker_old",
                f"docker {shown} is too old: 20.10 or newer is wanted",
                fix=("sudo apt-get install --only-upgrade docker.io docker-ce",),
            )
        )
    versions = version_body(observed)
    client = version_numbers(text_at(versions, "Client", "DefaultAPIVersion")) or ()
    oldest = version_numbers(text_at(versions, "Server", "MinAPIVersion")) or ()
    if client and oldest and client < oldest:
        spoken, wanted = (".".join(map(str, numbers)) for numbers in (client, oldest))
        found.append(_api_mismatch(f"client API {spoken}, the daemon wants {wanted} or newer"))
    return found


def _kind_of_engine(observed: Observed, needs: Needs) -> List[HostFinding]:
    body = engine_body(observed)
    found = _users(body, needs)
    root = text_at(body, "DockerRootDir")
    if root.startswith("/var/snap/"):
        inside = observed.state_root.startswith("/home/")
        found.append(
            (warning if inside else error)(
                "docker_snap",
                "docker is a snap: it sees no files outside home folders, and no nvidia runtime",
                evidence=(f"docker info: DockerRootDir {root}",),
                fix=("sudo snap remove docker", "sudo apt-get install docker.io"),
            )
        )
    if body.get("MemoryLimit") is False:
        found.append(
            warning(
                "no_memory_limit",
                "this kernel limits no container's memory: one can take the whole board down",
                "boot with the memory cgroup on",
                evidence=("docker info: MemoryLimit false",),
            )
        )
    return found


def _users(body: Dict[str, object], needs: Needs) -> List[HostFinding]:
    """Daemons whose containers are in a user namespace: the host's network is not theirs."""
    security = [text.split(",")[0] for text in texts_at(body, "SecurityOptions")]
    say = error if needs.host_network else warning
    if "name=rootless" in security:
        return [
            say(
                "docker_rootless",
                "docker runs without root: `network_mode: host` is not this host's network there",
                "use the system's docker daemon",
                evidence=("docker info: SecurityOptions name=rootless",),
                fix=("docker context use default", "sudo systemctl enable --now docker"),
            )
        ]
    if "name=userns" in security:
        return [
            say(
                "docker_userns",
                "docker remaps users: a container cannot use the host's network that way",
                "remove userns-remap from /etc/docker/daemon.json",
                evidence=("docker info: SecurityOptions name=userns",),
                fix=("sudo systemctl restart docker",),
            )
        ]
    return []


def _elsewhere(observed: Observed) -> List[HostFinding]:
    name, here = text_at(engine_body(observed), "Name"), observed.host_name
    context = text_at(engine_body(observed), "ClientInfo", "Context")
    if not name or not here or name.split(".")[0] == here.split(".")[0]:
        return []
    return [
        warning(
            "docker_elsewhere",
            f"docker speaks to a daemon on {name}, this host is {here}",
            "mounts and ports would be that machine's; run speccompose over there",
            evidence=(f"docker context: {context or 'not told'}",),
            fix=("docker context use default", "unset DOCKER_HOST"),
        )
    ]
