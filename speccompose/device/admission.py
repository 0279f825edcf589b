"""What stands and what is asked become the answer whether a switch may be tried at all.

Layer: device (standard library, Python 3.8). Each refusal has its status and code: another
rollout's stack (12), a held board (13), no timer to arm, an older release, no way back (15). None
of them has changed anything.
"""

from __future__ import annotations

from typing import List, NamedTuple

from speccompose.device.attempt import Job
from speccompose.device.claim import refuse_bad_id, refuse_other
from speccompose.device.counter import read_counter, refuse_older
from speccompose.device.errors import USAGE, DeviceError
from speccompose.device.held import refuse_held
from speccompose.device.order import LONGEST_CONFIRM_S, SHORTEST_CONFIRM_S, Order
from speccompose.device.paths import StackPaths
from speccompose.device.ports import NoUnits, Ports
from speccompose.device.recover import waits
from speccompose.device.stack_folder import StackFolder
from speccompose.device.standing import Standing
from speccompose.device.way_back import no_way_back, refuse_no_way_back


def admit(job: Job, now: Standing, *, going_back: bool) -> List[str]:
    """Refuse what may not be tried; returns what is to be told of the rest.

    Raises:
        DeviceError: see the module.
    """
    asked = _Asked(job.folder, job.paths, job.ports, job.order, now, going_back)
    return [note for check in _CHECKS for note in check(asked)]


def refusals(
    folder: StackFolder, paths: StackPaths, *, ports: Ports, order: Order, now: Standing
) -> List[DeviceError]:
    """All refusals that ``admit`` would begin with; nothing is raised."""
    found: List[DeviceError] = []
    for check in _CHECKS:
        try:
            check(_Asked(folder, paths, ports, order, now, False))
        except DeviceError as error:
            found.append(error)
    return found


class _Asked(NamedTuple):
    """What is asked, and what stands. ``going_back``: the operator goes to the previous release."""

    folder: StackFolder
    paths: StackPaths
    ports: Ports
    order: Order
    now: Standing
    going_back: bool

    @property
    def is_other(self) -> bool:
        """Whether another release than the current one is meant."""
        return self.folder.plan.digest != self.now.before.current


def _whose(asked: _Asked) -> List[str]:
    order, name = asked.order, asked.folder.plan.name
    refuse_bad_id(order.rollout)
    machine, record = asked.ports.machine, asked.now.record
    taken = refuse_other(name, record, order.rollout, machine, take_over=order.take_over)
    return [] if taken is None else [taken]


def _timer(asked: _Asked) -> List[str]:
    refuse_timer(asked.order, asked.ports)
    return []


def _held(asked: _Asked) -> List[str]:
    if not asked.going_back:
        refuse_held(asked.paths)
    return []


def _counted(asked: _Asked) -> List[str]:
    if asked.going_back or not asked.is_other:
        return []
    counter = read_counter(asked.folder.path, asked.folder.files)
    committed = max(asked.now.record.counter, _committed_counter(asked))
    if not asked.order.allow_downgrade:
        refuse_older(asked.folder.plan.name, counter, committed)
        return []
    if counter < committed:
        return [f"an older release was allowed: counter {counter} after {committed}"]
    return []


def _has_way_back(asked: _Asked) -> List[str]:
    if not asked.is_other:
        return []
    fault = no_way_back(asked.paths, asked.now.record, asked.now.before, asked.ports)
    if fault is None:
        return []
    if not asked.order.force:
        raise refuse_no_way_back(asked.folder.plan.name, fault)
    return [f"forced, although there is no way back: {fault}"]


_CHECKS = (_whose, _timer, _held, _counted, _has_way_back)


def waits_for_the_same(now: Standing, job: Job) -> bool:
    """Whether the same release waits for its confirmation already, and is asked to do just that."""
    same = now.record.digest == job.folder.plan.digest and now.running is not None
    rollout = now.record.owner.rollout if now.record.owner else None
    wanted = job.order.confirm_within_s is not None and rollout == job.order.rollout
    return same and wanted and waits(now.record, job.ports)


def refuse_timer(order: Order, ports: Ports) -> None:
    """Refuse a confirmation that nobody could wait for.

    Raises:
        DeviceError: status 2 for a time that makes no sense, 15 where no timer can be armed.
    """
    seconds = order.confirm_within_s
    if seconds is None:
        return
    if not SHORTEST_CONFIRM_S <= seconds <= LONGEST_CONFIRM_S:
        raise DeviceError(
            USAGE,
            f"a confirmation cannot be waited for {seconds:g} s",
            [f"wanted: {SHORTEST_CONFIRM_S:.0f} to {LONGEST_CONFIRM_S:.0f} s"],
            code="bad_confirm_time",
        )
    if not ports.units.available():
        NoUnits().arm("", seconds, ())


def _committed_counter(asked: _Asked) -> int:
    """The current release's own, where state.json was rebuilt and has forgotten it."""
    current = asked.now.before.current
    if current is None:
        return 0
    release = asked.paths.release(current)
    try:
        return read_counter(release, tuple(item.name for item in release.iterdir()))
    except (OSError, DeviceError):
        return 0
