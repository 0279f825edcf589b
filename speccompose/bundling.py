"""Stacks become one file that a sealed site needs: read ``make_bundle`` top-down.

Layer: pipeline, beside supply.py. A bundle is for one class of boards; its stacks name their image
by id, because a digest cannot be met by what `docker load` brings. What the lock names is brought
here first, checked against it, and then hashed into one signed manifest.

    rendered folders -> images by id + weights at their commits -> manifest -> signature -> tar
"""

import hashlib
import tempfile
from datetime import date
from pathlib import Path

import msgspec

import speccompose
from speccompose.device.plan_file import Download
from speccompose.device.ports import Progress
from speccompose.device.signed_release import release_files
from speccompose.device.stack_folder import StackFolder, read_stack
from speccompose.device.validity import Validity, told
from speccompose.device.weights import missing_weights
from speccompose.local_model import with_local_model
from speccompose.pipeline import plan_stack, render_plan
from speccompose.serving import Here
from speccompose.vocab.base import Frozen
from speccompose.vocab.board import BoardSource
from speccompose.vocab.bundle import (
    BundledFile,
    BundledImage,
    BundledStack,
    BundledWeights,
    BundleManifest,
    StackFile,
)
from speccompose.vocab.request import StackRequest
from speccompose.world import bundle_content
from speccompose.world.bundle_board import bundled_board, one_class
from speccompose.world.bundle_content import SavedImage
from speccompose.world.bundle_file import Content, manifest_text, write_bundle
from speccompose.world.onboard import as_our_errors, roots, sources
from speccompose.world.signing import signature, validity_from_now
from speccompose.world.stack_folder import write_stack

VERSION = 1
_CHUNK = 1 << 20


class BundleOrder(Frozen, frozen=True, kw_only=True):
    """Where the bundle goes, who signs it, how long it holds, and its place in the order."""

    output: Path
    key: Path | None = None
    days: int = 90
    counter: int = 0


def render_sealed(request: StackRequest, board: BoardSource, here: Here, folder: Path) -> None:
    """Plan a stack for a site where nothing can be pulled, and write it to a folder.

    Raises:
        UsageError: its image is not in the lock.
        SpecComposeError: as ``plan_stack``.
    """
    catalog = with_local_model(request, here.catalog, date.today())
    plan = plan_stack(request, msgspec.structs.replace(board, sealed=True), catalog)
    write_stack(render_plan(plan, catalog), folder)


def make_bundle(folders: list[Path], order: BundleOrder, here: Here) -> BundleManifest:
    """Bring what the stacks need, and write all of it into one file.

    Raises:
        UsageError: stacks that cannot be bundled (together), an unusable key or output.
        SourceUnreachableError: 18. MismatchError: 19. PreflightError: 15, for docker and disk.
    """
    with as_our_errors():
        here.ports.docker.info()
        stacks = [read_stack(folder) for folder in folders]
    device = one_class(stacks)
    if order.key is not None:
        signature(b"can it sign?\n", order.key)  # before hours of work, not after them
    images = _images(stacks, here)
    downloads = {item.directory + str(item.file): item for s in stacks for item in s.plan.downloads}
    places = _weight_places(list(downloads.values()), images, order, here)
    validity = validity_from_now(order.days)
    with tempfile.TemporaryDirectory(
        prefix=f".{order.output.name}.", dir=order.output.resolve().parent
    ) as folder:
        parts = _Parts(here)
        saved = [parts.image(image, Path(folder)) for image in images]
        weights = [parts.weights(item, places[key]) for key, item in downloads.items()]
        made = [parts.stack(stack, order.counter, validity) for stack in stacks]
        manifest = BundleManifest(
            bundle=VERSION,
            program=speccompose.__version__,
            made=told(validity.made_s),
            expires=told(validity.expires_s),
            counter=order.counter,
            board=bundled_board(device, stacks, images[0].architecture),
            blobs=tuple(parts.blobs.values()),
            stacks=tuple(made),
            images=tuple(saved),
            weights=_merged(weights),
        )
        text = manifest_text(manifest)
        signed = signature(text, order.key) if order.key is not None else None
        parts.write(order.output, text, signed)
    return manifest


