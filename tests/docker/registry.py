"""An image registry of some fifty lines, for real `docker pull`s without a network.

It serves one image of one layer, slowly if asked to. Docker allows plain HTTP on 127.0.0.1.
"""

import gzip
import hashlib
import io
import json
import os
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAME, TAG = "tests/one-file", "1"
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


class Registry(ThreadingHTTPServer):
    """Listens on a free port; ``pause_s`` is waited after each 1/20 of the layer."""

    daemon_threads = True

    def __init__(self, architecture: str, pause_s: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pause_s = pause_s
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as archive:
            noise = os.urandom(4 << 20)
            entry = tarfile.TarInfo("file")
            entry.size = len(noise)
            archive.addfile(entry, io.BytesIO(noise))
        packed = gzip.compress(layer.getvalue(), 1)
        config = {
            "architecture": architecture,
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [digest(layer.getvalue())]},
        }
        config_text = json.dumps(config).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": part(CONFIG, config_text),
            "layers": [part(LAYER, packed)],
        }
        self.manifest = json.dumps(manifest).encode()
        self.blobs = {digest(packed): packed, digest(config_text): config_text}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error of ours."""

    @property
    def reference(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}/{NAME}:{TAG}"


class Handler(BaseHTTPRequestHandler):
    """The read half of the registry protocol."""

    server: Registry

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if self.path == "/v2/":
            return self.give(200, b"{}", "application/json")
        if self.path.startswith(f"/v2/{NAME}/manifests/"):
            wanted = self.path.rsplit("/", 1)[1]
            if wanted in (TAG, digest(self.server.manifest)):
                return self.give(200, self.server.manifest, MANIFEST)
        blob = self.server.blobs.get(self.path.rsplit("/", 1)[1])
        if blob is not None:
            return self.give(200, blob, "application/octet-stream")
        missing = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}
        return self.give(404, json.dumps(missing).encode(), "application/json")

    def give(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Content-Digest", digest(body))
        self.end_headers()
        if self.command == "HEAD":
            return
        step = max(1, len(body) // 20)
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            if len(body) > 100_000:
                time.sleep(self.server.pause_s)


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def part(kind: str, data: bytes) -> dict:
    return {"mediaType": kind, "size": len(data), "digest": digest(data)}
