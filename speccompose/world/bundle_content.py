"""What a stack names -> its image as a file and its weights in a folder, checked against the lock.

Layer: world. Images by id, as `docker save` writes them; weights as `pull` brings them, from where
this machine has them already or into a cache.
"""

from collections.abc import Callable
from pathlib import Path

from speccompose.device.image_pull import pull_image
from speccompose.device.plan_file import Download
from speccompose.device.ports import Ports, Progress, Say
from speccompose.device.pull import Sources, pull_weights
from speccompose.device.remote_file import blob_id
from speccompose.device.weights import Marker, gguf_parts, missing_weights, read_marker
from speccompose.errors import MismatchError, PreflightError, UsageError
from speccompose.plan.pin import mirrored
from speccompose.settings import Settings
from speccompose.vocab.base import Frozen
from speccompose.vocab.bundle import BundledFile, BundledImage, BundledWeights
from speccompose.vocab.lock import Lock
from speccompose.world.onboard import as_our_errors

SAVE_S = 4 * 3600.0
_MIB = 1024 * 1024
Hash = Callable[[Path], BundledFile]


class SavedImage(Frozen, frozen=True, kw_only=True):
    """An image that this machine's docker has: by which name it was brought, and its size there."""

    image_id: str
    reference: str
    architecture: str
    size: int


def bring_image(
    image_id: str, lock: Lock | None, settings: Settings, ports: Ports, say: Say
) -> SavedImage:
    """Find a locked image by its id, or pull it for the platform that the lock names.

    Raises:
        UsageError: neither docker nor the lock has it.
        SourceUnreachableError: 18; the registry does not give it.
        PreflightError: 15; docker is not there, or keeps images under other ids.
    """
    known = lock.images if lock is not None else {}
    names = [name for name, image in known.items() if image.image_id == image_id]
    with as_our_errors():
        found = ports.docker.image(image_id)
        if found is None and names:
            locked = known[names[0]]
            reference = f"{names[0].partition('@')[0]}@{locked.digest}"
            platform = f"linux/{locked.architecture}"
            say(Progress("image", f"bringing {names[0]} for {platform}"))
            pull_image(ports, mirrored(reference, settings.registries), say, platform=platform)
            found = ports.docker.image(image_id)
            if found is None:
                raise _under_other_id(names[0], image_id)
    if found is None:
        raise UsageError(
            f"the image {image_id[:19]} is neither here nor in the lock",
            hint="run `speccompose lock` with the options of this stack",
            code="not_locked",
        )
    asked = ports.docker.ask(("docker", "image", "inspect", "--format", "{{.Size}}", image_id))
    size = int(asked.stdout.strip()) if asked.stdout.strip().isdigit() else 0
    reference = names[0] if names else image_id
    return SavedImage(
        image_id=image_id, reference=reference, architecture=found.architecture, size=size
    )


def save_image(image: SavedImage, file: Path, ports: Ports, hashed: Hash) -> BundledImage:
    """Write an image into a file.

    Raises:
        PreflightError: docker does not.
    """
    with as_our_errors():
        words = ("docker", "save", "--output", str(file), image.image_id)
        answer = ports.docker.ask(words, SAVE_S)
    if answer.returncode != 0:
        raise PreflightError(
            f"docker does not save the image {image.reference}",
            answer.stderr.strip().splitlines()[-2:],
            hint="see that there is disk beside the output, and what docker says",
            code="docker_fault",
        )
    content = hashed(file)
    return BundledImage(
        image_id=image.image_id,
        reference=image.reference,
        sha256=content.sha256,
        size=content.size,
    )


def bring_weights(
    download: Download, places: tuple[Path, Path], ports: Ports, sources: Sources, say: Say
) -> Path:
    """The models folder where a download is complete: this machine's own, or the cache.

    Raises:
        UsageError: the lock has no hashes for it.
        SourceUnreachableError, MismatchError: as ``pull``.
    """
    own, cache = places
    if not download.files and download.bundled is None:
        raise UsageError(
            f"{download.repo} is not in the lock",
            ["a bundle is for later: its weights have to be the same then"],
            hint="run `speccompose lock` with the options of this stack",
            code="not_locked",
        )
    if not missing_weights(download, own):
        return own
    with as_our_errors():
        pull_weights(download, cache, ports=ports, sources=sources, say=say)
    return cache


def hash_weights(download: Download, models: Path, hashed: Hash) -> BundledWeights:
    """Every file of a download by its content, held against what was checked when it came.

    Raises:
        MismatchError: a file is another one now, or not as the lock has it.
    """
    folder = models / download.directory
    marker = read_marker(folder) or Marker(download.repo, download.revision, False, {})
    names = sorted(marker.files) if download.file is None else gguf_parts(download.file)
    files = {name: hashed(folder / name) for name in names if (folder / name).is_file()}
    for name, found in files.items():
        stored, locked = marker.files.get(name), download.files.get(name)
        wanted = {stored.sha256 if stored else None, locked.sha256 if locked else None} - {None}
        blob = locked.blob_id if locked is not None and locked.sha256 is None else None
        if wanted - {found.sha256} or (blob is not None and blob_id(folder / name) != blob):
            raise MismatchError(
                f"{folder / name} is not what was locked",
                [f"there: sha256 {found.sha256}", f"locked: {', '.join(map(str, wanted)) or blob}"],
                hint=f"remove {folder} and try again",
                code="not_as_locked",
            )
    return BundledWeights(
        directory=download.directory,
        repo=download.repo,
        revision=marker.revision,
        requested=marker.requested,
        whole=marker.whole and download.file is None,
        files=files,
    )


def refuse_without_room(needs: list[tuple[Path, int]], ports: Ports) -> None:
    """Refuse before long work: what is needed below each path, in bytes, added up per disk.

    Raises:
        PreflightError: status 15, naming both figures.
    """
    per_disk: dict[int, tuple[Path, int]] = {}
    for path, size in needs:
        there = path
        while not there.exists():
            there = there.parent
        disk = there.stat().st_dev
        shown, total = per_disk.get(disk, (path, 0))
        per_disk[disk] = (shown, total + size)
    faults = [
        f"{path}: {size * 11 // 10 // _MIB} MiB needed, {free} MiB free"
        for path, size in per_disk.values()
        if size * 11 // 10 // _MIB > (free := ports.machine.free_disk_mib(path))
    ]
    if faults:
        raise PreflightError(
            "this bundle does not fit on the disk of this machine",
            faults,
            hint="name another place with -o; SPECCOMPOSE_CACHE moves the weights",
            code="disk_full",
        )


def _under_other_id(name: str, image_id: str) -> PreflightError:
    return PreflightError(
        f"docker has pulled {name}, and keeps it under another id",
        [f"wanted: {image_id}"],
        hint='with the containerd image store, switch it off: "features": '
        '{"containerd-snapshotter": false} in /etc/docker/daemon.json',
        code="image_under_other_id",
    )
