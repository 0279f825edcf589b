"""A repo on a model hub becomes files on this disk: listed, resumed, checked.

Layer: device (standard library, Python 3.8). Speaks the Hugging Face HTTP interface, which site
mirrors copy: /api/models/<repo>/revision/<rev>?blobs=true lists, /<repo>/resolve/<rev>/<file>
gives. A transfer that says nothing for ``stall_s`` is cut and resumed, within one commit; a file
gets its name only after size and sha256 (or git's blob id) agree, and its bytes are on the disk.
The token goes to the hub itself, never to where it redirects.
"""

from __future__ import annotations

import errno
import hashlib
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Callable, Optional

from speccompose.device.errors import MISMATCH, PREFLIGHT, UNREACHABLE, DeviceError
from speccompose.device.on_disk import Sync, to_disk
from speccompose.device.remote_file import Listing, RemoteFile, blob_id, parse_listing
from speccompose.device.safe_name import name_fault
from speccompose.device.transfer import (
    LEAST_BYTES,
    CutError,
    TooLongError,
    announced,
    append,
    blocks,
)

DEFAULT_HUB = "https://huggingface.co"
STALL_S = 60.0
TRIES = 5
MOST_LISTING = 16 * 1024 * 1024
"""A listing of fifty thousand files is shorter."""

_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG)

OnBytes = Callable[[int], None]


