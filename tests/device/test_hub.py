"""A model hub with faults, over real HTTP: what comes is whole and right, or does not come."""

import hashlib
import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.hub import MOST_LISTING, Hub, _DropTokenOnRedirect
from speccompose.device.remote_file import RemoteFile

COMMIT = "c0ffee" * 6
DATA = bytes(range(256)) * 4000
SHA = hashlib.sha256(DATA).hexdigest()
PART = f"model.gguf.{COMMIT[:12]}.part"
FILE = RemoteFile("sub/model.gguf", len(DATA), SHA)


class FakeHub(ThreadingHTTPServer):
    """One repo. Faults are lists that each request takes from.

    They are: cut, stall, endless, trickle, or a status.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults: list[str | int] = []
        self.ranges: list[str | None] = []
        self.sent = 0
        self.tokens: list[tuple[str, str | None]] = []
        self.can_resume = True
        self.go_on = threading.Event()
        self.waited_out = 0
        self.redirect_to: str | None = None
        self.listing: object = {
            "sha": COMMIT,
            "siblings": [
                {"rfilename": "config.json", "size": 2},
                {"rfilename": FILE.name, "size": len(DATA), "lfs": {"sha256": SHA}},
            ],
        }
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error of ours."""


class Handler(BaseHTTPRequestHandler):
    server: FakeHub

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        hub = self.server
        hub.tokens.append((self.path, self.headers.get("Authorization")))
        fault = hub.faults.pop(0) if hub.faults else None
        if isinstance(fault, int):
            return self.give(fault, b"")
        if fault in ("endless", "trickle"):
            return self.flow(fault)
        if self.path.startswith("/api/"):
            return self.give(200, json.dumps(hub.listing).encode(), fault)
        if hub.redirect_to:
            self.send_response(302)
            self.send_header("Location", hub.redirect_to + self.path)
            self.end_headers()
            return None
        asked = self.headers.get("Range")
        hub.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and hub.can_resume else 0
        return self.give(206 if start else 200, DATA[start:], fault)

    def flow(self, fault: str) -> None:
        """Without a length, as long as somebody listens (and not for ever, should it be us)."""
        self.send_response(200)
        self.end_headers()
        block, apart_s = (b"x" * 65536, 0.0) if fault == "endless" else (b"x", 0.02)
        for _ in range(2000):
            self.wfile.write(block)
            self.server.sent += len(block)
            time.sleep(apart_s)

    def give(self, status: int, body: bytes, fault: object = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault is None:
            self.wfile.write(body)
            return
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()
        if fault == "stall" and not self.server.go_on.wait(10):
            self.server.waited_out += 1
        self.close_connection = True


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    server = FakeHub()
    yield server
    server.shutdown()
    server.server_close()


def client(hub: FakeHub, token: str | None = None) -> Hub:
    return Hub(hub.url, token, stall_s=0.5, sleep=lambda seconds: None)


def fetch(hub: FakeHub, tmp_path, file: RemoteFile = FILE, token: str | None = None) -> list[int]:
    heard: list[int] = []
    client(hub, token).fetch("org/repo", COMMIT, file, tmp_path / "model.gguf", heard.append)
    return heard


def test_a_repo_is_listed(hub):
    listing = client(hub).list("org/repo", "main")
    assert listing.commit == COMMIT
    assert listing.files == [RemoteFile("config.json", 2, None), FILE]


def test_a_file_comes_whole(hub, tmp_path):
    heard = fetch(hub, tmp_path)
    assert (tmp_path / "model.gguf").read_bytes() == DATA
    assert heard[-1] == len(DATA)
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


@pytest.mark.parametrize("fault", ["cut", "stall"])
def test_a_broken_transfer_goes_on_where_it_broke(hub, tmp_path, fault):
    hub.faults = [fault]
    fetch(hub, tmp_path)
    assert (tmp_path / "model.gguf").read_bytes() == DATA
    hub.go_on.set()
    assert hub.ranges == [None, f"bytes={len(DATA) // 2}-"]
    assert hub.waited_out == 0, "a hub that says nothing was waited for to the end"


def test_what_an_earlier_run_left_is_used(hub, tmp_path):
    (tmp_path / PART).write_bytes(DATA[:1000])
    fetch(hub, tmp_path)
    assert hub.ranges == ["bytes=1000-"]
    assert (tmp_path / "model.gguf").read_bytes() == DATA


def test_a_whole_part_needs_no_transfer(hub, tmp_path):
    (tmp_path / PART).write_bytes(DATA)
    fetch(hub, tmp_path)
    assert hub.ranges == []


def test_a_server_that_cannot_resume_starts_over(hub, tmp_path):
    hub.can_resume = False
    (tmp_path / PART).write_bytes(DATA[:1000])
    fetch(hub, tmp_path)
    assert (tmp_path / "model.gguf").read_bytes() == DATA


def test_a_foreign_part_does_not_end_up_in_the_file(hub, tmp_path):
    (tmp_path / PART).write_bytes(b"x" * 1000)
    with pytest.raises(DeviceError) as caught:
        fetch(hub, tmp_path)
    assert caught.value.status == 19
    fetch(hub, tmp_path)
    assert (tmp_path / "model.gguf").read_bytes() == DATA


def test_a_part_that_is_too_long_is_thrown_away(hub, tmp_path):
    (tmp_path / PART).write_bytes(b"x" * (len(DATA) + 1))
    fetch(hub, tmp_path)
    assert (tmp_path / "model.gguf").read_bytes() == DATA


def test_another_content_is_a_mismatch_and_leaves_nothing(hub, tmp_path):
    with pytest.raises(DeviceError) as caught:
        fetch(hub, tmp_path, FILE._replace(sha256="0" * 64))
    assert (caught.value.status, caught.value.code) == (19, "weights_mismatch")
    assert SHA in caught.value.details[1]
    assert list(tmp_path.iterdir()) == []


def test_more_bytes_than_listed_are_never_taken(hub, tmp_path):
    with pytest.raises(DeviceError) as caught:
        fetch(hub, tmp_path, RemoteFile("model.gguf", 1000, None))
    assert caught.value.status == 18
    assert not (tmp_path / "model.gguf").exists()


def test_endless_data_is_cut_at_the_listed_size_and_leaves_nothing(hub, tmp_path):
    hub.faults = ["endless"] * 5
    heard: list[int] = []
    file = RemoteFile("model.gguf", 300_000, None)
    with pytest.raises(DeviceError) as caught:
        client(hub).fetch("org/repo", COMMIT, file, tmp_path / "model.gguf", heard.append)
    assert (caught.value.status, caught.value.code) == (18, "hub_unreachable")
    assert "more than the 300000 bytes" in caught.value.details[0]
    assert max(heard) <= 300_000
    assert list(tmp_path.iterdir()) == []


def test_a_byte_at_a_time_is_given_up(hub, tmp_path):
    hub.faults = ["trickle"] * 12
    slow = Hub(hub.url, stall_s=0.1, sleep=lambda seconds: None)
    with pytest.raises(DeviceError) as caught:
        slow.fetch("org/repo", COMMIT, RemoteFile("x", None, None), tmp_path / "x", unheard)
    assert (caught.value.status, caught.value.code) == (18, "hub_unreachable")
    assert "bytes came in 0.1 s" in caught.value.details[0]


def unheard(have: int) -> None:
    """Nobody listens to how far it is."""


def test_an_endless_listing_is_refused(hub):
    hub.faults = ["endless"]
    with pytest.raises(DeviceError) as caught:
        client(hub).list("org/repo", "main")
    assert (caught.value.status, caught.value.code) == (18, "hub_unusable")
    assert hub.sent < 2 * MOST_LISTING


def test_a_cut_listing_is_asked_for_again(hub):
    hub.listing["siblings"].append({"rfilename": "y" * 1000, "size": 1})
    hub.faults = ["cut"]
    assert len(client(hub).list("org/repo", "main").files) == 3


def test_a_file_is_on_the_disk_before_it_gets_its_name(hub, tmp_path):
    seen: list[tuple[str, bool]] = []

    def sync(path) -> None:
        seen.append((path.name, (tmp_path / "model.gguf").exists()))

    Hub(hub.url, sync=sync).fetch("org/repo", COMMIT, FILE, tmp_path / "model.gguf", unheard)
    assert seen == [(PART, False), (tmp_path.name, True)]


def test_a_cut_file_of_unknown_size_is_still_noticed(hub, tmp_path):
    hub.faults = ["cut"]
    fetch(hub, tmp_path, RemoteFile("model.gguf", None, None))
    assert (tmp_path / "model.gguf").read_bytes() == DATA


def test_busy_is_tried_again_and_gone_is_not(hub, tmp_path):
    hub.faults = [503, 429]
    fetch(hub, tmp_path)
    hub.faults = [404]
    with pytest.raises(DeviceError) as caught:
        client(hub).list("org/other", "main")
    assert (caught.value.status, caught.value.code) == (18, "hub_refused")
    assert hub.faults == []


def test_many_cuts_with_progress_do_not_count_as_failures(hub, tmp_path):
    hub.faults = ["cut"] * 9
    fetch(hub, tmp_path)
    assert (tmp_path / "model.gguf").read_bytes() == DATA


def test_cuts_without_progress_end(hub, tmp_path):
    hub.faults = [500] * 20
    with pytest.raises(DeviceError) as caught:
        fetch(hub, tmp_path)
    assert (caught.value.status, caught.value.code) == (18, "hub_unreachable")
    assert len(hub.faults) == 15


@pytest.mark.parametrize("status", [401, 403])
def test_a_closed_repo_names_the_way_in(hub, status):
    hub.faults = [status]
    with pytest.raises(DeviceError) as caught:
        client(hub).list("org/repo", "main")
    assert caught.value.status == 18
    assert caught.value.hint


def test_no_hub_at_all():
    with pytest.raises(DeviceError) as caught:
        Hub("http://127.0.0.1:9", sleep=lambda seconds: None).list("org/repo", "main")
    assert caught.value.status == 18
    assert "SPECCOMPOSE_HUB" in caught.value.hint


def test_something_that_is_no_hub(hub):
    hub.listing = ["hello"]
    with pytest.raises(DeviceError) as caught:
        client(hub).list("org/repo", "main")
    assert caught.value.code == "hub_unusable"


def test_the_token_stays_with_the_hub(hub, tmp_path):
    storage = FakeHub()
    hub.redirect_to = f"http://localhost:{storage.server_address[1]}"
    fetch(hub, tmp_path, token="hf_secret0123")
    storage.shutdown()
    assert hub.tokens[-1][1] == "Bearer hf_secret0123"
    assert [token for _, token in storage.tokens] == [None]


@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ("https://hub.site/b", True),
        ("http://hub.site/b", False),
        ("https://other.site/b", False),
        ("https://hub.site:8443/b", False),
    ],
)
def test_a_redirect_keeps_the_token_on_the_same_host_and_never_in_the_clear(new, kept):
    asked = urllib.request.Request("https://hub.site/a", headers={"Authorization": "Bearer x"})
    follow = _DropTokenOnRedirect().redirect_request
    followed = follow(asked, None, 302, "Found", Message(), new)
    assert followed.has_header("Authorization") is kept


