"""A registry over HTTP with an index of two platforms, and faults on demand."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


class RegistryStub(ThreadingHTTPServer):
    """``fault``: lie, text, 401, 500, no_config; ``asked`` are the paths, in order."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fault = ""
        self.asked: list[str] = []
        self.manifests: dict[str, tuple[str, bytes]] = {}
        self.ids: dict[str, str] = {}
        entries = []
        for architecture in ("arm64", "amd64"):
            config = digest(architecture.encode())
            body = json.dumps({"config": {"digest": config}, "layers": []}).encode()
            self.manifests[digest(body)] = (MANIFEST, body)
            self.ids[architecture] = config
            platform = {"os": "linux", "architecture": architecture}
            entries.append({"digest": digest(body), "platform": platform})
        index = json.dumps({"schemaVersion": 2, "manifests": entries}).encode()
        self.manifests["v1"] = (INDEX, index)
        self.manifests[digest(index)] = (INDEX, index)
        only = json.loads(index)
        only["manifests"] = [entries[1]]
        self.manifests["amd-only"] = (INDEX, json.dumps(only).encode())
        self.manifests["single"] = self.manifests[entries[0]["digest"]]
        self.manifests["broken"] = (MANIFEST, b'{"layers": []}')
        self.manifests["text"] = ("text/html", b"<html>login</html>")
        self.arm64 = entries[0]["digest"]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: RegistryStub

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        wanted = self.path.rpartition("/")[2]
        if self.server.fault.isdigit():
            self.send_response(int(self.server.fault))
            self.end_headers()
            return
        if wanted not in self.server.manifests:
            self.send_response(404)
            self.end_headers()
            return
        kind, body = self.server.manifests[wanted]
        if self.server.fault == "lie" and wanted.startswith("sha256:"):
            body += b" "
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass
