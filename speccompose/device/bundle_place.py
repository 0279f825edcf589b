"""Checked content of a bundle becomes images, weights with their markers, and stack folders.

Layer: device (standard library, Python 3.8). Called only once all of a bundle has been verified.
``staged`` holds one file per content, named by its hash, on the disk of the weights.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Callable, Dict, Optional, Tuple

from speccompose.device import command, incoming
from speccompose.device.bundle_manifest import BundledImage, BundledStack, BundledWeights
from speccompose.device.command import Completed
from speccompose.device.errors import MISMATCH, PREFLIGHT, DeviceError
from speccompose.device.lock import hold_file
from speccompose.device.paths import Roots
from speccompose.device.ports import Ports, Progress, Say
from speccompose.device.pull import link_only_gguf
from speccompose.device.safe_name import must_lie_below
from speccompose.device.stack_folder import StackFolder, read_stack
from speccompose.device.weights import MARKER, Marker, StoredFile, read_marker, write_marker

LOAD_STALL_S = 900.0
"""`docker load` says nothing while it unpacks a large layer."""

Stream = Callable[[Tuple[str, ...], Callable[[str], None], Optional[float]], Completed]


def check_stack(stack: BundledStack, staged: Path, folder: Path) -> StackFolder:
    """Write a stack's folder and read it as every other one is read.

    Raises:
        DeviceError: status 19 when it is another stack than the manifest says, 3 or 19 when it is
            none.
    """
    folder.mkdir(parents=True)
    fill_stack(stack, staged, folder)
    found = read_stack(folder)
    if (found.plan.name, found.plan.digest) != (stack.name, stack.digest):
        raise DeviceError(
            MISMATCH,
            "the bundle holds another stack than its manifest says",
            [f"said: {stack.name} {stack.digest}", f"holds: {found.plan.name} {found.plan.digest}"],
            code="other_bundle",
        )
    return found


def fill_stack(stack: BundledStack, staged: Path, folder: Path) -> None:
    """Copy a stack's files into an empty folder."""
    for name, (sha256, mode) in stack.files.items():
        shutil.copyfile(str(staged / sha256), str(folder / name))
        (folder / name).chmod(mode)


def put_stack(stack: BundledStack, staged: Path, roots: Roots) -> str:
    """Let a checked stack stand where `deploy` takes it from; returns the folder."""

    def fill(draft: Path) -> None:
        fill_stack(stack, staged, draft)

    return incoming.put(stack.name, stack.digest, roots, fill).folder


def load_image(
    image: BundledImage, staged: Path, ports: Ports, say: Say, stream: Stream = command.stream
) -> None:
    """Give an image to docker, and see that it has it under the id that the stack names.

    Raises:
        DeviceError: status 15 when docker does not take it, or keeps images under other ids.
    """
    say(Progress("image", f"loading {image.reference}"))
    words = ("docker", "load", "--input", str(staged / image.sha256))
    answer = stream(words, lambda text: None, LOAD_STALL_S)
    if answer.returncode != 0:
        said = (answer.stdout + answer.stderr).strip().splitlines()[-3:]
        raise DeviceError(
            PREFLIGHT,
            f"docker does not take the image {image.reference}",
            said,
            hint="see what its storage has: journalctl -u docker",
            code="docker_fault",
        )
    if ports.docker.image(image.image_id) is None:
        raise DeviceError(
            PREFLIGHT,
            f"docker has loaded {image.reference}, and keeps it under another id",
            [f"wanted: {image.image_id}", *answer.stdout.strip().splitlines()[-1:]],
            hint='with the containerd image store, switch it off: "features": '
            '{"containerd-snapshotter": false} in /etc/docker/daemon.json',
            code="image_under_other_id",
        )


def put_weights(item: BundledWeights, sizes: Dict[str, int], staged: Path, models: Path) -> None:
    """Let weights stand in their folder, the marker last; as a pull would have left them.

    Raises:
        DeviceError: 12 while somebody pulls them, 19 when a link leads out of the models folder.
        OSError: they cannot be written.
    """
    folder = models / item.directory
    must_lie_below(models, folder)
    with hold_file(folder / ".lock", f"the weights of {item.repo}", "unbundle"):
        earlier = read_marker(folder)
        if earlier is not None and earlier.revision != item.revision:
            (folder / MARKER).unlink()
            earlier = None
        for name, sha256 in item.files.items():
            _put_file(staged / sha256, folder, name)
        link_only_gguf(folder, list(item.files))
        known = dict(earlier.files) if earlier is not None else {}
        known.update({name: StoredFile(sizes[sha], sha) for name, sha in item.files.items()})
        whole = item.whole or (earlier is not None and earlier.whole)
        write_marker(folder, Marker(item.repo, item.revision, whole, known, item.requested))


def _put_file(source: Path, folder: Path, name: str) -> None:
    """A second name for the content, by one rename; a copy where a disk has no such thing."""
    place = folder / name
    must_lie_below(folder, place.parent)
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name}.unbundled")
    if part.is_symlink() or part.exists():
        part.unlink()
    try:
        os.link(str(source), str(part))
    except OSError:
        shutil.copyfile(str(source), str(part))
    os.replace(str(part), str(place))
