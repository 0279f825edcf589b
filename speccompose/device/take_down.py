"""An installed stack becomes a stopped one, or none at all.

Layer: device (standard library, Python 3.8). What is meant is written down before it is done, so
that a power cut in the middle leaves a stack that is stopped or gone, and ``recover`` finishes it.
"""

from __future__ import annotations

import os
import shutil
from typing import List, NamedTuple, Optional, Tuple

from speccompose.device import state
from speccompose.device.commit import call_off
from speccompose.device.compose_cli import Compose
from speccompose.device.errors import USAGE, DeviceError
from speccompose.device.file_faults import unwritable
from speccompose.device.lock import hold
from speccompose.device.paths import REMOVED, Roots, StackPaths, find_stack, known_stacks
from speccompose.device.ports import Ports, silent
from speccompose.device.recover import settle
from speccompose.device.release import release_fault, release_plan
from speccompose.device.service import align_service, remove_service


class Removed(NamedTuple):
    """What `remove` took away."""

    name: str
    weights: Tuple[str, ...]


def stop(name: str, roots: Roots, *, ports: Ports) -> None:
    """Stop a stack; it stays installed and `deploy NAME` starts it again.

    A deploy that was cut short is rolled back first: what never proved itself does not stay.

    Raises:
        DeviceError: 2 when nothing is installed (any more), 12 locked, 14 when a deploy that was
            cut short cannot be rolled back, 15 when docker is down or the disk is full.
    """
    paths = find_stack(name, roots)
    with hold(paths, "stop", machine=ports.machine):
        ports.docker.info()
        done = settle(paths, ports=ports, say=silent, start=False)
        digest = state.linked_digest(paths.current)
        if digest is None:
            brief = f"{name} has no release to stop"
            why = [] if done is None else [f"its deploy was cut short: {done}"]
            raise DeviceError(USAGE, brief, why, code="nothing_installed")
        before = state.load(paths)
        stopped = before.settled(state.STOPPED, digest)
        fault = _saved(paths, stopped)
        try:
            _compose(paths, digest, ports).stop()
        except DeviceError:
            if fault is None:
                _saved(paths, before)
            raise
        if fault is not None and _saved(paths, stopped) is not None:
            raise unwritable(f"{name} is stopped, but that could not be written down", fault)
        align_service(paths, ports)


def remove(
    name: str, roots: Roots, *, ports: Ports, volumes: bool = False, weights: bool = False
) -> Removed:
    """Take a stack off this board.

    Compile caches stay unless ``volumes``; weights stay unless ``weights``, and then only those
    that no other stack uses go.

    Raises:
        DeviceError: 2 for an unknown stack, 12 locked, 15 when docker is down or the folder stays,
            19 when ``weights`` are asked for and another stack's release is damaged.
    """
    paths = find_stack(name, roots, traces=True)
    with hold(paths, "remove", machine=ports.machine):
        ports.docker.info()
        digests = linked_digests(paths)
        directories = weight_folders(paths, digests)
        shared = _used_by_others(name, roots) if weights else set()
        record = state.load(paths)
        if digests and record.before is None:  # else it is open, and a crash here is undone
            _saved(paths, record.settled(state.STOPPED, digests[0]))
        for digest in digests[:1]:
            _compose(paths, digest, ports).down(volumes=volumes)
        call_off(name, ports)
        remove_service(paths, ports)
        _clear(paths)
        taken = sorted(directories - shared) if weights else []
        for directory in taken:
            shutil.rmtree(str(roots.models / directory), ignore_errors=True)
        paths.lock_file.unlink()
    return Removed(name, tuple(taken))


def linked_digests(paths: StackPaths) -> List[str]:
    """The current and the previous release, as far as there are."""
    linked = (state.linked_digest(paths.current), state.linked_digest(paths.previous))
    return [digest for digest in linked if digest is not None]


def weight_folders(paths: StackPaths, digests: List[str]) -> "set[str]":
    """The folders below models/ that some releases read."""
    plans = [release_plan(paths, digest) for digest in digests]
    return {item.directory for plan in plans if plan is not None for item in plan.downloads}


def _clear(paths: StackPaths) -> None:
    """The folder goes in one step, and then piece by piece."""
    gone = paths.roots.stacks / f"{REMOVED}{paths.name}"
    try:
        if gone.exists():
            shutil.rmtree(str(gone))
        os.replace(str(paths.home), str(gone))
        shutil.rmtree(str(paths.secrets), ignore_errors=True)
        shutil.rmtree(str(gone))
    except OSError as error:
        raise unwritable(f"{paths.name} runs no more, but its folder cannot be removed", error)


def _saved(paths: StackPaths, record: state.Record) -> Optional[OSError]:
    try:
        state.save_on_full_disk(paths, record)
    except OSError as error:
        return error
    return None


def _compose(paths: StackPaths, digest: str, ports: Ports) -> Compose:
    return Compose(ports.docker, f"speccompose-{paths.name}", paths.release(digest))


def _used_by_others(name: str, roots: Roots) -> "set[str]":
    """Weights that other stacks need.

    Raises:
        DeviceError: status 19, when a damaged release of another stack keeps that from being known.
    """
    used: "set[str]" = set()
    for other in known_stacks(roots):
        if other != name:
            paths = StackPaths(other, roots)
            digests = linked_digests(paths)
            for fault in (release_fault(paths, digest) for digest in digests):
                if fault is not None:
                    raise fault
            used |= weight_folders(paths, digests)
    return used