class _DropTokenOnRedirect(urllib.request.HTTPRedirectHandler):
    """Storage behind a hub must not see the hub's token."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> Optional[urllib.request.Request]:
        """Follow, without the token when the host changes, or https gives way to plain http."""
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None:
            bared = req.type == "https" != request.type
            if bared or request.host != req.host:
                request.remove_header("Authorization")
        return request


class Hub:
    """One hub or mirror. Times in seconds."""

    def __init__(
        self,
        base: str = DEFAULT_HUB,
        token: Optional[str] = None,
        stall_s: float = STALL_S,
        sleep: Callable[[float], None] = time.sleep,
        sync: Sync = to_disk,
    ) -> None:
        self.base = base.rstrip("/")
        self._token = token
        self._stall_s = stall_s
        self._sleep = sleep
        self._sync = sync
        self._opener = urllib.request.build_opener(_DropTokenOnRedirect())

    def list(self, repo: str, revision: str) -> Listing:
        """All files of a repo.

        Raises:
            DeviceError: status 18 when the hub cannot be reached, or has no such repo for us, 19
                when a name in it could lead out of the folder that it is written to.
        """
        where = f"/api/models/{_quoted(repo)}/revision/{urllib.parse.quote(revision, safe='')}"
        text = self._retried(lambda: self._read_text(where + "?blobs=true"), repo)
        try:
            listing = parse_listing(text)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _no_hub(self.base, f"listing {repo}: {error!r}") from None
        _must_be_safe(self.base, repo, listing)
        return listing

    def fetch(
        self, repo: str, commit: str, file: RemoteFile, target: Path, on_bytes: OnBytes
    ) -> None:
        """Bring one file; ``on_bytes`` hears how many bytes are there so far.

        Raises:
            DeviceError: 18 unreachable, 19 when what came is not what was listed, 15 disk full.
        """
        where = f"/{_quoted(repo)}/resolve/{commit}/{_quoted(file.name)}"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part = _part(target, commit)
            self._fetch_part(repo, where, part, file=file, on_bytes=on_bytes)
            self._sync(part)  # the marker that follows says that all of it is there
            part.replace(target)
            self._sync(target.parent)
        except OSError as error:
            raise _disk(error) from None

    def _fetch_part(
        self, repo: str, where: str, part: Path, *, file: RemoteFile, on_bytes: OnBytes
    ) -> None:
        sha256 = self._retried(
            lambda: self._transfer(where, part, file, on_bytes),
            repo,
            progress=lambda: part.stat().st_size if part.exists() else 0,
        )
        kind, wanted, found = "sha256", file.sha256, sha256
        if wanted is None and file.blob_id is not None:
            kind, wanted, found = "git blob", file.blob_id, blob_id(part)
        if wanted is not None and wanted != found:
            part.unlink()
            raise DeviceError(
                MISMATCH,
                f"{repo}: {file.name} is not what the hub listed",
                [f"{kind} wanted {wanted}", f"{kind} found  {found}"],
                hint="pull again; if it repeats, the mirror holds a damaged copy",
                code="weights_mismatch",
            )

    def _transfer(self, where: str, part: Path, file: RemoteFile, on_bytes: OnBytes) -> str:
        """Continue a partial file to its end; returns the sha256 of all of it."""
        digest = hashlib.sha256()
        have = _hash_existing(part, digest, file.size)

        def heard(block: bytes) -> None:
            nonlocal have
            digest.update(block)
            have += len(block)
            on_bytes(have)

        if file.size is not None and have == file.size:
            on_bytes(have)
            return digest.hexdigest()
        request = self._request(where)
        if have:
            request.add_header("Range", f"bytes={have}-")
        with self._opener.open(request, timeout=self._stall_s) as response:
            if have and response.status != 206:  # the server cannot resume
                have, digest = 0, hashlib.sha256()
            wanted = file.size if file.size is not None else announced(response, have)
            append(part, blocks(response, self._stall_s, have, wanted), heard, have > 0)
        if wanted is not None and have < wanted:
            raise CutError(f"the transfer ended at {have} of {wanted} bytes")
        return digest.hexdigest()

    def _read_text(self, where: str) -> str:
        with self._opener.open(self._request(where), timeout=self._stall_s) as response:
            wanted = announced(response, 0)
            try:
                data = b"".join(blocks(response, self._stall_s, 0, MOST_LISTING))
            except TooLongError:
                raise _no_hub(self.base, f"its answer has more than {MOST_LISTING} bytes") from None
        if wanted is not None and len(data) < wanted:
            raise CutError(f"the answer ended at {len(data)} of {wanted} bytes")
        return data.decode("utf-8", "replace")

    def _request(self, where: str) -> urllib.request.Request:
        request = urllib.request.Request(self.base + where)
        request.add_header("User-Agent", "speccompose")
        if self._token:
            request.add_header("Authorization", "Bearer " + self._token)
        return request

    def _retried(
        self, action: Callable[[], str], repo: str, progress: Callable[[], int] = lambda: 0
    ) -> str:
        """Try again after what may pass (cut, stalled, busy); give up at once on a plain no.

        Attempts count only while ``progress`` stands still; half where next to nothing came, or a
        hub that gives a byte at a time would never be given up.
        """
        attempt, had = 0.0, progress()
        while True:
            try:
                return action()
            except urllib.error.HTTPError as error:
                if error.code not in (408, 429) and error.code < 500:
                    raise _refused(self.base, repo, error.code) from None
                reason = f"{self.base} answers {error.code}"
            except OSError as error:
                if error.errno in _DISK_ERRORS:
                    raise _disk(error) from None
                reason = str(getattr(error, "reason", error)) or type(error).__name__
            except (HTTPException, CutError) as error:
                reason = str(error) or type(error).__name__
            gained = progress() - had
            had += gained
            little = 0.5 if gained > 0 else 1.0
            attempt = 1.0 if gained >= LEAST_BYTES else attempt + little
            if attempt >= TRIES:
                break
            self._sleep(min(2.0**attempt, 20.0))
        raise DeviceError(
            UNREACHABLE,
            f"cannot get {repo} from {self.base}",
            [f"{reason} ({TRIES} attempts)"],
            hint="check the network, or name a site mirror: SPECCOMPOSE_HUB",
            code="hub_unreachable",
        )


def _must_be_safe(base: str, repo: str, listing: Listing) -> None:
    faults = [(file.name, name_fault(file.name)) for file in listing.files]
    details = [f"{name!r}: {fault}" for name, fault in faults if fault is not None]
    if details:
        raise DeviceError(
            MISMATCH,
            f"{base} lists files of {repo} that must not be written",
            details[:5],
            hint="do not use this mirror; tell whoever runs it",
            code="unsafe_name",
        )


def _part(target: Path, commit: str) -> Path:
    """Where a transfer of this commit grows; what another commit left is thrown away."""
    part = target.with_name(f"{target.name}.{commit[:12]}.part")
    parts = re.compile(re.escape(target.name) + r"(\.[0-9A-Za-z]{1,12})?\.part")
    for other in target.parent.iterdir():
        if parts.fullmatch(other.name) and (other.name != part.name or other.is_symlink()):
            other.unlink()
    return part


def _hash_existing(part: Path, digest: hashlib._Hash, size: Optional[int]) -> int:
    """Feed what is there into the digest; a part that is too long is thrown away."""
    if not part.is_file():
        return 0
    if size is None or part.stat().st_size > size:
        part.unlink()
        return 0
    with part.open("rb") as source:
        for block in iter(lambda: source.read(1 << 20), b""):
            digest.update(block)
    return part.stat().st_size


def _no_hub(base: str, why: str) -> DeviceError:
    return DeviceError(
        UNREACHABLE,
        f"{base} does not answer like a model hub",
        [why],
        hint="check the address, or name a site mirror: SPECCOMPOSE_HUB",
        code="hub_unusable",
    )


def _refused(base: str, repo: str, status: int) -> DeviceError:
    reasons = {
        401: (
            "asks for a token, or has no such repo",
            "give a token file: SPECCOMPOSE_HUB_TOKEN_FILE",
        ),
        403: ("does not let this token read it", "accept the model's licence on its page"),
        404: ("has no such repo, revision or file", "check the name; private repos need a token"),
        416: ("refuses to resume", "delete the .part file and pull again"),
    }
    reason, hint = reasons.get(status, (f"answers {status}", "see the hub's status page"))
    return DeviceError(UNREACHABLE, f"cannot get {repo}", [f"{base} {reason}"], hint, "hub_refused")


def _disk(error: OSError) -> DeviceError:
    return DeviceError(
        PREFLIGHT, "cannot write the weights", [str(error)], code="weights_unwritable"
    )


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="/")
