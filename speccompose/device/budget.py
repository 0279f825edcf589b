"""A phase of a deploy gets so many seconds, and everything it asks docker gets no more.

Layer: device (standard library, Python 3.8). A command that hangs is ended when its phase is over,
so a deploy always ends; what came of it is undone like any failure.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Callable, Iterator, NamedTuple, Sequence

from speccompose.device.command import Completed
from speccompose.device.docker_cli import Docker
from speccompose.device.errors import DEPLOY, DeviceError
from speccompose.device.ports import Ports

_LEAST_S = 0.1


class Phase(NamedTuple):
    """A phase under way: the same ports with bounded patience, and what is left."""

    ports: Ports
    left_s: Callable[[], float]


@contextmanager
def phase(name: str, limit_s: float, ports: Ports) -> Iterator[Phase]:
    """Run the block as one phase.

    Raises:
        DeviceError: status 8, when it took longer, whatever else went wrong because of that.
    """
    machine = ports.machine
    until_s = machine.now_s() + limit_s

    def left_s() -> float:
        return until_s - machine.now_s()

    try:
        yield Phase(ports._replace(docker=_bounded(ports.docker, left_s)), left_s)
    except DeviceError as error:
        if left_s() <= 0:
            raise _too_long(name, limit_s, [error.brief, *error.details]) from error
        raise
    if left_s() <= 0:
        raise _too_long(name, limit_s, [])


def _bounded(docker: Docker, left_s: Callable[[], float]) -> Docker:
    def run(argv: Sequence[str], timeout_s: float) -> Completed:
        return docker.ask(argv, max(_LEAST_S, min(timeout_s, left_s())))

    return docker.asked_by(run)


def _too_long(name: str, limit_s: float, why: Sequence[str]) -> DeviceError:
    return DeviceError(
        DEPLOY,
        f"the phase {name} was not done after {limit_s:.0f} s",
        why,
        hint="see what hangs: systemctl status docker; the disk's health: dmesg",
        code="phase_deadline",
    )
