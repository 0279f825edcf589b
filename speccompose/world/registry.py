"""An image's tag becomes the digest and id of one platform, by the registry's own HTTP interface.

Layer: world. OCI distribution spec: manifests under /v2/<name>/manifests/<reference>, anonymous
bearer tokens where a registry wants them. No image is pulled; no credentials are sent.
"""

import hashlib
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from typing import Literal

from speccompose.errors import MismatchError, SourceUnreachableError
from speccompose.plan.pin import split_registry
from speccompose.vocab.base import Frozen
from speccompose.vocab.lock import LockedImage

Architecture = Literal["arm64", "amd64"]

TIMEOUT_S = 20.0
_LARGEST = 8 * 1024 * 1024
_HOSTS = {"docker.io": "registry-1.docker.io"}
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class Place(Frozen, frozen=True, kw_only=True):
    """One repository of one registry, and what of it is asked for (a tag or a digest)."""

    base: str
    name: str
    reference: str

    @property
    def manifests(self) -> str:
        """Address below which manifests lie."""
        return f"{self.base}/v2/{self.name}/manifests"


def resolve_image(
    reference: str, architecture: Architecture, *, insecure: bool = False
) -> LockedImage:
    """What a reference means now on one platform.

    Raises:
        SourceUnreachableError: status 18; no answer, no such image, or none for the platform.
        MismatchError: status 19; the registry sends something else than it announces.
    """
    place = place_of(reference, insecure=insecure)
    reader = _Reader(place)
    content, kind = reader.manifest(place.reference)
    wanted = place.reference if place.reference.startswith("sha256:") else None
    digest = _checked(reference, content, wanted)
    body = _json(reference, content)
    if kind in _INDEXES or "manifests" in body:
        digest = _of_platform(reference, body, architecture)
        content, _ = reader.manifest(digest)
        _checked(reference, content, digest)
        body = _json(reference, content)
    config = body.get("config")
    image_id = config.get("digest") if isinstance(config, dict) else None
    if not isinstance(image_id, str) or not image_id.startswith("sha256:"):
        raise _odd(reference, "its manifest names no config")
    return LockedImage(digest=digest, image_id=image_id, architecture=architecture)


def place_of(reference: str, *, insecure: bool = False) -> Place:
    """Where a reference is asked for; plain HTTP on loopback, or where ``insecure`` says so."""
    host, path = split_registry(reference)
    path, _, digest = path.partition("@")
    name, _, tag = path.rpartition(":") if ":" in path.rpartition("/")[2] else (path, "", "latest")
    if host == "docker.io" and "/" not in name:
        name = f"library/{name}"
    local = host.partition(":")[0] in _LOOPBACK
    scheme = "http" if local or insecure else "https"
    return Place(base=f"{scheme}://{_HOSTS.get(host, host)}", name=name, reference=digest or tag)


class _Reader:
    """Reads manifests; asks for a token once when the registry wants one."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._token: str | None = None

    def manifest(self, reference: str) -> tuple[bytes, str]:
        address = f"{self._place.manifests}/{urllib.parse.quote(reference, safe=':')}"
        try:
            return self._get(address)
        except urllib.error.HTTPError as error:
            if error.code != 401 or self._token is not None:
                raise self._refused(error.code, address) from None
            self._token = self._fetch_token(error.headers.get("WWW-Authenticate") or "")
        try:
            return self._get(address)
        except urllib.error.HTTPError as error:
            raise self._refused(error.code, address) from None

    def _get(self, address: str) -> tuple[bytes, str]:
        headers = {"Accept": ", ".join((*_INDEXES, *_MANIFESTS))}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return self._open(urllib.request.Request(address, headers=headers))

    def _open(self, request: urllib.request.Request) -> tuple[bytes, str]:
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                content = answer.read(_LARGEST + 1)
                return content, str(answer.headers.get("Content-Type") or "").partition(";")[0]
        except urllib.error.HTTPError:
            raise
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise SourceUnreachableError(
                f"the registry {self._place.base} does not answer",
                [f"{request.full_url}: {reason}"],
                hint="check the network, or name a mirror: SPECCOMPOSE_REGISTRIES",
                code="registry_unreachable",
            ) from None

    def _fetch_token(self, challenge: str) -> str:
        """The anonymous token of the registry's own token server."""
        known = dict(_CHALLENGE.findall(challenge))
        realm = known.get("realm") or ""
        if not challenge.lower().startswith("bearer") or not realm.startswith("https://"):
            raise self._refused(401, self._place.manifests)
        query = {
            "service": known.get("service", ""),
            "scope": f"repository:{self._place.name}:pull",
        }
        request = urllib.request.Request(f"{realm}?{urllib.parse.urlencode(query)}")
        try:
            content, _ = self._open(request)
        except urllib.error.HTTPError as error:
            raise self._refused(error.code, realm) from None
        body = _json(self._place.name, content)
        return str(body.get("token") or body.get("access_token") or "")

    def _refused(self, status: int, address: str) -> SourceUnreachableError:
        what = {
            401: "wants a login, which is not used here",
            403: "does not give it to everybody",
            404: "has no such image",
        }.get(status, f"answers {status}")
        return SourceUnreachableError(
            f"the registry {self._place.base} {what}",
            [address],
            hint="check the name and tag; for private images name a mirror that serves them",
            code="registry_refused",
        )


def _of_platform(reference: str, index: dict[str, object], architecture: Architecture) -> str:
    """The digest of linux/<architecture> in an index."""
    entries = index.get("manifests")
    offered = []
    for entry in entries if isinstance(entries, list) else []:
        platform = entry.get("platform") if isinstance(entry, dict) else None
        if not isinstance(platform, dict):
            continue
        offered.append(f"{platform.get('os')}/{platform.get('architecture')}")
        if offered[-1] == f"linux/{architecture}":
            return str(entry["digest"])
    raise SourceUnreachableError(
        f"{reference} has no image for linux/{architecture}",
        [f"it has: {', '.join(sorted(set(offered))) or 'none'}"],
        hint="name an image that is built for this board",
        code="no_such_platform",
    )


def _checked(reference: str, content: bytes, wanted: str | None) -> str:
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    if wanted is not None and digest != wanted:
        raise MismatchError(
            f"the registry sends another manifest for {reference} than was asked for",
            [f"asked for: {wanted}", f"came: {digest}"],
            hint="do not use this registry; tell whoever runs it",
            code="digest_mismatch",
        )
    return digest


def _json(reference: str, content: bytes) -> dict[str, object]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise _odd(reference, "the answer is no manifest")
    return body


def _odd(reference: str, why: str) -> SourceUnreachableError:
    return SourceUnreachableError(
        f"the registry of {reference} does not answer like one", [why], code="registry_unusable"
    )
