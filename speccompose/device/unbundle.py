"""A bundle on a disk becomes images, weights and stack folders of this board; no network is used.

Layer: device (standard library, Python 3.8). Read ``unbundle`` first: it is the order in which a
file is believed. Nothing stands anywhere before all of it was verified.

    signature -> still holds -> for this board -> not older -> fits -> every content by its hash
        -> images into docker -> weights with markers -> stacks, ready for `deploy`
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Dict, Iterator, List, NamedTuple, Optional, Tuple

from speccompose.device import command, state
from speccompose.device.bundle_class import refuse_other_class
from speccompose.device.bundle_manifest import (
    BLOBS,
    MANIFEST,
    MOST_BYTES,
    SIGNATURE,
    Manifest,
    parse_manifest,
)
from speccompose.device.bundle_needs import Needs, look, refuse_without_room
from speccompose.device.bundle_place import Stream, check_stack, load_image, put_stack, put_weights
from speccompose.device.bundle_tar import Member, TarReader, bad_bundle
from speccompose.device.counter import read_counter, refuse_older
from speccompose.device.errors import DATA, MISMATCH, DeviceError
from speccompose.device.file_faults import unwritable
from speccompose.device.lock import hold_file
from speccompose.device.paths import Roots, StackPaths
from speccompose.device.ports import Ports, Progress, Say, silent
from speccompose.device.signature import MOST_BYTES as MOST_SIGNATURE
from speccompose.device.signature import Trust, signer_of
from speccompose.device.stack_folder import read_stack
from speccompose.device.validity import refuse_outdated, told

SAY_EVERY_S = 3.0
_WHAT = "the bundle"


class Unbundled(NamedTuple):
    """What came. ``signer`` is None on a board that does not know who may sign."""

    signer: Optional[str]
    counter: int
    expires: str
    stacks: Tuple[Dict[str, str], ...]
    images: Tuple[str, ...]
    weights: Tuple[str, ...]


class _Here(NamedTuple):
    ports: Ports
    say: Say
    stream: Stream


class Rules(NamedTuple):
    """Who may sign, and whether an older bundle is meant."""

    trust: Trust
    allow_downgrade: bool = False


def unbundle(
    file: Path,
    roots: Roots,
    *,
    ports: Ports,
    rules: Rules,
    say: Say = silent,
    stream: Stream = command.stream,
) -> Unbundled:
    """Take a bundle.

    Raises:
        DeviceError: 3 when it is none or damaged, 19 for signature and hashes, 15 when it is old,
            for other boards, or does not fit, 12 while another one is being taken.
    """
    ports.docker.info()
    with _opened(file) as source, hold_file(roots.models / ".unbundle.lock", _WHAT, "unbundle"):
        reader = TarReader(source, _Meter(ports, say, file).heard)
        content, signature, first = _head(reader)
        signer = signer_of(content, signature, rules.trust, _WHAT)
        manifest = parse_manifest(content)
        refuse_outdated(_WHAT, manifest.validity, ports.machine.wall_s())
        refuse_other_class(manifest.board, ports)
        if not rules.allow_downgrade:
            _refuse_older(manifest, roots)
        needs = look(manifest, roots, ports)
        refuse_without_room(needs, manifest, roots, ports)
        try:
            with _staging(roots.models) as staged:
                _take_all(reader, first, manifest, needs, staged)
                for stack in manifest.stacks:
                    check_stack(stack, staged, staged / "stacks" / stack.name)
                folders = _place(manifest, needs, staged, roots, _Here(ports, say, stream))
        except OSError as error:
            raise unwritable(f"cannot write below {roots.state}", error) from error
    return Unbundled(
        signer,
        manifest.counter,
        told(manifest.validity.expires_s),
        folders,
        tuple(image.reference for image in needs.images),
        tuple(item.directory for item in needs.weights),
    )


def _head(reader: TarReader) -> Tuple[bytes, Optional[bytes], Optional[Member]]:
    """The manifest, its signature when it has one, and the member after them."""
    member = reader.next()
    if member is None or member.name != MANIFEST:
        raise bad_bundle(f"it does not begin with {MANIFEST}")
    content = reader.content(member, MOST_BYTES)
    member = reader.next()
    if member is None or member.name != SIGNATURE:
        return content, None, member
    signature = reader.content(member, MOST_SIGNATURE)
    return content, signature, reader.next()


def _take_all(
    reader: TarReader, first: Optional[Member], manifest: Manifest, needs: Needs, staged: Path
) -> None:
    """Read every content, in the manifest's order, against its size and hash."""
    member = first
    for blob in manifest.blobs:
        wanted = Member(BLOBS + blob.sha256, blob.size)
        if member != wanted:
            raise _not_listed(wanted, member)
        found = reader.copy(staged / blob.sha256 if blob.sha256 in needs.blobs else None)
        if found != blob.sha256:
            raise _mismatch([f"{wanted.name} has the sha256 {found}"])
        member = reader.next()
    if member is not None:
        raise _not_listed(None, member)