class _Parts:
    """Content as it is found: hashed, listed once, and remembered where it lies."""

    def __init__(self, here: Here) -> None:
        self.blobs: dict[str, BundledFile] = {}
        self._contents: dict[str, Content] = {}
        self._here = here
        self._done, self._said = 0, here.ports.machine.now_s()

    def image(self, image: SavedImage, folder: Path) -> BundledImage:
        """Save an image beside the output."""
        self._here.say(Progress("image", f"saving {image.reference}"))
        file = folder / image.image_id.removeprefix("sha256:")
        return bundle_content.save_image(image, file, self._here.ports, self._hashed)

    def weights(self, download: Download, models: Path) -> BundledWeights:
        """Hash a download's files."""
        return bundle_content.hash_weights(download, models, self._hashed)

    def stack(self, stack: StackFolder, counter: int, validity: Validity) -> BundledStack:
        """A rendered folder with the release's counter."""
        names = (*stack.files, "SHA256SUMS")
        files = {name: (stack.path / name).read_bytes() for name in names}
        made = {}
        for name, content in release_files(files, counter=counter, validity=validity).items():
            path = stack.path / name
            executable = path.exists() and path.stat().st_mode & 0o100
            blob = self._known(content, hashlib.sha256(content).hexdigest(), len(content))
            made[name] = StackFile(sha256=blob.sha256, mode=0o755 if executable else 0o644)
        return BundledStack(name=stack.plan.name, digest=stack.plan.digest, files=made)

    def write(self, output: Path, text: bytes, signed: bytes | None) -> None:
        """Write the archive."""
        self._done = 0
        total = sum(blob.size for blob in self.blobs.values())
        blobs = tuple(self.blobs.values())

        def heard(count: int) -> None:
            self._count(count, f"of {total >> 20} MiB written")

        write_bundle(output, text, signed, blobs, self._contents, heard)

    def _hashed(self, file: Path) -> BundledFile:
        digest, size = hashlib.sha256(), 0
        with file.open("rb") as source:
            while block := source.read(_CHUNK):
                digest.update(block)
                size += len(block)
                self._count(len(block), "MiB read")
        return self._known(file, digest.hexdigest(), size)

    def _known(self, content: Content, sha256: str, size: int) -> BundledFile:
        self._contents.setdefault(sha256, content)
        return self.blobs.setdefault(sha256, BundledFile(sha256=sha256, size=size))

    def _count(self, count: int, what: str) -> None:
        self._done += count
        now = self._here.ports.machine.now_s()
        if now - self._said >= 3.0:
            self._said = now
            self._here.say(Progress("bundle", f"{self._done >> 20} {what}"))


def _images(stacks: list[StackFolder], here: Here) -> list[SavedImage]:
    ids = dict.fromkeys(stack.plan.image for stack in stacks)
    lock = here.catalog.lock
    return [
        bundle_content.bring_image(each, lock, here.settings, here.ports, here.say) for each in ids
    ]


def _weight_places(
    downloads: list[Download], images: list[SavedImage], order: BundleOrder, here: Here
) -> dict[str, Path]:
    """Where each download is complete, once there was seen to be room for everything."""
    cache = Path(here.settings.cache_dir or order.output.resolve().parent) / "bundle" / "models"
    own = roots(here.settings).models
    sizes = {item.directory: _locked_size(item) for item in downloads}
    missing = {
        item.directory: sizes[item.directory]
        for item in downloads
        if missing_weights(item, own) and missing_weights(item, cache)
    }
    copied = sum(sizes.values()) + 2 * sum(image.size for image in images)
    bundle_content.refuse_without_room(
        [(order.output.resolve().parent, copied), (cache, sum(missing.values()))], here.ports
    )
    known = sources(here.settings, here.catalog)
    return {
        item.directory + str(item.file): bundle_content.bring_weights(
            item, (own, cache), here.ports, known, here.say
        )
        for item in downloads
    }


def _locked_size(download: Download) -> int:
    known = sum(file.size or 0 for file in download.files.values())
    return (download.mib or 0) << 20 if download.file is not None or not known else known


def _merged(weights: list[BundledWeights]) -> tuple[BundledWeights, ...]:
    """Two files of one repo are one folder with one marker."""
    folders: dict[str, BundledWeights] = {}
    for item in weights:
        known = folders.get(item.directory, item)
        folders[item.directory] = msgspec.structs.replace(
            item, whole=known.whole or item.whole, files={**known.files, **item.files}
        )
    return tuple(folders.values())
