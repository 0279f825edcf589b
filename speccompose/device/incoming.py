"""A bundle on standard input becomes a checked stack folder on this board.

Layer: device (standard library, Python 3.8). What a control machine hands over: a tar of one
rendered folder. It is unpacked beside everything that serves, checked against its SHA256SUMS and
the digest that was announced, and only then stands under <state>/incoming/. The same again changes
nothing. A board that knows who may sign takes only a release that is signed and still holds.
Several may send at once: each has a draft of its own, and one at a time is checked and put.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import BinaryIO, Callable, ContextManager, NamedTuple, Optional

from speccompose.device.errors import DATA, MISMATCH, DeviceError
from speccompose.device.file_faults import unwritable
from speccompose.device.lock import hold_file
from speccompose.device.paths import Roots, digest_hex, is_stack_name
from speccompose.device.signature import Trust
from speccompose.device.signed_release import check_release, same_release
from speccompose.device.stack_folder import StackFolder, read_stack

PROGRAM, _PROGRAM_MODE = "check", 0o755
MOST_BYTES = 64 * 1024 * 1024
"""A folder is a plan, a Compose file and a program of half a megabyte."""


class Received(NamedTuple):
    """Where the folder stands; ``changed`` is False when it stood there already."""

    folder: str
    digest: str
    changed: bool


def incoming_folder(name: str, digest: str, roots: Roots) -> Path:
    """Where a bundle of that digest stands once it was received.

    Raises:
        DeviceError: status 2 for what names no stack or digest.
    """
    try:
        if not is_stack_name(name):
            raise ValueError(f"not a stack's name: {name!r}")
        return roots.state / "incoming" / name / digest_hex(digest)
    except ValueError as error:
        raise DeviceError(2, str(error), code="bad_name") from None


def receive(
    name: str,
    digest: str,
    source: BinaryIO,
    roots: Roots,
    *,
    trust: Optional[Trust] = None,
    now_s: float = 0.0,
) -> Received:
    """Take a bundle; ``trust`` and the clock are for signed ones.

    Raises:
        DeviceError: 3 when it is no bundle or another stack's, 19 when its content or signature is
            not what it says, 15 when it has expired or cannot be written, 12 while another one of
            the stack is put.
    """
    folder = incoming_folder(name, digest, roots)
    signed = trust is not None and trust.is_set
    if not signed and _stands(folder, name, digest):
        return Received(str(folder), digest, False)

    data = _bounded(source)  # all of it, before anything is locked: whoever sends may be slow

    def fill(draft: Path) -> None:
        _unpack(data, draft)

    def vouched(stack: StackFolder) -> None:
        if trust is not None:
            check_release(stack.path, stack.files, trust, now_s)

    return put(name, digest, roots, fill, vouched)


def hold_incoming(name: str, roots: Roots, verb: str) -> ContextManager[None]:
    """While it is held, what was received for a stack is not replaced.

    Raises:
        DeviceError: 12 while somebody else holds it, 15 when it cannot be written.
    """
    lock = roots.state / "incoming" / f".{name}.lock"
    return hold_file(lock, f"what was received for {name}", verb)


def vouch(name: str, digest: str, roots: Roots, trust: Trust, now_s: float) -> Path:
    """Where a received folder stands, checked again.

    It may stand there since before this board knew who may sign.

    Raises:
        DeviceError: as ``receive``.
    """
    folder = incoming_folder(name, digest, roots)
    stack = read_stack(folder)
    _must_be(stack, name, digest)
    check_release(folder, stack.files, trust, now_s)
    return folder


def put(
    name: str,
    digest: str,
    roots: Roots,
    fill: Callable[[Path], None],
    vouched: Callable[[StackFolder], None] = lambda stack: None,
) -> Received:
    """Let ``fill`` write a folder beside its place; it stands there only once it is checked.

    Raises:
        DeviceError: as ``receive``.
    """
    folder = incoming_folder(name, digest, roots)
    with hold_incoming(name, roots, "receive"):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            # A name that nobody else can know or write to between the check and the rename.
            draft = Path(tempfile.mkdtemp(prefix=f".{folder.name[:16]}.", dir=str(folder.parent)))
            try:
                fill(draft)
                stack = read_stack(draft)
                _must_be(stack, name, digest)
                vouched(stack)
                if _stands(folder, name, digest, vouched) and same_release(draft, folder):
                    return Received(str(folder), digest, False)
                draft.chmod(0o755)
                shutil.rmtree(str(folder), ignore_errors=True)
                os.replace(str(draft), str(folder))
            finally:
                shutil.rmtree(str(draft), ignore_errors=True)
        except OSError as error:
            raise unwritable(f"cannot write below {roots.state / 'incoming'}", error) from error
        _forget_others(folder)
    return Received(str(folder), digest, True)


def pack(files: "dict[str, bytes]") -> bytes:
    """A tar of a folder's files, the same bytes for the same content."""
    told = io.BytesIO()
    with tarfile.open(fileobj=told, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = _PROGRAM_MODE if name == PROGRAM else 0o644
            archive.addfile(member, io.BytesIO(content))
    return told.getvalue()


def _stands(
    folder: Path,
    name: str,
    digest: str,
    vouched: Callable[[StackFolder], None] = lambda stack: None,
) -> bool:
    try:
        stack = read_stack(folder)
        _must_be(stack, name, digest)
        vouched(stack)
    except DeviceError:
        return False
    return True


def _bounded(source: BinaryIO) -> bytes:
    data = source.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        brief = f"the bundle is larger than {MOST_BYTES // 1024 // 1024} MiB"
        raise DeviceError(DATA, brief, code="bad_bundle")
    return data


def _unpack(data: bytes, folder: Path) -> None:
    """Plain files with plain names, nothing else: a tar can hold links and devices."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                if not _is_plain(member):
                    raise _bad(f"{member.name!r} is no plain file")
                content = archive.extractfile(member)
                if content is None:
                    raise _bad(f"{member.name!r} cannot be read")
                (folder / member.name).write_bytes(content.read())
                if member.name == PROGRAM:  # units start it
                    (folder / member.name).chmod(_PROGRAM_MODE)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise _bad(str(error) or "it ends too early") from None


def _is_plain(member: tarfile.TarInfo) -> bool:
    """Its bytes are all there: a sparse member of one block can unpack to any size."""
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        return False
    return "/" not in member.name and member.name not in ("", ".", "..")


def _bad(why: str) -> DeviceError:
    return DeviceError(
        DATA, "what was sent is no bundle", [why], hint="push it again", code="bad_bundle"
    )


def _must_be(folder: StackFolder, name: str, digest: str) -> None:
    plan = folder.plan
    if plan.name != name or plan.digest != digest:
        raise DeviceError(
            MISMATCH,
            "the bundle holds another stack than was announced",
            [f"announced: {name} {digest}", f"holds: {plan.name} {plan.digest}"],
            code="other_bundle",
        )


def _forget_others(kept: Path) -> None:
    """Bundles that were never started take room; the newest one stays."""
    for other in kept.parent.iterdir():
        if other != kept:
            shutil.rmtree(str(other), ignore_errors=True)
