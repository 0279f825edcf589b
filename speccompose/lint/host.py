"""What a service may do to its host: privileged, the Docker socket, namespaces, capabilities.

Layer: lint. Pure. Rules section 5: never privileged, never the Docker socket, never the host's
processes; field cases C-02 and the compose-lint rules behind them.
"""

from collections.abc import Iterator
from typing import Final

from speccompose.catalog.plain_data import Plain
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.lint.service import Service
from speccompose.lint.words import scalar
from speccompose.vocab.finding import error, warning

_SOURCE: Final = "rules section 5; GH vllm-project/vllm#32755"
_SOCKETS: Final = ("/var/run/docker.sock", "/run/docker.sock")
_WIDE_CAPABILITIES: Final = frozenset({"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "NET_ADMIN"})


def privileged(server: Server, ground: Ground) -> Iterator[Noted]:
    """All rights on the host, which no server needs."""
    service = server.service
    if service.is_on("privileged"):
        yield at(
            service.key_line("privileged"),
            error(
                "privileged",
                "a privileged container has every right on the board",
                hint="drop it: runtime: nvidia gives the GPU",
                source=_SOURCE,
            ),
        )
    if service.text("pid") == "host":
        yield at(
            service.key_line("pid"),
            error(
                "host_pid",
                "pid: host shows and lets it stop every process of the board",
                hint="drop it",
                source=_SOURCE,
            ),
        )


def docker_socket(service: Service, ground: Ground) -> Iterator[Noted]:
    """The Docker socket inside a container is the root of the host."""
    for volume in service.volumes:
        if volume.source in _SOCKETS or volume.target in _SOCKETS:
            yield at(
                volume.line,
                error(
                    "docker_socket",
                    "whoever has the Docker socket is root on the board",
                    hint="drop the mount; a systemd timer can restart what hangs",
                    source="rules section 5; GH moby/moby#28400",
                ),
            )


def wide_rights(server: Server, ground: Ground) -> Iterator[Noted]:
    """Capabilities and profiles that are taken off."""
    service = server.service
    for key, unwanted in (("cap_add", _WIDE_CAPABILITIES), ("security_opt", None)):
        for index, item in enumerate(_items(service.get(key))):
            text = scalar(item) or ""
            bad = (
                text.upper().removeprefix("CAP_") in unwanted
                if unwanted
                else ("unconfined" in text or text.replace("=", ":") == "label:disable")
            )
            if bad:
                yield at(
                    service.value_line(key, index),
                    warning(
                        "wide_rights",
                        f"{key}: {text} gives more than a server needs",
                        hint="cap_drop: [ALL] and no-new-privileges:true serve as well",
                        source="rules section 5",
                    ),
                )


def _items(value: Plain) -> list[Plain]:
    return value if isinstance(value, list) else []


def shared_memory(server: Server, ground: Ground) -> Iterator[Noted]:
    """Shared memory comes out of the one pool; beside ipc: host its size means nothing."""
    service = server.service
    size = _mib(service.text("shm_size") or "")
    if service.text("ipc") == "host" and service.get("shm_size") is not None:
        yield at(
            service.key_line("shm_size"),
            warning(
                "shm_with_host_ipc",
                "shm_size does nothing beside ipc: host",
                hint="keep shm_size and drop ipc",
                source="compose-spec, ipc",
            ),
        )
    most = _tenth_mib(ground)
    if size is not None and size > most:
        what = ground.device.id if ground.device is not None else "the largest board"
        yield at(
            service.key_line("shm_size"),
            warning(
                "shm_too_large",
                f"{size} MiB of shared memory are above a tenth of {what}'s ({most} MiB)",
                hint="one GPU needs 1 GiB or less",
                source="rules section 4",
            ),
        )


def _tenth_mib(ground: Ground) -> int:
    if ground.device is not None:
        return ground.device.memory_mib // 10
    sizes = [
        device.memory.usable_mib for device in ground.catalog.devices.values() if device.memory
    ]
    return max(sizes, default=0) // 10


def _mib(text: str) -> int | None:
    """A size of Compose (`8g`, `1024m`, `64mb`, bytes) in MiB."""
    text = text.strip().lower().removesuffix("b").removesuffix("i")
    factor = {"k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2}.get(text[-1:])
    digits = text[:-1] if factor is not None else text
    try:
        number = float(digits) * (factor if factor is not None else 1 / 1024**2)
    except ValueError:
        return None
    return int(number) if abs(number) < 1e15 else None