def _place(
    manifest: Manifest, needs: Needs, staged: Path, roots: Roots, here: _Here
) -> Tuple[Dict[str, str], ...]:
    for image in needs.images:
        load_image(image, staged, here.ports, here.say, here.stream)
    for item in needs.weights:
        here.say(Progress("weights", item.repo))
        put_weights(item, manifest.sizes, staged, roots.models)
    return tuple(
        {"name": stack.name, "digest": stack.digest, "folder": put_stack(stack, staged, roots)}
        for stack in manifest.stacks
    )


def _refuse_older(manifest: Manifest, roots: Roots) -> None:
    """Neither older than what was committed here, nor than what is here and waits for it."""
    for stack in manifest.stacks:
        counters = [state.load(StackPaths(stack.name, roots)).counter]
        waiting = (roots.state / "incoming" / stack.name).glob("[0-9a-f]*")
        for folder in waiting:
            try:
                counters.append(read_counter(folder, read_stack(folder).files))
            except DeviceError:  # a damaged one is replaced, and says nothing
                continue
        refuse_older(stack.name, manifest.counter, max(counters))


def _opened(file: Path) -> BinaryIO:
    try:
        if not file.is_file():
            raise OSError(0, "it is no regular file")
        return file.open("rb")
    except OSError as error:
        brief = f"cannot read {file}: {error.strerror or 'it is not there'}"
        raise DeviceError(DATA, brief, code="bundle_unreadable") from None


@contextmanager
def _staging(models: Path) -> Iterator[Path]:
    """A folder beside the weights, on their disk, that is gone afterwards; old ones go too."""
    for old in models.glob(".unbundle-*"):
        shutil.rmtree(str(old), ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=".unbundle-", dir=str(models)))
    try:
        yield folder
    finally:
        shutil.rmtree(str(folder), ignore_errors=True)


def _not_listed(wanted: Optional[Member], found: Optional[Member]) -> DeviceError:
    shown = ["nothing" if m is None else f"{m.name}, {m.size} bytes" for m in (wanted, found)]
    return _mismatch([f"its manifest says: {shown[0]}", f"the archive holds: {shown[1]}"])


def _mismatch(facts: List[str]) -> DeviceError:
    return DeviceError(
        MISMATCH,
        "the bundle does not hold what its manifest says",
        facts,
        hint="copy it again; if it stays so, do not use it",
        code="bundle_mismatch",
    )


class _Meter:
    """Says how much of the file was read."""

    def __init__(self, ports: Ports, say: Say, file: Path) -> None:
        self._machine, self._say = ports.machine, say
        self._total = file.stat().st_size
        self._have = 0
        self._started = self._said = ports.machine.now_s()

    def heard(self, count: int) -> None:
        self._have += count
        now = self._machine.now_s()
        if now - self._said >= SAY_EVERY_S:
            self._said = now
            text = f"{self._have >> 20} of {self._total >> 20} MiB checked"
            self._say(Progress("bundle", text, now - self._started))
