"""A release that proved itself becomes the committed one.

Layer: device (standard library, Python 3.8). One write of state.json decides; what follows only
tidies up and is done again by whoever comes next, should the power go before.
"""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

from speccompose.device import api_key, state
from speccompose.device.counter import read_counter
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import DeviceError
from speccompose.device.paths import StackPaths
from speccompose.device.ports import Ports
from speccompose.device.stack_folder import StackFolder, prune

TIMER = "speccompose-confirm-{name}"
"""The timer that rolls an unconfirmed release back."""

AGAIN = ".again"
"""The one that it sets when it could not do so yet: no stack's name has a dot."""


def timer_name(name: str) -> str:
    """The confirm timer of a stack."""
    return TIMER.format(name=name)


def arm_confirm(name: str, after_s: float, argv: Sequence[str], ports: Ports) -> None:
    """Arm the confirm timer, also from within what it has started.

    A unit that runs cannot be set anew (systemd-run refuses), so that one is armed beside it.

    Raises:
        DeviceError: status 15 when systemd does not take it.
    """
    first, second = _timers(name)
    runs = ports.units.unit_state(f"{first}.service") in ("active", "activating", "deactivating")
    ports.units.arm(second if runs else first, after_s, argv)


def is_armed(name: str, ports: Ports) -> bool:
    """Whether a stack's confirm timer waits."""
    return any(ports.units.is_armed(timer) for timer in _timers(name))


def _timers(name: str) -> Tuple[str, str]:
    return timer_name(name), timer_name(name) + AGAIN


def next_previous(before: state.Before, digest: str) -> Optional[str]:
    """What `previous` links to once ``digest`` is current."""
    return before.previous if before.current == digest else before.current


def commit(
    paths: StackPaths,
    record: state.Record,
    release: StackFolder,
    container: ContainerInfo,
) -> Optional[str]:
    """Commit the open transaction of ``record``; returns the previous release.

    The board's counter never falls, unless a downgrade was allowed.

    Raises:
        OSError: it could not be written; nothing is committed then.
    """
    plan = release.plan
    before = record.before or state.Before(None, None, False)
    previous = next_previous(before, plan.digest)
    counter = read_counter(release.path, release.files)
    owner = record.owner
    image = state.KnownImage(plan.digest, plan.image, container.image_id)
    done = record.settled(state.COMMITTED, plan.digest, container.id).knows(image)
    done = done._replace(
        counter=counter if record.downgrade else max(counter, record.counter),
        last=state.Last(state.COMMITTED, plan.digest, owner.rollout if owner else None),
    )
    state.save(paths, done)
    api_key.confirm(paths)
    prune(paths, (plan.digest,) if previous is None else (plan.digest, previous))
    return previous


def call_off(name: str, ports: Ports) -> None:
    """Take the confirm timer away. One that stays finds nothing to do when it fires."""
    try:
        if ports.units.available():
            for timer in _timers(name):
                ports.units.disarm(timer)
    except DeviceError:
        return
