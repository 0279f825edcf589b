"""What lies on a board becomes what nobody needs any more, and goes.

Layer: device (standard library, Python 3.8). Kept is everything of each stack's current and
previous release and of a release that is being tried: its files, its image by id, its weights. An
image goes by its id alone, only if a release of ours ran with it, and only if docker lets it go;
weights go only when asked for, because a pull for the next deploy may just have brought them.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import Dict, List, NamedTuple, Set, Tuple

from speccompose.device import state
from speccompose.device.lock import hold, hold_file
from speccompose.device.paths import Roots, StackPaths, known_stacks
from speccompose.device.ports import Ports
from speccompose.device.recover import tidy
from speccompose.device.release import release_fault, release_plan
from speccompose.device.stack_folder import unwanted


class Pruned(NamedTuple):
    """What went, or would go; ``kept`` says what could not, and why."""

    dry_run: bool
    releases: Tuple[str, ...]
    images: Tuple[str, ...]
    weights: Tuple[str, ...]
    kept: Tuple[str, ...]

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        return dict(self._asdict())


class _Stack(NamedTuple):
    """One stack: the releases that stay, and what they need."""

    paths: StackPaths
    record: state.Record
    digests: Tuple[str, ...]


def prune_board(
    roots: Roots, *, ports: Ports, dry_run: bool = False, weights: bool = False
) -> Pruned:
    """Take away what no release needs that is or may become current.

    Raises:
        DeviceError: 12 when a stack is being changed, 15 when docker is down, 19 when a release
            is damaged, so that its needs are unknown.
    """
    ports.docker.info()
    stacks = [_look(StackPaths(name, roots)) for name in known_stacks(roots, traces=True)]
    releases = [f"{item.paths.name}/{name}" for item in stacks for name in _old(item)]
    images = _images(stacks)
    folders = _weights(stacks, roots) if weights else []
    if dry_run:
        return Pruned(True, tuple(releases), tuple(images), tuple(folders), ())
    kept: List[str] = []
    for item in stacks:
        with hold(item.paths, "prune", machine=ports.machine):
            tidy(item.paths)
    gone = [image for image in images if _gone(image, images[image], ports, kept)]
    _forget(stacks, gone, ports)
    for folder in folders:
        with hold_file(roots.models / folder / ".lock", f"models/{folder}", "prune"):  # as a pull
            shutil.rmtree(str(roots.models / folder), ignore_errors=True)
    return Pruned(False, tuple(releases), tuple(gone), tuple(folders), tuple(kept))


def _look(paths: StackPaths) -> _Stack:
    record = state.load(paths)
    before = record.before or state.Before(None, None, False)
    linked = (state.linked_digest(paths.current), state.linked_digest(paths.previous))
    wanted = (*linked, before.current, before.previous, record.digest)
    digests = tuple(dict.fromkeys(digest for digest in wanted if digest is not None))
    there = tuple(digest for digest in digests if paths.release(digest).is_dir())
    return _Stack(paths, record, there)


def _old(item: _Stack) -> List[str]:
    return [entry.name for entry in unwanted(item.paths, item.digests)]


def _images(stacks: List[_Stack]) -> Dict[str, str]:
    """Image id -> reference, of those that only releases ran with that are gone."""
    needed: Set[str] = set()
    names: Set[str] = set()
    for item in stacks:
        known = [item.record.image_of(digest) for digest in item.digests]
        needed |= {image.image_id for image in known if image is not None}
        plans = [release_plan(item.paths, digest) for digest in item.digests]
        names |= {plan.image for plan in plans if plan is not None}
    found: Dict[str, str] = {}
    for item in stacks:
        for image in item.record.images:
            if image.image_id not in needed and image.reference not in names:
                found[image.image_id] = image.reference
    return found


def _weights(stacks: List[_Stack], roots: Roots) -> List[str]:
    """Folders of weights that no release reads.

    Raises:
        DeviceError: status 19, when a damaged release keeps that from being known.
    """
    used: Set[str] = set()
    for item in stacks:
        for digest in item.digests:
            fault = release_fault(item.paths, digest)
            if fault is not None:
                raise fault
            plan = release_plan(item.paths, digest)
            used |= {each.directory for each in plan.downloads} if plan is not None else set()
    if not roots.models.is_dir():
        return []
    entries = sorted(roots.models.iterdir())
    tops = {name.split("/", 1)[0] for name in used}
    return [
        entry.name
        for entry in entries
        if entry.is_dir() and not entry.name.startswith(".") and entry.name not in tops
    ]


def _gone(image_id: str, reference: str, ports: Ports, kept: List[str]) -> bool:
    if ports.docker.image(image_id) is None:
        return True
    fault = ports.docker.remove_image(image_id)
    if fault is not None:
        kept.append(f"{reference} ({image_id[:19]}): {fault}")
    return fault is None


def _forget(stacks: List[_Stack], gone: List[str], ports: Ports) -> None:
    for item in stacks:
        if any(image.image_id in gone for image in item.record.images):
            with hold(item.paths, "prune", machine=ports.machine):
                record = state.load(item.paths)
                images = tuple(each for each in record.images if each.image_id not in gone)
                with suppress(OSError):  # it is asked for again then
                    state.save(item.paths, record._replace(images=images))