def test_no_error_shows_the_token(hub):
    hub.faults = [401]
    with pytest.raises(DeviceError) as caught:
        client(hub, "hf_secret0123").list("org/repo", "main")
    assert "hf_secret" not in caught.value.as_text()


@pytest.mark.parametrize("name", ["../../../evil.json", "/etc/evil.json", "a\\b.json", "a\0.json"])
def test_a_listing_with_a_name_that_leads_out_is_refused(hub, name):
    hub.listing["siblings"].append({"rfilename": name, "size": 2})
    with pytest.raises(DeviceError) as caught:
        client(hub).list("org/repo", "main")
    assert (caught.value.status, caught.value.code) == (19, "unsafe_name")


@pytest.mark.parametrize("left", ["model.gguf.part", "model.gguf.0badc0de0bad.part"])
def test_what_another_commit_left_is_thrown_away(hub, tmp_path, left):
    (tmp_path / left).write_bytes(DATA[:1000])
    (tmp_path / "model.gguf2.0badc0de0bad.part").write_bytes(b"of another file")
    fetch(hub, tmp_path)
    assert hub.ranges == [None]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "model.gguf",
        "model.gguf2.0badc0de0bad.part",
    ]


def test_a_part_that_is_a_link_is_not_followed(hub, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"x")
    (tmp_path / PART).symlink_to(other)
    fetch(hub, tmp_path)
    assert other.read_bytes() == b"x"
    assert (tmp_path / "model.gguf").read_bytes() == DATA


BLOB = hashlib.sha1(b"blob %d\0" % len(DATA) + DATA).hexdigest()


def test_a_small_file_is_checked_by_its_blob_id(hub, tmp_path):
    fetch(hub, tmp_path, RemoteFile("config.json", len(DATA), None, BLOB))
    assert (tmp_path / "model.gguf").read_bytes() == DATA
    with pytest.raises(DeviceError) as caught:
        fetch(hub, tmp_path, RemoteFile("config.json", len(DATA), None, "0" * 40))
    assert (caught.value.status, caught.value.code) == (19, "weights_mismatch")
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


def test_a_disk_that_cannot_be_written_is_15(hub, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DeviceError) as caught:
        client(hub).fetch("org/repo", COMMIT, FILE, tmp_path / "file" / "x", print)
    assert (caught.value.status, caught.value.code) == (15, "weights_unwritable")
