"""What the on-board operations act through, and how they tell what they do.

Layer: device (standard library, Python 3.8). Docker, this machine, a running server: three small
classes, bundled so that an operation takes one argument for the world and a test hands it fakes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Callable, NamedTuple, Optional

from speccompose.device.answers import Server
from speccompose.device.docker_cli import Docker
from speccompose.device.machine import Machine
from speccompose.device.plan_file import Plan


class Progress(NamedTuple):
    """One line of what is going on, with the seconds since its step began."""

    step: str
    message: str
    elapsed_s: float = 0.0


Say = Callable[[Progress], None]
Connect = Callable[[Plan, Optional[str]], Server]


def connect(plan: Plan, key: Optional[str]) -> Server:
    """The server of a plan on this machine."""
    return Server(plan.engine, plan.local_host, plan.port, key)


def unbreakable(say: Say) -> Say:
    """The same, but whoever listens may have gone: an undo must not end because of that."""

    def safely(progress: Progress) -> None:
        with suppress(OSError, ValueError):
            say(progress)

    return safely


def silent(progress: Progress) -> None:
    """Say nothing."""


class Ports(NamedTuple):
    """The world as operations see it."""

    docker: Docker
    machine: Machine
    connect: Connect = connect


def real_ports() -> Ports:
    """This machine, through the docker command line."""
    return Ports(Docker(), Machine())
