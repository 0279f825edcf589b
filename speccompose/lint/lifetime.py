"""How the container starts, restarts and stops.

Layer: lint. Pure. Rules section 5 and field cases B-03, B-04, C-08, C-09.
"""

from collections.abc import Iterator

from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.vocab.finding import info, warning


def unbounded_restart(server: Server, ground: Ground) -> Iterator[Noted]:
    """A fault that comes back with every start takes the board down with it (B-04)."""
    policy = server.service.text("restart")
    if policy in ("always", "unless-stopped", "on-failure"):
        yield at(
            server.service.key_line("restart"),
            warning(
                "restart_unbounded",
                f"restart: {policy} starts for ever what cannot start; memory leaked each time",
                hint="restart: on-failure:3",
                source="GH eugr/spark-vllm-docker#257",
            ),
        )


def no_restart(server: Server, ground: Ground) -> Iterator[Noted]:
    """Nothing starts it again after a crash."""
    service = server.service
    missing = service.get("restart") is None and service.get("deploy", "restart_policy") is None
    if missing and service.whole:
        yield at(
            service.line,
            warning(
                "no_restart",
                "after a crash nothing starts it again",
                hint="restart: on-failure:3",
                source="field case C-08",
            ),
        )


def no_init(server: Server, ground: Ground) -> Iterator[Noted]:
    """Without an init dead workers stay, and the container cannot be stopped (C-09)."""
    service = server.service
    if service.whole and not service.is_on("init"):
        yield at(
            service.line,
            warning(
                "no_init",
                "without an init process a stopped engine may stay as a zombie",
                hint="init: true",
                source="GH NVIDIA/NemoClaw#7219",
            ),
        )
    if service.whole and service.get("stop_grace_period") is None:
        yield at(
            service.line,
            info(
                "short_grace",
                "it is killed 10 s after it was asked to stop",
                hint="stop_grace_period: 30s",
                source="GH NVIDIA/NemoClaw#7219",
            ),
        )


def terminal(server: Server, ground: Ground) -> Iterator[Noted]:
    """A terminal that a service at boot does not have (B-03)."""
    for key in ("tty", "stdin_open"):
        if server.service.is_on(key):
            yield at(
                server.service.key_line(key),
                info(
                    "terminal",
                    f"{key} is for a person at a terminal, a server has none",
                    hint="drop it",
                    source="GH dusty-nv/jetson-containers#805",
                ),
            )
