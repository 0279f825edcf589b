"""Images of a few layers, pushed into the lab's registry over its HTTP interface.

`docker push` would need the outer daemon to trust the registry, and would give an image another
digest at every build; here the same content is the same digest, and what is there is not sent
again.
"""

import gzip
import hashlib
import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urljoin

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


@dataclass(frozen=True)
class Layer:
    """A compressed layer on disk; ``diff_id`` is the hash of the tar inside."""

    path: Path
    digest: str
    diff_id: str


def pack(tar: Path, target: Path) -> Layer:
    """Compress a layer's tar, the same bytes each time; an existing target is taken as it is."""
    if not target.exists():
        part = target.with_suffix(f".{os.getpid()}.part")
        with (
            tar.open("rb") as source,
            part.open("wb") as out,
            gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=1, mtime=0) as to,
        ):
            while block := source.read(1 << 20):
                to.write(block)
        part.replace(target)
    return read_layer(target)


def read_layer(path: Path) -> Layer:
    """The layer that lies at a path; its hashes are kept beside it."""
    kept = path.with_suffix(".json")
    if kept.exists():
        return Layer(path, *json.loads(kept.read_text()))
    packed, plain = hashlib.sha256(), hashlib.sha256()
    with path.open("rb") as source:
        while block := source.read(1 << 20):
            packed.update(block)
    with gzip.open(path) as source:
        while block := source.read(1 << 20):
            plain.update(block)
    layer = Layer(path, f"sha256:{packed.hexdigest()}", f"sha256:{plain.hexdigest()}")
    kept.write_text(json.dumps([layer.digest, layer.diff_id]))
    return layer


class RegistryClient:
    """Pushes to one registry."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def push(
        self,
        repository: str,
        tag: str,
        layers: list[Layer],
        *,
        architecture: str,
        environment: dict[str, str] | None = None,
    ) -> str:
        """Push an image; returns its digest."""
        config = {
            "architecture": architecture,
            "os": "linux",
            "config": {
                "Env": [
                    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    *(f"{name}={value}" for name, value in (environment or {}).items()),
                ]
            },
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        }
        config_text = json.dumps(config, sort_keys=True).encode()
        config_digest = f"sha256:{hashlib.sha256(config_text).hexdigest()}"
        self._blob(repository, config_digest, config_text)
        for layer in layers:
            self._blob(repository, layer.digest, layer.path.read_bytes())
        manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": _part(CONFIG, config_digest, len(config_text)),
                "layers": [_part(LAYER, x.digest, x.path.stat().st_size) for x in layers],
            },
            sort_keys=True,
        ).encode()
        where = f"/v2/{repository}/manifests/{tag}"
        self._ask("PUT", where, manifest, {"Content-Type": MANIFEST})
        return f"sha256:{hashlib.sha256(manifest).hexdigest()}"

    def is_up(self) -> bool:
        """Whether it answers."""
        try:
            self._ask("GET", "/v2/")
        except OSError:
            return False
        return True

    def _blob(self, repository: str, digest: str, content: bytes) -> None:
        try:
            self._ask("HEAD", f"/v2/{repository}/blobs/{digest}")
        except urllib.error.HTTPError:
            where = self._ask("POST", f"/v2/{repository}/blobs/uploads/", b"")
            joined = "&" if "?" in where else "?"
            upload = f"{where}{joined}{urlencode({'digest': digest})}"
            self._ask("PUT", upload, content, {"Content-Type": "application/octet-stream"})

    def _ask(
        self, method: str, where: str, body: bytes | None = None, headers: dict | None = None
    ) -> str:
        request = urllib.request.Request(
            urljoin(self._url, where), body, headers or {}, method=method
        )
        with self._opener.open(request, timeout=60) as answer:
            return answer.headers.get("Location", "")


def _part(kind: str, digest: str, size: int) -> dict:
    return {"mediaType": kind, "size": size, "digest": digest}
