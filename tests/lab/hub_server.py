"""A model hub of one file: repos are folders, files come with ranges, faults are told by a file.

    python3 hub_server.py FOLDER PORT

FOLDER/<org>/<name>/<file> is served as the Hugging Face hub does: the listing with sizes, sha256
and one commit (the hash of the whole repo), the files by that commit. FOLDER/.faults.json is read
at each request: {"cut_after": BYTES} ends a transfer, {"stall_after": BYTES} falls silent,
{"rate": BYTES_PER_S}, {"status": 503}, {"flip": true} damages a byte. FOLDER/.requests.jsonl
gets a line per request. Standard library only: it runs inside the node image.
"""

import hashlib
import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

BLOCK = 1 << 16
LISTING = re.compile(r"/api/models/([^/]+/[^/]+)/revision/.+")
FILE = re.compile(r"/([^/]+/[^/]+)/resolve/([0-9a-f]{40})/(.+)")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root: Path

    def log_message(self, *args: object) -> None:
        """The requests file has it."""

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        line = {"path": path, "range": self.headers.get("Range")}
        with (self.root / ".requests.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")
        faults = self.faults()
        if faults.get("status"):
            return self.answer(int(faults["status"]), b"the mirror is out of order")
        listing, file = LISTING.fullmatch(path), FILE.fullmatch(path)
        if listing and self.repo(listing[1]):
            return self.answer(200, json.dumps(self.listing(listing[1])).encode())
        if file and self.repo(file[1]) and file[2] == self.commit(file[1]):
            found = self.repo(file[1]) / file[3]
            if found.is_file() and self.repo(file[1]) in found.resolve().parents:
                return self.send_file(found, faults)
        return self.answer(404, b"no such repo, revision or file")

    def faults(self) -> dict:
        try:
            return dict(json.loads((self.root / ".faults.json").read_text()))
        except (OSError, ValueError):
            return {}

    def repo(self, name: str) -> Path | None:
        folder = self.root / name
        return folder if folder.is_dir() and ".." not in name else None

    def files(self, name: str) -> list[Path]:
        return sorted(path for path in (self.root / name).rglob("*") if path.is_file())

    def commit(self, name: str) -> str:
        text = "".join(f"{path.name} {sha256(path)}\n" for path in self.files(name))
        return hashlib.sha1(text.encode()).hexdigest()

    def listing(self, name: str) -> dict:
        siblings = [
            {
                "rfilename": str(path.relative_to(self.root / name)),
                "size": path.stat().st_size,
                "lfs": {"sha256": sha256(path), "size": path.stat().st_size},
            }
            for path in self.files(name)
        ]
        return {"id": name, "sha": self.commit(name), "siblings": siblings}

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_file(self, path: Path, faults: dict) -> None:
        size = path.stat().st_size
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(wanted[1]) if wanted else 0
        if start >= size:
            self.answer(416, b"")
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(size - start))
        self.send_header("Accept-Ranges", "bytes")
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.end_headers()
        sent = 0
        with path.open("rb") as source:
            source.seek(start)
            while block := source.read(BLOCK):
                if "cut_after" in faults and sent + len(block) > int(faults["cut_after"]):
                    self.close_connection = True
                    return
                if "stall_after" in faults and sent + len(block) > int(faults["stall_after"]):
                    time.sleep(600)
                if faults.get("flip"):
                    block = bytes([block[0] ^ 1]) + block[1:]
                self.wfile.write(block)
                sent += len(block)
                if "rate" in faults:
                    time.sleep(len(block) / float(faults["rate"]))


_sums: dict[tuple[str, int, int], str] = {}


def sha256(path: Path) -> str:
    """Hash of a file, kept as long as the file does not change."""
    stat = path.stat()
    key = (str(path), stat.st_mtime_ns, stat.st_size)
    if key not in _sums:
        _sums[key] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _sums[key]


def main() -> None:
    Handler.root = Path(sys.argv[1])
    ThreadingHTTPServer(("0.0.0.0", int(sys.argv[2])), Handler).serve_forever()


if __name__ == "__main__":
    main()
