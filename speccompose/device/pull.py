"""A stack's plan becomes image and weights on this board; nothing else is changed.

Layer: device (standard library, Python 3.8).

    pull_stack(stack_dir, roots, ports=..., sources=..., say=...) -> PullResult
    pull_weights(download, models, ports=..., sources=..., say=...)     one download
    mark_bundled(download, models)                                      the caller wrote the file

Resumable: what is complete is not asked for again, what is partial goes on. The `.complete` marker
comes last, so half a model never looks whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from speccompose.device.adopt import adopt
from speccompose.device.errors import UNREACHABLE, DeviceError
from speccompose.device.hub import Hub
from speccompose.device.image_pull import pull_image
from speccompose.device.lock import hold_file
from speccompose.device.locked_files import must_be_locked
from speccompose.device.paths import Roots
from speccompose.device.plan_file import Download, Plan
from speccompose.device.ports import Ports, Progress, Say, silent
from speccompose.device.preflight import disk_findings, refuse
from speccompose.device.remote_file import Listing, RemoteFile, blob_id
from speccompose.device.safe_name import must_lie_below, name_fault
from speccompose.device.stack_folder import file_sha256, read_stack
from speccompose.device.weights import (
    MARKER,
    Marker,
    StoredFile,
    gguf_parts,
    is_as_pulled,
    missing_weights,
    read_marker,
    write_marker,
)

SAY_EVERY_S = 3.0

ONLY_GGUF = "model.gguf"
"""The name that a plan uses for the one GGUF of a repo whose file name no source tells."""

_SERVED_SUFFIXES = (".safetensors", ".json", ".txt", ".model", ".jinja", ".py", ".tiktoken")
_SKIPPED_FOLDERS = ("original/", "onnx/", "metal/", ".git")


class Sources(NamedTuple):
    """Where things come from that no registry or hub has.

    ``provide_image(plan)`` makes an image that we build ourselves and returns whether it did;
    ``provide_bundled(download, folder)`` writes the file of a bundled download into a folder.
    """

    hub: Hub
    provide_image: Optional[Callable[[Plan], bool]] = None
    provide_bundled: Optional[Callable[[Download, Path], None]] = None


class PullResult(NamedTuple):
    """What was brought; empty tuples mean that everything was there."""

    name: str
    image: Optional[str]
    weights: List[str]


def pull_stack(
    stack_dir: Path, roots: Roots, *, ports: Ports, sources: Sources, say: Say = silent
) -> PullResult:
    """Bring what a rendered stack needs.

    Raises:
        DeviceError: 3 and 19 for a bad folder, 15 without docker or disk, 12 when another pull
            brings the same weights, 18 when a source cannot be reached, 19 for damaged weights.
    """
    plan = read_stack(stack_dir).plan
    ports.docker.info()
    image_missing = ports.docker.image(plan.image) is None
    refuse(disk_findings(ports, plan, roots, image_missing))
    brought = None
    if image_missing:
        say(Progress("image", f"bringing {plan.image}"))
        if sources.provide_image is None or not sources.provide_image(plan):
            pull_image(ports, plan.image, say)
        brought = plan.image
    weights = []
    for download in plan.downloads:
        if pull_weights(download, roots.models, ports=ports, sources=sources, say=say):
            weights.append(download.repo)
    return PullResult(plan.name, brought, weights)


def pull_weights(
    download: Download, models: Path, *, ports: Ports, sources: Sources, say: Say = silent
) -> bool:
    """Bring one download if it is not complete; True when it was brought.

    Raises:
        DeviceError: see ``pull_stack``.
    """
    if not missing_weights(download, models):
        return False
    folder = models / download.directory
    must_lie_below(models, folder)
    with hold_file(folder / ".lock", f"the weights of {download.repo}", "pull"):
        if not missing_weights(download, models):  # somebody else has just brought them
            return False
        if download.bundled is not None and sources.provide_bundled is not None:
            say(Progress("weights", f"{download.repo}: taken from {download.bundled}"))
            _must_lie_inside(folder, str(download.file))
            sources.provide_bundled(download, folder)
            mark_bundled(download, models)
        else:
            _fetch(download, folder, ports=ports, sources=sources, say=say)
    return True


def _fetch(download: Download, folder: Path, *, ports: Ports, sources: Sources, say: Say) -> None:
    listing = sources.hub.list(download.repo, download.revision)
    must_be_locked(download.repo, download.files, listing, download.revision)
    wanted = served_files(download, listing)
    for file in wanted:
        _must_lie_inside(folder, file.name)
    vouched = {**_vouched(download, folder, listing, say), **adopt(folder, listing, wanted)}
    meter = _Meter(ports, say, download.repo, sum(file.size or 0 for file in wanted))
    for file in wanted:
        meter.begin(file)
        if not _is_there(folder / file.name, file, vouched.get(file.name)):
            sources.hub.fetch(download.repo, listing.commit, file, folder / file.name, meter.heard)
        meter.end(file)
    link_only_gguf(folder, [file.name for file in wanted])
    _mark(download, folder, listing.commit, wanted)


def _vouched(download: Download, folder: Path, listing: Listing, say: Say) -> Dict[str, StoredFile]:
    """What the marker says is there of this commit.

    A marker of another commit goes before the first file changes, so that a pull that breaks off
    leaves no mixture that looks whole; so do files of it that a server would read and the new
    commit does not have.
    """
    earlier = read_marker(folder)
    if earlier is None:
        return {}
    if earlier.revision == listing.commit:
        return earlier.files
    said = f"{earlier.revision[:12]} is replaced by {listing.commit[:12]}"
    say(Progress("weights", f"{download.repo}: {said}"))
    if download.file is None:
        for name in set(earlier.files) - {file.name for file in listing.files}:
            if name_fault(name) is None and (folder / name).is_file():
                (folder / name).unlink()
    (folder / MARKER).unlink()
    return {}


def _must_lie_inside(folder: Path, name: str) -> None:
    """No folder on the way to a file may be a link that leads elsewhere.

    A file itself is replaced by a rename, so a link in its own place does no harm.
    """
    must_lie_below(folder, (folder / name).parent)


def link_only_gguf(folder: Path, names: List[str]) -> None:
    """A repo whose one GGUF the plan could not name is served under a neutral name."""
    if len(names) != 1 or not names[0].endswith(".gguf"):
        return
    link = folder / ONLY_GGUF
    if link.is_symlink():  # another commit may name its file otherwise
        link.unlink()
    if link.name != names[0] and not link.exists():
        link.symlink_to(names[0])


def mark_bundled(download: Download, models: Path) -> None:
    """Mark a file complete that the caller wrote from a bundle.

    Raises:
        DeviceError: status 18 when it is not there.
    """
    folder = models / download.directory
    path = folder / (download.file or "")
    if download.file is None or not path.is_file():
        raise DeviceError(
            UNREACHABLE,
            f"{download.bundled} does not hold {download.file or download.repo}",
            [f"not written: {path}"],
            code="bundle_incomplete",
        )
    stored = RemoteFile(str(download.file), path.stat().st_size, file_sha256(path))
    _mark(download, folder, f"bundled:{download.bundled}", [stored])


def served_files(download: Download, listing: Listing) -> List[RemoteFile]:
    """The files of a repo that a server reads: one GGUF (all its parts), or the safetensors set.

    Raises:
        DeviceError: status 18 when the repo does not have them.
    """
    if download.file is not None:
        names = set(gguf_parts(download.file))
        found = [file for file in listing.files if file.name in names]
        absent = sorted(names - {file.name for file in found})
    else:
        found = [file for file in listing.files if _is_served(file.name)]
        weights = any(file.name.endswith(".safetensors") for file in found)
        found, absent = (found, []) if weights else _only_gguf(listing)
    if absent:
        raise DeviceError(
            UNREACHABLE,
            f"{download.repo} does not have the weights that the plan names",
            [f"not in the repo at {listing.commit[:12]}: {name}" for name in absent],
            hint="the file may have been renamed; `speccompose catalog show` has the source",
            code="weights_absent",
        )
    return found


def _only_gguf(listing: Listing) -> Tuple[List[RemoteFile], List[str]]:
    """The one GGUF of a repo without safetensors; several cannot be told apart from here."""
    found = [file for file in listing.files if file.name.endswith(".gguf")]
    if len(found) == 1:
        return found, []
    return [], ["*.safetensors", f"one *.gguf (it has {len(found)})"]


def _is_served(name: str) -> bool:
    return name.endswith(_SERVED_SUFFIXES) and not name.startswith(_SKIPPED_FOLDERS)


def _is_there(path: Path, file: RemoteFile, vouched: Optional[StoredFile]) -> bool:
    """A file that an earlier pull brought whole; size alone does not tell it from another's."""
    if not path.is_file():
        return False
    if vouched is not None and is_as_pulled(path, vouched):
        return True
    if file.size is None or path.stat().st_size != file.size:
        return False
    if file.sha256 is not None:
        return file_sha256(path) == file.sha256
    return file.blob_id is not None and blob_id(path) == file.blob_id


def _mark(download: Download, folder: Path, revision: str, files: List[RemoteFile]) -> None:
    earlier = read_marker(folder)
    if earlier is not None and earlier.revision != revision:
        earlier = None  # another commit's files may be of other content
    known: Dict[str, StoredFile] = dict(earlier.files) if earlier is not None else {}
    for file in files:
        path, stored = folder / file.name, known.get(file.name)
        if stored is None or not is_as_pulled(path, stored):
            known[file.name] = _stored(path, file)
    whole = download.file is None or (earlier is not None and earlier.whole)
    requested = download.revision
    if earlier is not None and requested == revision:
        requested = earlier.requested  # the commit itself is known anyway
    write_marker(folder, Marker(download.repo, revision, whole, known, requested))


def _stored(path: Path, file: RemoteFile) -> StoredFile:
    return StoredFile(path.stat().st_size, file.sha256 or file_sha256(path))


class _Meter:
    """Says how far the weights of one repo are."""

    def __init__(self, ports: Ports, say: Say, repo: str, total: int) -> None:
        self._machine = ports.machine
        self._say = say
        self._repo = repo
        self._total = total
        self._before = 0
        self._file = ""
        self._started = self._said = ports.machine.now_s()

    def begin(self, file: RemoteFile) -> None:
        self._file = file.name

    def end(self, file: RemoteFile) -> None:
        self._before += file.size or 0

    def heard(self, have: int) -> None:
        now = self._machine.now_s()
        if now - self._said < SAY_EVERY_S:
            return
        self._said = now
        done, total = (self._before + have) >> 20, self._total >> 20
        text = f"{self._repo}: {done} of {total} MiB ({self._file})"
        self._say(Progress("weights", text, now - self._started))
