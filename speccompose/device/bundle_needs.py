"""What of a bundle this board does not have yet, and whether there is room for it.

Layer: device (standard library, Python 3.8). Looks; changes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Set, Tuple

from speccompose.device.bundle_manifest import BundledImage, BundledWeights, Manifest
from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.paths import Roots
from speccompose.device.ports import Ports
from speccompose.device.weights import is_as_pulled, read_marker

_MIB = 1024 * 1024


class Needs(NamedTuple):
    """Images and weights that are not here; ``blobs``: every content that has to be kept."""

    images: Tuple[BundledImage, ...]
    weights: Tuple[BundledWeights, ...]
    blobs: Set[str]


def look(manifest: Manifest, roots: Roots, ports: Ports) -> Needs:
    """Compare a manifest with what is here.

    Raises:
        DeviceError: status 15 when docker cannot be asked.
    """
    images = tuple(item for item in manifest.images if ports.docker.image(item.image_id) is None)
    weights = tuple(
        item for item in manifest.weights if not _are_here(item, manifest, roots.models)
    )
    blobs = {item.sha256 for item in images}
    blobs |= {sha256 for item in weights for sha256 in item.files.values()}
    blobs |= {sha256 for stack in manifest.stacks for sha256, _ in stack.files.values()}
    return Needs(images, weights, blobs)


def refuse_without_room(needs: Needs, manifest: Manifest, roots: Roots, ports: Ports) -> None:
    """Refuse before a byte is written: content beside the weights, images once more in docker.

    Raises:
        DeviceError: status 15.
    """
    sizes = manifest.sizes
    here = _mib(sum(sizes[sha256] for sha256 in needs.blobs))
    docker = _mib(sum(sizes[item.sha256] for item in needs.images))
    wanted = [(roots.models, here)]
    if docker:
        wanted.append((Path(ports.docker.info().root_dir), docker))
    free = {path: ports.machine.free_disk_mib(path) for path, _ in wanted}
    if len(set(free.values())) == 1:  # one disk holds both
        wanted = [(roots.models, here + docker)]
    faults = [
        f"{path}: {need} MiB needed, {free[path]} MiB free"
        for path, need in wanted
        if need > free[path]
    ]
    if faults:
        hint = "free some disk (speccompose prune), or move the state tree: SPECCOMPOSE_STATE"
        brief = "this bundle does not fit on the disk of this board"
        raise DeviceError(PREFLIGHT, brief, faults, hint, "disk_full")


def _mib(size: int) -> int:
    """With 10 % on top, as preflight counts; a beginning MiB is one."""
    return -(-size * 11 // 10 // _MIB)


def _are_here(item: BundledWeights, manifest: Manifest, models: Path) -> bool:
    """Every file as it came once, by size and by the hash that was checked then."""
    folder = models / item.directory
    marker = read_marker(folder)
    if marker is None or marker.revision != item.revision or item.whole > marker.whole:
        return False
    for name, sha256 in item.files.items():
        stored, path = marker.files.get(name), folder / name
        if stored is None or (stored.sha256, stored.size) != (sha256, manifest.sizes[sha256]):
            return False
        if not path.is_file() or not is_as_pulled(path, stored):
            return False
    return True
